"""`clarinet settings`, `methods`, `tasks` and `presets`: what can be chosen, and what each choice means."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from typer import Argument, Option

from clarinet_tui.cli.completion import method_names, setting_names_only
from clarinet_tui.cli.options import DATA, DataDir, Json, Jsonl
from clarinet_tui.cli.output import make_console, print_json_rows, print_table, quiet_pipe, warn
from clarinet_tui.tables.table import Column, make_table
from clarinet_tui.text import format_setting
from core.config import (
    OWN,
    SettingSpec,
    Tag,
    describe_type,
    flatten_settings,
    own_specs,
    setting_specs,
    setting_values,
    settings_tagged,
    similar_names,
)
from core.errors import InputError
from core.methods import METHODS, find_method, plugin_problems
from core.methods import methods as all_methods
from core.presets import PRESETS
from core.resolve import resolve
from core.tasks import OFFLINE_TASK, PAPER_TASKS, parse_task

Defaults = Mapping[str, Mapping[str, Any]]
"""The value of each setting by preset."""


def settings(
    name: Annotated[
        str | None, Argument(metavar="NAME", help="One setting, or part of names.", autocompletion=setting_names_only)
    ] = None,
    method: Annotated[str | None, Option(help="Show the defaults of this method.", autocompletion=method_names)] = None,
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """List every setting with its meaning, type and defaults.

    The defaults are those of clarinet on the offline task, by preset; tasks may change them. A setting that clarinet
    does not have is listed with the first method that has it. --method shows the defaults of another method.

    Example: clarinet settings teacher_threshold --method basset
    """
    fixed = flatten_settings(find_method(method).fixed) if method else {}
    every = [(spec, [method] if method else _users(spec)) for spec in _every_setting(method)]
    named = [(spec, users) for spec, users in every if spec.name == name]
    found = named or [(spec, users) for spec, users in every if name is None or name.lower() in spec.name]
    if not found:
        raise InputError(f"settings: {_unknown(name or '', method)}")
    defaults = {}
    for user in {user for _, users in found for user in users}:
        try:
            defaults[user] = _defaults(user)
        except InputError:  # a plug-in whose own defaults are wrong
            if method:
                raise
    known = [(spec, [user for user in users if user in defaults]) for spec, users in found]
    rows = [_setting_row(spec, users, defaults) for spec, users in known if users]
    with quiet_pipe():
        if json or jsonl:
            print_json_rows(rows, lines=jsonl)
            return
        from rich.text import Text

        console = make_console(100)
        for row in rows:
            word = "always" if row["name"] in fixed else "default:"
            if row["method"] not in ("clarinet", method):
                word = f"default with {row['method']}:"
            console.print(Text.assemble((row["name"], "bold"), f"  {row['description']}"))
            console.print(Text(f"    {row['type']}; {word} {_format_defaults(row['defaults'])}", style="dim"))
            if named:
                others: dict[str, list[str]] = {}
                for other, values in row["other_defaults"].items():
                    others.setdefault(_format_defaults(values), []).append(other)
                for text, names in others.items():
                    console.print(Text(f"    {', '.join(names)}: {text}", style="dim"))


def _every_setting(method: str | None = None) -> list[SettingSpec]:
    """Return the settings of a method, or of all: one that two methods declare differently is there twice."""
    every = list(setting_specs())
    for other in all_methods().values():
        every += [spec for spec in own_specs(other.settings) if spec not in every]
    return [spec for spec in every if method is None or method in _users(spec)]


def _users(spec: SettingSpec) -> list[str]:
    """Return the methods that have a setting."""
    if spec.name.startswith(OWN):
        return [name for name, method in all_methods().items() if spec in own_specs(method.settings)]
    if spec.name in settings_tagged(Tag.BASSET):
        return [name for name, method in all_methods().items() if method.preset_table == "basset"]
    return list(all_methods())


def _unknown(name: str, method: str | None) -> str:
    """Return why a setting is not listed."""
    users = [user for spec in _every_setting() if spec.name == name for user in _users(spec)]
    if method and users:
        return f"{method} does not use {name}; {users[0]} does"
    near = similar_names(name, [spec.name for spec in _every_setting(method)])
    return f"no setting {name!a}" + (f"; did you mean {near}?" if near else "")


def _defaults(method: str) -> Defaults:
    values = {preset: setting_values(resolve(preset=preset, method=method)) for preset in PRESETS}
    return {name: {preset: values[preset][name] for preset in PRESETS} for name in values["paper"]}


def _setting_row(spec: SettingSpec, methods: Sequence[str], defaults: Mapping[str, Defaults]) -> dict[str, Any]:
    """Return the setting with the defaults of the first method, and those of others that differ."""
    first, *others = methods
    values = {method: defaults[method][spec.name] for method in methods}
    return {
        "name": spec.name,
        "type": describe_type(spec.type),
        "description": spec.description,
        "defaults": values[first],
        "method": first,
        "other_defaults": {method: values[method] for method in others if values[method] != values[first]},
    }


def _format_defaults(values: Mapping[str, Any]) -> str:
    texts = {preset: format_setting(value) for preset, value in values.items()}
    if len({*texts.values()}) == 1:
        return texts["paper"]
    return ", ".join(f"{preset} {text}" for preset, text in texts.items())


def methods(json: Json = False, jsonl: Jsonl = False) -> None:
    """List the methods, also those of plug-ins.

    A plug-in that cannot be used is named with the cause.

    Example: clarinet methods
    """
    rows = [
        {
            "name": spec.name,
            "title": spec.title,
            "family": spec.family,
            "stages": [stage.name for stage in spec.stages],
            "plugin": spec.name not in METHODS,
            "fixed": dict(spec.fixed),
            "settings": [own.name for own in own_specs(spec.settings)],
            "description": spec.description,
        }
        for spec in all_methods().values()
    ]
    _output(rows, ("name", "family", "description"), json, jsonl)
    for problem in plugin_problems():
        warn(problem)


def tasks(json: Json = False, jsonl: Jsonl = False, data_dir: DataDir = DATA) -> None:
    """List the paper's tasks and the offline task, and what they need.

    Any two domains, or two folders of your own, are a task as well.

    Example: clarinet tasks
    """
    from core.data.digit_domains import list_domains

    advice = {entry.letter: entry.advice for entry in list_domains(data_dir)}
    rows = []
    for name in (*PAPER_TASKS, OFFLINE_TASK):
        task = parse_task(name)
        needed = [advice[side.letter] for side in (task.source, task.target) if advice[side.letter]]
        shape = "×".join(map(str, task.shape or ()))
        titles = {"source": task.source.title, "target": task.target.title}
        rows.append({"name": name, **titles, "shape": shape, "in_paper": name in PAPER_TASKS, "missing": needed})
    _output(rows, ("name", "source", "target", "shape", "missing"), json, jsonl)


def presets(json: Json = False, jsonl: Jsonl = False) -> None:
    """List the presets and what each is for.

    `clarinet settings` has the values of each setting by preset.

    Example: clarinet presets
    """
    rows = []
    for name, preset in PRESETS.items():
        config = resolve(preset=name)
        stages = {"warmup_epochs": config.warmup_epochs, "stage1_epochs": config.stage1.epochs}
        rows.append({"name": name, "epochs": config.epochs, **stages, "description": preset.description})
    _output(rows, ("name", "epochs", "warmup_epochs", "stage1_epochs", "description"), json, jsonl)


def _output(rows: Sequence[dict[str, Any]], columns: Sequence[str], json: bool, jsonl: bool) -> None:
    """Print the rows as JSON, or these columns as a table."""
    titles = [Column(name.replace("_", " "), wraps=True, hidden=name not in columns, name=name) for name in rows[0]]
    with quiet_pipe():
        print_table(make_table(titles, (row.values() for row in rows)), json=json, jsonl=jsonl, width=100)
