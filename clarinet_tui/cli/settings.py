"""`clarinet settings`, `methods`, `tasks` and `presets`: what can be chosen, and what each choice means."""

from collections.abc import Sequence
from difflib import get_close_matches
from operator import attrgetter
from typing import Annotated, Any

from typer import Argument

from clarinet_tui.cli.completion import setting_names_only
from clarinet_tui.cli.options import DATA, DataDir, Json, Jsonl
from clarinet_tui.cli.output import make_console, print_json_rows, print_table, quiet_pipe
from clarinet_tui.tables.table import Column, make_table
from clarinet_tui.text import format_setting
from core.config import describe_type, setting_specs
from core.errors import InputError
from core.methods import METHODS
from core.methods import methods as all_methods
from core.presets import PRESETS
from core.resolve import resolve
from core.tasks import OFFLINE_TASK, PAPER_TASKS, parse_task


def settings(
    name: Annotated[
        str | None, Argument(metavar="NAME", help="One setting, or part of names.", autocompletion=setting_names_only)
    ] = None,
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """List every setting with its meaning, type and defaults.

    The defaults are those of clarinet on the offline task, by preset; methods and tasks may change them.

    Example: clarinet settings lambda_horizon
    """
    specs = setting_specs()
    named = [spec for spec in specs if spec.name == name]
    found = named or [spec for spec in specs if name is None or name.lower() in spec.name]
    if not found:
        near = get_close_matches(name or "", [spec.name for spec in specs], n=1)
        raise InputError(f"settings: no setting {name!a}" + (f"; did you mean {near[0]}?" if near else ""))
    configs = {preset: resolve(preset=preset) for preset in PRESETS}
    rows: list[dict[str, Any]] = [
        {
            "name": spec.name,
            "type": describe_type(spec.type),
            "description": spec.description,
            "defaults": {preset: attrgetter(spec.name)(config) for preset, config in configs.items()},
        }
        for spec in found
    ]
    with quiet_pipe():
        if json or jsonl:
            print_json_rows(rows, lines=jsonl)
            return
        from rich.text import Text

        console = make_console(100)
        for row in rows:
            values = {preset: format_setting(value) for preset, value in row["defaults"].items()}
            same = len(set(values.values())) == 1
            text = next(iter(values.values())) if same else ", ".join(f"{key} {text}" for key, text in values.items())
            console.print(Text.assemble((row["name"], "bold"), f"  {row['description']}"))
            console.print(Text(f"    {row['type']}; default: {text}", style="dim"))


def methods(json: Json = False, jsonl: Jsonl = False) -> None:
    """List the methods, also those of plug-ins.

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
            "description": spec.description,
        }
        for spec in all_methods().values()
    ]
    _output(rows, ("name", "family", "description"), json, jsonl)


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
