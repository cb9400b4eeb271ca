"""Shell completion of run ids, methods, tasks, presets, settings, queries and metrics.

Each function returns (value, help) pairs for Typer's `autocompletion`, fast and without errors. A value needs no
quoting, and help has only harmless characters, because zsh evaluates what it gets.
"""

import re
from collections.abc import Iterable

import typer
from msgspec import inspect

from clarinet_tui.runs.state import RunState
from core.config import OWN, SettingSpec, setting_specs
from core.errors import InputError
from core.methods import FAMILIES, all_setting_specs, methods
from core.metrics import METRICS
from core.presets import PRESETS
from core.tasks import OFFLINE_TASK, PAPER_TASKS, parse_task

Items = list[tuple[str, str]]
MAX_ITEMS = 100
_PLAIN = re.compile(r"[A-Za-z0-9_.+][A-Za-z0-9_.+-]*")
"""A name that every shell takes as one word."""
_UNSAFE = re.compile(r"[^\w .,:;+%→=-]")


def run_ids(ctx: typer.Context, incomplete: str) -> Items:
    """Complete `last`, run ids, newest first, and names of single runs, without those on the command line already."""
    from clarinet_tui.history.database import database_path, read_name_labels, read_run_labels
    from clarinet_tui.runs.directory import LAST, list_run_ids

    runs_dir = ctx.params["runs_dir"]
    typed = ctx.params.get("ids") or ()
    try:
        every = list_run_ids(runs_dir)
        database = database_path(runs_dir)
    except (OSError, InputError):
        return []
    ids = [run_id for run_id in every if run_id.startswith(incomplete) and run_id not in typed]
    labels = read_run_labels(database, incomplete, MAX_ITEMS + len(typed)) if ids else {}
    items = {LAST: "the newest run"} if every else {}
    items |= {run_id: labels.get(run_id, "") for run_id in ids[:MAX_ITEMS]}
    names = read_name_labels(database, incomplete, MAX_ITEMS) if every else {}
    for name, label in names.items():
        if _PLAIN.fullmatch(name) and not any(run_id.startswith(name) for run_id in every):
            items.setdefault(name, label)
    return _matching(incomplete, ((word, text) for word, text in items.items() if word not in typed))


def method_names(incomplete: str) -> Items:
    return _matching(incomplete, ((name, spec.description) for name, spec in methods().items()))


def task_names(incomplete: str) -> Items:
    """Complete tasks as U→M, since a shell reads the > of an unquoted U->M as a redirection."""
    arrow = "->" if "-" in incomplete else "→"
    tasks = map(parse_task, (*PAPER_TASKS, OFFLINE_TASK))
    items = ((task.name.replace("->", arrow), f"{task.source.title} → {task.target.title}") for task in tasks)
    return _matching(incomplete, items)


def preset_names(incomplete: str) -> Items:
    return _matching(incomplete, ((name, preset.description) for name, preset in PRESETS.items()))


def setting_names(incomplete: str) -> Items:
    """Complete `epochs=`, and after the equals sign the values of a choice."""
    name, equals, _ = incomplete.partition("=")
    if not equals:
        return [(f"{name}=", text) for name, text in setting_names_only(incomplete)]
    kind = next((spec.type for spec in _specs(name) if spec.name == name), None)
    choices = kind.values if isinstance(kind, inspect.LiteralType) else ()
    choices = ("true", "false") if isinstance(kind, inspect.BoolType) else choices
    return _matching(incomplete, ((f"{name}={choice}", "") for choice in choices))


def setting_names_only(incomplete: str) -> Items:
    return _matching(incomplete, ((spec.name, spec.description) for spec in _specs(incomplete)))


def _specs(incomplete: str) -> tuple[SettingSpec, ...]:
    """Return the settings; plug-ins are imported only for names that theirs may have."""
    return all_setting_specs() if incomplete[: len(OWN)] == OWN[: len(incomplete)] else setting_specs()


def queries(incomplete: str) -> Items:
    """Complete the first condition of a query: its field, then its value."""
    from clarinet_tui.history.query_language import FIELDS, setting_fields
    from clarinet_tui.worker.alarms import ALARM_KINDS

    name, colon, value = incomplete.partition(":")
    if not colon:
        fields = {**FIELDS, **(setting_fields() if incomplete else {})}
        items = {name: field.expects for name, field in fields.items()}
        own = _specs(incomplete)[len(setting_specs()) :] if incomplete else ()
        items |= {spec.name: spec.description for spec in own}
        return _matching(incomplete, ((f"{name}:", text) for name, text in items.items()))
    values: dict[str, Items] = {
        "state": [(state, "") for state in RunState],
        "method": method_names(value),
        "family": [(family, "") for family in FAMILIES],
        "task": task_names(value),
        "preset": preset_names(value),
        "alarm": [(kind, alarm.meaning) for kind, alarm in ALARM_KINDS.items()],
    }
    return _matching(incomplete, ((f"{name}:{item}", text) for item, text in values.get(name, [])))


def metric_names(incomplete: str) -> Items:
    """Complete the built-in metrics; a method plug-in may record others."""
    return _matching(incomplete, ((name, metric.description) for name, metric in METRICS.items()))


def sort_fields(incomplete: str) -> Items:
    from clarinet_tui.history.queries import SORT_ALIASES, SORT_FIELDS

    fields = ((name, SORT_ALIASES.get(name, "")) for name in sorted(SORT_FIELDS | SORT_ALIASES.keys()))
    return _matching(incomplete, fields) + setting_names_only(incomplete)


def sql_names(incomplete: str) -> Items:
    """Complete the name of a table or column at the end of a statement."""
    from clarinet_tui.history.schema import TABLES

    before, space, _ = incomplete.rpartition(" ")
    names = {column: meaning for table in TABLES.values() for column, (_, meaning) in table.columns.items()}
    names |= {name: f"a row is {table.row}" for name, table in TABLES.items()}
    return _matching(incomplete, ((f"{before}{space}{name}", text) for name, text in names.items()))


def _matching(incomplete: str, items: Iterable[tuple[str, str]]) -> Items:
    return [(value, _UNSAFE.sub("", text.replace("->", "→"))) for value, text in items if value.startswith(incomplete)]
