"""What a shell may complete: run ids, methods, tasks, presets, settings, states. Quick, and silent on any trouble.

Each gives (value, help) pairs for Typer's `autocompletion`. A value never needs quoting, and help holds only harmless
signs: zsh evaluates what it is given.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from core.errors import InputError

Items = list[tuple[str, str]]
MOST = 100
_HARMFUL = re.compile(r"[^\w .,:;+%→=-]")


def run_ids(ctx: typer.Context, incomplete: str) -> Items:
    """The newest first, without those that are on the line already."""
    from clarinet_tui.cli.places import RUNS
    from clarinet_tui.history.database import database_path
    from clarinet_tui.history.glance import read_run_labels
    from clarinet_tui.runs.directory import list_run_ids

    runs_dir = Path(ctx.params.get("runs_dir") or os.environ.get("CLARINET_RUNS") or RUNS)
    given = ctx.params.get("ids") or ()
    try:
        found = [name for name in list_run_ids(runs_dir) if name.startswith(incomplete) and name not in given][:MOST]
    except OSError:
        return []
    known = read_run_labels(database_path(runs_dir), incomplete, MOST + len(given)) if found else {}
    return [(name, _harmless(known.get(name, ""))) for name in found]


def method_names(incomplete: str) -> Items:
    from core.methods import METHODS, methods

    try:
        known = methods()
    except InputError:  # a plug-in that cannot be used
        known = METHODS
    return _beginning(incomplete, ((name, spec.sentence) for name, spec in known.items()))


def task_names(incomplete: str) -> Items:
    """As U→M: to a shell, the > of U->M is a redirection, unless it stands in quotes already."""
    from core.tasks import OFFLINE_TASK, PAPER_TASKS, parse_task

    quoted = "-" in incomplete
    items = []
    for name in (*PAPER_TASKS, OFFLINE_TASK):
        task = parse_task(name)
        value = name if quoted else name.replace("->", "→")
        items.append((value, f"{task.source.title} → {task.target.title}"))
    return _beginning(incomplete, items)


def preset_names(incomplete: str) -> Items:
    from core.presets import PRESETS

    return _beginning(incomplete, ((name, preset.sentence) for name, preset in PRESETS.items()))


def setting_names(incomplete: str) -> Items:
    """`epochs=`, and after the sign of equality what can be chosen."""
    from core.config import fields

    name, equals, _ = incomplete.partition("=")
    if not equals:
        return _beginning(incomplete, ((f"{field.name}=", field.sentence) for field in fields()))
    choices = (choice for field in fields() if field.name == name for choice in _choices(field.type))
    return _beginning(incomplete, ((f"{name}={choice}", "") for choice in choices))


def _choices(kind: Any) -> Iterator[str]:
    from msgspec import inspect

    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.LiteralType):
        yield from map(str, kind.values)
    if isinstance(kind, inspect.BoolType):
        yield from ("true", "false")


def state_names(incomplete: str) -> Items:
    from clarinet_tui.runs.state import RunState

    return _beginning(incomplete, ((state, "") for state in RunState))


def alarm_kinds(incomplete: str) -> Items:
    from clarinet_tui.worker.alarms import ALARM_KINDS

    return _beginning(incomplete, ((name, kind.meaning) for name, kind in ALARM_KINDS.items()))


def queries(incomplete: str) -> Items:
    """The first condition of a query: its field, then what there is to ask for."""
    from clarinet_tui.history.query_fields import FIELDS

    name, colon, value = incomplete.partition(":")
    values = {
        "state": state_names,
        "method": method_names,
        "task": task_names,
        "preset": preset_names,
        "alarm": alarm_kinds,
    }
    if not colon:
        return _beginning(incomplete, ((f"{field}:", known.expects) for field, known in FIELDS.items()))
    return [(f"{name}:{item}", told) for item, told in values[name](value)] if name in values else []


def metric_names(incomplete: str) -> Items:
    """Those that every program knows; a run may have others of a plug-in."""
    from core.metrics import METRICS

    return _beginning(incomplete, ((name, metric.description) for name, metric in METRICS.items()))


def sort_fields(incomplete: str) -> Items:
    from clarinet_tui.history.queries import SORT_ALIASES, SORT_FIELDS

    return _beginning(incomplete, [(name, SORT_ALIASES.get(name, "")) for name in sorted(SORT_FIELDS | SORT_ALIASES.keys())])


RunId = Annotated[str, typer.Argument(help="A run's id, or its beginning.", autocompletion=run_ids)]
RunIds = Annotated[list[str], typer.Argument(help="Ids of runs, or their beginnings.", autocompletion=run_ids)]


def _beginning(incomplete: str, items: Iterable[tuple[str, str]]) -> Items:
    return [(value, _harmless(told)) for value, told in items if value.startswith(incomplete)]


def _harmless(text: str) -> str:
    return _HARMFUL.sub("", text.replace("->", "→"))
