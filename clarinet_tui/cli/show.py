"""`clarinet show`: one run in groups of fields, or as JSON."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import msgspec

from clarinet_tui.analysis.selection import describe_label_free, label_free_epochs, last_stage
from clarinet_tui.cli.lookup import find_row, open_history
from clarinet_tui.cli.options import RUNS, Json, RunId, RunsDir
from clarinet_tui.cli.output import make_console, print_json, quiet_pipe
from clarinet_tui.history.queries import Alarm, RunRow, read_evaluations, read_events, read_open_alarms
from clarinet_tui.queue.sweep import describe_command
from clarinet_tui.runs.directory import RunDirectory, disk_use
from clarinet_tui.runs.environment import describe_environment, read_environment
from clarinet_tui.runs.problems import find_problems
from clarinet_tui.runs.state import RunState
from clarinet_tui.slurm.attempts import list_attempts
from clarinet_tui.text import (
    format_age_of,
    format_bytes,
    format_duration,
    format_energy,
    format_seed,
    format_setting,
    format_time,
    printable,
    shell_command,
)
from core.config import Tag, setting_values, settings_tagged
from core.errors import InputError
from core.resolve import changed_settings

MAX_EVENTS = 10
MAX_CHARACTERS = 2000
INDENT = (0, 0, 0, 2)
Events = list[dict[str, Any]]
Fields = list[tuple[str, object]]
"""Names and values; a name may be empty, and a field without a value is not printed."""
Group = tuple[str, Fields]
"""A title and its fields."""


def show(id: RunId, json: Json = False, runs_dir: RunsDir = RUNS) -> None:  # noqa: A002
    """Show one run: progress, results, settings and failure.

    Example: clarinet show 6e3

    Example: clarinet show last
    """
    database = open_history(runs_dir)
    row = find_row(database, runs_dir, id)
    run, events = RunDirectory(runs_dir, row.id), read_events(database, row.id)
    alarms = read_open_alarms(database, row.id)
    evaluations = read_evaluations(database, row.id) if row.target_accuracy is None else []
    selected = label_free_epochs(evaluations, stage=last_stage(row.method))
    with quiet_pipe():
        if json:
            epochs = {rule: {"epoch": epoch, "score": score} for rule, (epoch, score) in selected.items()}
            content = row.as_object() | _settings_object(run) | {"command": describe_command(run)}
            content |= {"attempts": [attempt._asdict() for attempt in list_attempts(run)]}
            content |= {"open_alarms": [asdict(alarm) for alarm in alarms], "damaged": _damaged_lines(events)}
            print_json(content | {"events_tail": events[-MAX_EVENTS:], "selected_without_labels": epochs})
        else:
            _print_groups(_groups(row, run, events, alarms, describe_label_free(selected)))


def _groups(
    row: RunRow, run: RunDirectory, events: Events, alarms: Sequence[Alarm], selected: Sequence[tuple[str, str]]
) -> Iterator[Group]:
    """Yield the groups; what needs attention comes first."""
    yield (
        f"{row.id}  {row.method or '?'}  {row.task or '?'}  seed {format_seed(row.seed)}",
        [
            ("state", row.state),
            ("name", row.name),
            ("preset", row.preset),
            ("sweep", row.settings.get("sweep")),
            ("device", " on ".join(filter(None, (row.device, row.host)))),
            ("created", f"{format_time(row.created)} ({format_age_of(row.created, time.time())})"),
            ("tags", " ".join(row.tags)),
            ("note", row.note),
        ],
    )
    yield "Failure", _failure(row, [event for event in events if event["event"] != "damaged"])
    yield "Alarms", [field for alarm in alarms for field in _alarm(alarm)]
    lines = _damaged_lines(events)
    more = f"and {len(lines) - MAX_EVENTS} more lines" if len(lines) > MAX_EVENTS else None
    yield "Cannot be read", [*find_problems(run), *((run.journal.name, line) for line in [*lines[:MAX_EVENTS], more])]
    yield "Progress", _progress(row, run)
    yield "Attempts on Slurm", _attempts(run)
    accuracies = {
        "target accuracy": row.target_accuracy,
        "source accuracy": row.source_accuracy,
        "pseudo-label accuracy": row.pseudo_label_accuracy,
    }
    yield "Results, in percent", [(name, f"{value:.2f}") for name, value in accuracies.items() if value is not None]
    yield "Epochs selected without labels", list(selected)
    yield "Data", [("label hash", row.label_hash), *(("note", note) for note in row.notes)]
    yield from _settings(run)
    environment = describe_environment(read_environment(run))
    versions = [("hardware", environment.hardware), ("versions", environment.main_versions)]
    yield "Environment", [*versions, ("commit", environment.code), ("command", describe_command(run))]


def _settings_object(run: RunDirectory) -> dict[str, Any]:
    content: dict[str, Any] = {"config": None, "changed": None}
    with suppress(InputError):  # which is in the row, or the method is not installed
        config = run.read_config()
        content["config"] = msgspec.to_builtins(config)
        changes = changed_settings(config)
        content["changed"] = {name: {"default": default, "value": value} for name, (default, value) in changes.items()}
    return content


def _progress(row: RunRow, run: RunDirectory) -> Fields:
    resume = shell_command("clarinet", "resume", row.id, runs_dir=run.runs_dir)
    can_resume = row.state in (RunState.STOPPED, RunState.LOST)
    gpu_use = (
        None if row.gpu_use is None else f"{row.gpu_use:.0f} % in use",
        None if row.gpu_memory is None else f"at most {format_bytes(row.gpu_memory)}",
        None if row.energy is None else format_energy(row.energy),
    )
    return [
        ("stage", row.stage),
        ("epoch", None if row.epoch is None else f"{row.epoch} of {row.epochs_total or '?'}"),
        ("iteration", None if row.iteration is None else f"{row.iteration} of {row.iterations_total or '?'}"),
        ("training time", row.seconds and format_duration(row.seconds)),
        ("time left", row.seconds_left and f"about {format_duration(row.seconds_left)}"),
        ("GPU", ", ".join(filter(None, gpu_use))),
        ("started", row.started and format_time(row.started)),
        ("ended", row.ended and format_time(row.ended)),
        ("disk", disk_use(run.path)),
        ("resume with", resume if can_resume else None),
    ]


def _attempts(run: RunDirectory) -> Fields:
    fields: Fields = []
    for number, attempt in enumerate(list_attempts(run), 1):
        length = "" if attempt.ended is None else f", {format_duration(attempt.ended - attempt.started)}"
        place = f"job {attempt.job} on {attempt.node}, {format_time(attempt.started)}{length}"
        fields.append((str(number), f"{place}: {attempt.outcome}" if attempt.outcome else place))
    return fields


def _settings(run: RunDirectory) -> Iterator[Group]:
    """Yield the settings that differ from the preset, then the others in one paragraph."""
    try:
        config = run.read_config()
    except InputError:
        return  # shown as the failure
    try:
        changed = changed_settings(config)
    except InputError as error:
        yield "Settings", [("", f"cannot be compared with the preset: {error}")]
        changed = {}
    identity = settings_tagged(Tag.IDENTITY)
    yield (
        f"Settings that differ from preset {config.preset}",
        [
            (name, f"{format_setting(value)}  (preset: {format_setting(default)})")
            for name, (default, value) in changed.items()
            if name not in identity
        ],
    )
    shown = {*changed, *identity}
    same = {name: value for name, value in setting_values(config).items() if name not in shown}
    text = ", ".join(f"{name} {format_setting(value)}" for name, value in same.items())
    yield "Other settings", [("", text)]


def _alarm(alarm: Alarm) -> Fields:
    since = "" if alarm.iteration is None else f" (since iteration {alarm.iteration})"
    return [(alarm.kind, f"{alarm.message}{since}"), ("try", alarm.advice)]


def _damaged_lines(events: Events) -> list[str]:
    """Return messages about the unreadable lines of the journal, with their line numbers."""
    return [str(event.get("message", "")) for event in events if event["event"] == "damaged"]


def _failure(row: RunRow, events: Events) -> Fields:
    """Return the failure that the run ended with, or why its settings cannot be read."""
    last = events[-1] if events else {}
    if last.get("event") != "failed":
        return [("error", row.error)]
    terms = last.get("terms") or {}
    return [
        ("kind", last.get("kind")),
        ("error", last.get("message")),
        *(("at", frame) for frame in last.get("frames") or ()),
        ("loss terms", ", ".join(f"{name} {value}" for name, value in terms.items())),
        ("checkpoint", last.get("checkpoint")),
    ]


def _print_groups(groups: Iterable[Group]) -> None:
    """Print the groups that have a value."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = make_console()
    separator = ""
    for title, fields in groups:
        fields = [(name, value) for name, value in fields if value not in (None, "", [], ())]
        if not fields:
            continue
        console.print(Text(separator + printable(title), style="bold"))
        separator = "\n"
        table = Table.grid(padding=(0, 2, 0, 0))
        for name, value in fields:
            text = Text(printable(str(value)[:MAX_CHARACTERS]), overflow="fold")
            if name:
                table.add_row(Text(printable(name), style="dim"), text)
            else:
                console.print(Padding(text, INDENT, expand=False))
        if table.row_count:
            console.print(Padding(table, INDENT, expand=False))
