"""One run as `clarinet show` tells it: groups of short lines, and an object for other programs."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from clarinet_tui.text import ago, duration, printable
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.history.queries import Alarm, RunRow
    from clarinet_tui.runs.directory import RunDirectory
    from core.config import RunConfig

EVENTS = 10
WIDE = 200
"""Columns of a file."""
INDENT = (0, 0, 0, 2)
LONGEST = 2000
Said = list[dict[str, Any]]


@dataclass
class Group:
    title: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Names and what is to be said of them; a line may have no name."""

    def add(self, name: str, value: object) -> None:
        if value not in (None, "", (), []):
            self.lines.append((name, str(value)))


def describe(
    row: "RunRow", run: "RunDirectory", said: Said, alarms: "Sequence[Alarm]" = (), now: float | None = None
) -> list[Group]:
    """What there is to say, the most important for last: that is where the eyes are."""
    now = time.time() if now is None else now
    groups = [_what(row, now), _progress(row), _results(row), _data(row), *_settings(run), _environment(run)]
    heard = [event for event in said if event["event"] != "damaged"]
    return [group for group in [*groups, _damage(said), _alarms(alarms), _failure(row, heard)] if group.lines]


def as_object(run: "RunDirectory", said: Said, alarms: "Sequence[Alarm]" = ()) -> dict[str, Any]:
    """What a program is told beside the row: settings, those that differ from the preset, alarms, the last events."""
    from dataclasses import asdict

    from core.resolve import changed_settings

    found: dict[str, Any] = {"config": None, "changed": None}
    try:
        config = run.read_config()
        found["config"] = msgspec.to_builtins(config)
        pairs = changed_settings(config)
        found["changed"] = {name: {"default": usual, "value": value} for name, (usual, value) in pairs.items()}
    except InputError:
        pass  # the row's error, or the method's absence, says why
    found |= {"open_alarms": [asdict(alarm) for alarm in alarms], "damaged": damaged_lines(said)}
    return found | {"events_tail": said[-EVENTS:]}


def _what(row: "RunRow", now: float) -> Group:
    group = Group(f"{row.id}  {row.method or '?'}  {row.task or '?'}  seed {'?' if row.seed is None else row.seed}")
    group.add("state", row.state)
    group.add("name", row.name)
    group.add("preset", row.preset)
    group.add("where", " on ".join(filter(None, (row.device, row.host))))
    group.add("created", f"{_moment(row.created)} ({ago(max(0.0, now - row.created))})")
    group.add("tags", " ".join(row.tags))
    group.add("note", row.note)
    return group


def _progress(row: "RunRow") -> Group:
    group = Group("Progress")
    group.add("stage", row.stage)
    if row.epoch is not None:
        group.add("epoch", f"{row.epoch} of {row.epochs_total or '?'}")
    if row.iteration is not None:
        group.add("iteration", f"{row.iteration} of {row.iterations_total or '?'}")
    group.add("trained for", row.seconds and duration(row.seconds))
    group.add("still takes", row.seconds_left and f"about {duration(row.seconds_left)}")
    group.add("began", row.started and _moment(row.started))
    group.add("ended", row.ended and _moment(row.ended))
    if row.state in ("stopped", "lost"):
        group.add("go on with", f"clarinet resume {row.id}")
    return group


def _results(row: "RunRow") -> Group:
    group = Group("Results, in percent")
    named = {
        "target accuracy": row.target_accuracy,
        "source accuracy": row.source_accuracy,
        "pseudo-labels right": row.pseudo_label_accuracy,
    }
    for name, value in named.items():
        group.add(name, None if value is None else f"{value:.2f}")
    return group


def _data(row: "RunRow") -> Group:
    group = Group("Data")
    group.add("label draw", row.label_hash)
    for note in row.notes:
        group.add("note", note)
    return group


