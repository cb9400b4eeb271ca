"""`clarinet show`: one run in groups of lines, or as an object."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from clarinet_tui.cli.lookup import find_row, open_history
from clarinet_tui.cli.options import RUNS, Json, RunId, RunsDir
from clarinet_tui.cli.output import make_console, print_json, quiet_pipe
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_age, format_duration, format_time, printable
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.history.alarms import Alarm
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.runs.directory import RunDirectory

MAX_EVENTS = 10
MAX_CHARACTERS = 2000
INDENT = (0, 0, 0, 2)
Events = list[dict[str, Any]]


@dataclass
class Group:
    title: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Names and values; a line may have no name."""

    def add(self, name: str, value: object) -> None:
        """Add a line, unless its value is empty."""
        if value not in (None, "", (), []):
            self.lines.append((name, str(value)))


def show(
    id: RunId,  # noqa: A002
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Show one run: progress, results, settings and failure.

    Example: clarinet show 6e3
    """
    from clarinet_tui.history.alarms import read_open_alarms
    from clarinet_tui.history.queries import read_events
    from clarinet_tui.runs.directory import RunDirectory

    database = open_history(runs_dir)
    row = find_row(database, runs_dir, id)
    run, events, alarms = (
        RunDirectory(runs_dir, row.id),
        read_events(database, row.id),
        read_open_alarms(database, row.id),
    )
    with quiet_pipe():
        if json:
            print_json(asdict(row) | _object(run, events, alarms))
        else:
            _print_groups(_groups(row, run, events, alarms))


def _groups(row: "RunRow", run: "RunDirectory", events: Events, alarms: "Sequence[Alarm]") -> list[Group]:
    """Return the groups that have lines; the last ones are nearest to the prompt."""
    groups = [_identity(row), _progress(row), _results(row), _data(row), *_settings(run), _environment(run)]
    journal = [event for event in events if event["event"] != "damaged"]
    return [group for group in [*groups, _damage(events), _alarms(alarms), _failure(row, journal)] if group.lines]


def _object(run: "RunDirectory", events: Events, alarms: "Sequence[Alarm]") -> dict[str, Any]:
    """Return what the JSON object has beside the row of the history."""
    import msgspec

    from core.resolve import changed_settings

    content: dict[str, Any] = {"config": None, "changed": None}
    try:
        config = run.read_config()
        content["config"] = msgspec.to_builtins(config)
        changes = changed_settings(config)
        content["changed"] = {name: {"default": default, "value": value} for name, (default, value) in changes.items()}
    except InputError:
        pass  # the error is in the row, or the method is not installed
    content |= {"open_alarms": [asdict(alarm) for alarm in alarms], "damaged": _damaged_lines(events)}
    return content | {"events_tail": events[-MAX_EVENTS:]}


def _identity(row: "RunRow") -> Group:
    group = Group(f"{row.id}  {row.method or '?'}  {row.task or '?'}  seed {'?' if row.seed is None else row.seed}")
    group.add("state", row.state)
    group.add("name", row.name)
    group.add("preset", row.preset)
    group.add("device", " on ".join(filter(None, (row.device, row.host))))
    group.add("created", f"{format_time(row.created)} ({format_age(max(0.0, time.time() - row.created))})")
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
    group.add("training time", row.seconds and format_duration(row.seconds))
    group.add("time left", row.seconds_left and f"about {format_duration(row.seconds_left)}")
    group.add("started", row.started and format_time(row.started))
    group.add("ended", row.ended and format_time(row.ended))
    if row.state in (RunState.STOPPED, RunState.LOST):
        group.add("resume with", f"clarinet resume {row.id}")
    return group


def _results(row: "RunRow") -> Group:
    group = Group("Results, in percent")
    accuracies = {
        "target accuracy": row.target_accuracy,
        "source accuracy": row.source_accuracy,
        "pseudo-label accuracy": row.pseudo_label_accuracy,
    }
    for name, value in accuracies.items():
        group.add(name, None if value is None else f"{value:.2f}")
    return group


def _data(row: "RunRow") -> Group:
    group = Group("Data")
    group.add("label hash", row.label_hash)
    for note in row.notes:
        group.add("note", note)
    return group


def _settings(run: "RunDirectory") -> Iterator[Group]:
    """Yield the settings that differ from the preset, then the others in one paragraph."""
    from core.config import setting_specs
    from core.resolve import changed_settings

    try:
        config = run.read_config()
    except InputError:
        return  # shown as the failure
    try:
        changed = changed_settings(config)
    except InputError as error:
        yield Group("Settings", [("", f"cannot be compared with the preset: {error}")])
        changed = {}
    group = Group(f"Settings that differ from preset {config.preset}")
    for name, (default, value) in changed.items():
        group.add(name, f"{_format_setting(value)}  (preset: {_format_setting(default)})")
    yield group
    shown = {*changed, "method", "task", "seed", "preset", "name"}
    same = [setting.name for setting in setting_specs() if setting.name not in shown]
    text = ", ".join(f"{name} {_format_setting(attrgetter(name)(config))}" for name in same)
    yield Group("Other settings", [("", text)])


def _format_setting(value: Any) -> str:
    """Format a value as in TOML, but text without quotes."""
    return str(value).lower() if isinstance(value, bool) else '""' if value == "" else str(value)


def _environment(run: "RunDirectory") -> Group:
    from clarinet_tui.runs.environment import read_environment

    environment = read_environment(run)
    group = Group("Environment")
    packages = environment.get("versions")
    versions = {"python": environment.get("python"), **(packages if isinstance(packages, dict) else {})}
    names = ("clarinet-tui", "python", "torch", "numpy")
    group.add("versions", ", ".join(f"{name} {versions[name]}" for name in names if versions.get(name)))
    git = environment.get("git")
    if isinstance(git, dict) and git.get("commit"):
        changes = " and uncommitted changes" if git.get("patch") else ""
        group.add("commit", f"{str(git['commit'])[:12]}{changes}")
    command = environment.get("command")
    group.add("command", " ".join(map(str, command)) if isinstance(command, list) else None)
    return group


def _alarms(alarms: "Sequence[Alarm]") -> Group:
    group = Group("Alarms")
    for alarm in alarms:
        since = "" if alarm.iteration is None else f" (since iteration {alarm.iteration})"
        group.add(alarm.kind, f"{alarm.message}{since}")
        group.add("try", alarm.advice)
    return group


def _damaged_lines(events: Events) -> list[str]:
    """Return messages about the unreadable lines of the journal, with their line numbers."""
    return [str(event.get("message", "")) for event in events if event["event"] == "damaged"]


def _damage(events: Events) -> Group:
    group = Group("Journal")
    messages = _damaged_lines(events)
    for message in messages[:MAX_EVENTS]:
        group.add("damaged", message)
    if len(messages) > MAX_EVENTS:
        group.add("damaged", f"and {len(messages) - MAX_EVENTS} more")
    return group


def _failure(row: "RunRow", events: Events) -> Group:
    """Return the failure that the run ended with, or why its settings cannot be read."""
    last = events[-1] if events else {}
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
        group.add("loss terms", ", ".join(f"{name} {value}" for name, value in terms.items()))
    group.add("checkpoint", last.get("checkpoint"))
    return group


def _print_groups(groups: list[Group]) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = make_console()
    for number, group in enumerate(groups):
        console.print(Text(("\n" if number else "") + printable(group.title), style="bold"))
        table = Table.grid(padding=(0, 2, 0, 0))
        for name, value in group.lines:
            text = Text(printable(value[:MAX_CHARACTERS]), overflow="fold")
            if name:
                table.add_row(Text(printable(name), style="dim"), text)
            else:
                console.print(Padding(text, INDENT, expand=False))
        if table.row_count:
            console.print(Padding(table, INDENT, expand=False))