def _settings(run: "RunDirectory") -> Iterator[Group]:
    """Those that differ from the preset, then the others in one paragraph."""
    from core.config import fields
    from core.resolve import changed_settings

    try:
        config = run.read_config()
    except InputError:
        return  # the failure says why
    try:
        changed = changed_settings(config)
    except InputError as error:
        yield Group("Settings", [("", f"cannot be compared with the preset: {error}")])
        changed = {}
    group = Group(f"Settings that differ from preset {config.preset}")
    for name, (usual, value) in changed.items():
        group.add(name, f"{_setting(value)}  (not {_setting(usual)})")
    yield group
    same = [
        entry.name for entry in fields() if entry.name not in {*changed, "method", "task", "seed", "preset", "name"}
    ]
    yield Group("Other settings", [("", ", ".join(f"{name} {_setting(_value(config, name))}" for name in same))])


def _value(config: "RunConfig", name: str) -> Any:
    from operator import attrgetter

    return attrgetter(name)(config)


def _setting(value: Any) -> str:
    """As TOML has it."""
    return str(value).lower() if isinstance(value, bool) else '""' if value == "" else str(value)


def _environment(run: "RunDirectory") -> Group:
    from clarinet_tui.runs.environment import read_environment

    told = read_environment(run)
    group = Group("Environment")
    versions = told.get("versions")
    found = {"python": told.get("python"), **(versions if isinstance(versions, dict) else {})}
    wanted = ("clarinet-tui", "python", "torch", "numpy")
    group.add("versions", ", ".join(f"{name} {found[name]}" for name in wanted if found.get(name)))
    git = told.get("git")
    if isinstance(git, dict) and git.get("commit"):
        changes = " and uncommitted changes" if git.get("patch") else ""
        group.add("commit", f"{str(git['commit'])[:12]}{changes}")
    command = told.get("command")
    group.add("command", " ".join(map(str, command)) if isinstance(command, list) else None)
    return group


def _alarms(alarms: "Sequence[Alarm]") -> Group:
    """What is wrong, and what to try."""
    group = Group("Alarms")
    for alarm in alarms:
        since = "" if alarm.iteration is None else f" (since iteration {alarm.iteration})"
        group.add(alarm.kind, f"{alarm.message}{since}")
        group.add("try", alarm.advice)
    return group


def damaged_lines(said: Said) -> list[str]:
    """What could not be read of the journal, in words with the lines' numbers."""
    return [str(event.get("message", "")) for event in said if event["event"] == "damaged"]


def _damage(said: Said) -> Group:
    group = Group("Journal")
    hurt = damaged_lines(said)
    for sentence in hurt[:EVENTS]:
        group.add("damaged", sentence)
    if len(hurt) > EVENTS:
        group.add("damaged", f"and {len(hurt) - EVENTS} more")
    return group


def _failure(row: "RunRow", said: Said) -> Group:
    """Of a run whose last word it is; or why its settings cannot be read."""
    last = said[-1] if said else {}
    group = Group("Failure")
    if last.get("event") != "failed":
        group.add("error", row.error)
        return group
    group.add("kind", last.get("kind"))
    group.add("error", last.get("message"))
    frames = last.get("frames")
    for frame in frames if isinstance(frames, list) else []:
        group.add("at", frame)
    terms = last.get("terms")
    if isinstance(terms, dict):
        group.add("terms", ", ".join(f"{name} {value}" for name, value in terms.items()))
    group.add("saved in", last.get("checkpoint"))
    return group


def _moment(when: float) -> str:
    return datetime.fromtimestamp(when).strftime("%Y-%m-%d %H:%M")


def print_groups(groups: list[Group]) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    for number, group in enumerate(groups):
        console.print(Text(("\n" if number else "") + printable(group.title), style="bold"))
        table = Table.grid(padding=(0, 2, 0, 0))
        for name, value in group.lines:
            text = Text(printable(value[:LONGEST]), overflow="fold")
            if name:
                table.add_row(Text(printable(name), style="dim"), text)
            else:
                console.print(Padding(text, INDENT, expand=False))
        if table.row_count:
            console.print(Padding(table, INDENT, expand=False))
