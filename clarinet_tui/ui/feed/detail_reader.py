"""Reads the details of one run in the feed's thread: settings, environment, confusion matrix, failure, log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clarinet_tui.history import queries
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import describe_environment, read_environment
from clarinet_tui.runs.files import modified_time
from clarinet_tui.runs.inspection_file import read_inspection
from clarinet_tui.runs.journal import is_confusion_matrix, parse_number
from clarinet_tui.text import format_setting
from clarinet_tui.ui.snapshot.snapshot import (
    MAX_LOG_LINES,
    Confusion,
    DetailRequest,
    Failure,
    LogExcerpt,
    RunDetails,
    Setting,
)
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.chart.curve import Curve
    from clarinet_tui.history.database import Database
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.logs.run_log import RunLog
    from core.config import RunConfig

TITLE_SETTINGS = frozenset({"method", "task", "seed", "preset", "name"})
"""Settings that the run's title already shows."""


class DetailReader:
    """Keeps the last details: an unchanged run is not read again."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._last: tuple[object, RunDetails] | None = None
        self._log = LogReader()
        self._samples: tuple[object, dict[str, Curve]] = None, {}

    def read_files(self, request: DetailRequest | None) -> tuple[Any, ...]:
        """Read what does not come from the database; equal to the last result if nothing has changed."""
        if request is None:
            return ()
        try:
            directory = RunDirectory(self._runs_dir, request.run)
        except InputError as error:
            return (str(error),)
        lines = self._log.read(directory) if "log" in request.parts else LogExcerpt()
        changing = (directory.config, directory.environment, directory.inspection)
        return lines, *map(modified_time, changing)

    def read(self, db: Database, run: RunRow, request: DetailRequest, files: tuple[Any, ...]) -> RunDetails:
        if len(files) == 1:
            return RunDetails(request, problem=str(files[0]))
        lines, *stamps = files
        key = (request, run, stamps)
        if self._last is None or self._last[0] != key:
            alarms = tuple(queries.read_open_alarms(db, run.id)) if run.alarms else ()
            self._last = key, replace(_read_detail(db, RunDirectory(self._runs_dir, run.id), request), alarms=alarms)
        if "hardware" not in request.parts:
            return replace(self._last[1], log=lines)
        sampled = run.id, queries.read_last_position(db, run.id)
        if self._samples[0] != sampled:
            self._samples = sampled, queries.read_sample_curves(db, run.id)
        return replace(self._last[1], log=lines, hardware=self._samples[1])

    def close(self) -> None:
        self._log.close()
        self._last = None


def _read_detail(db: Database, directory: RunDirectory, request: DetailRequest) -> RunDetails:
    parts = request.parts
    events = queries.read_events(db, directory.id) if parts & {"about", "confusion"} else []
    started = _last_event(events, "started")
    try:
        return RunDetails(
            request,
            settings=list_run_settings(directory.read_config()) if "settings" in parts else (),
            environment=_read_environment(db, directory, started) if "about" in parts else (),
            failure=_make_failure(_last_event(events, "failed")) if "about" in parts else None,
            confusion=_read_confusion(db, directory.id, started) if "confusion" in parts else None,
            inspection=read_inspection(directory) if "inspection" in parts else None,
        )
    except InputError as error:
        return RunDetails(request, problem=str(error))


def _read_environment(db: Database, directory: RunDirectory, started: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return lines on the epochs selected without labels, if the target has none, and on the environment."""
    from clarinet_tui.analysis.selection import describe_label_free, label_free_epochs, last_stage

    rows = queries.read_evaluations(db, directory.id)
    is_labelled = any(row["target_accuracy"] is not None for row in rows)
    selected = {} if is_labelled else label_free_epochs(rows, stage=last_stage(started.get("method")))
    return (*describe_label_free(selected), *format_environment(directory, started))


def _last_event(events: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the last event of this name that is not superseded."""
    return next((event for event in reversed(events) if event["event"] == name and not event["superseded"]), {})


def _make_failure(failed: dict[str, Any]) -> Failure | None:
    if not failed:
        return None
    terms = tuple((name, parse_number(value)) for name, value in (failed.get("terms") or {}).items())
    return Failure(failed.get("message") or "", tuple(failed.get("frames") or ()), terms)


def _read_confusion(db: Database, run_id: str, started: dict[str, Any]) -> Confusion | None:
    from clarinet_tui.analysis.figures.figure import class_curves

    rows = [row for row in queries.read_evaluations(db, run_id) if is_confusion_matrix(row["confusion"])]
    if not rows:
        return None
    last = rows[-1]
    counts = tuple(tuple(row) for row in last["confusion"])
    classes = started.get("classes") or ()
    names = tuple(classes if len(classes) == len(counts) else map(str, range(len(counts))))
    rows = [row for row in rows if row["stage"] == last["stage"] and len(row["confusion"]) == len(counts)]
    return Confusion(counts, names, last["epoch"] or 0, class_curves(rows, names))


class LogReader:
    """Follows one run at a time."""

    def __init__(self) -> None:
        self._run = ""
        self._log: RunLog | None = None
        self._last = LogExcerpt()

    def read(self, run: RunDirectory) -> LogExcerpt:
        """Return the last lines; the same object as before if there are no new ones."""
        if self._log is None or run.id != self._run:
            from clarinet_tui.logs.run_log import RunLog

            self.close()
            self._run, self._log = run.id, RunLog(run)
            new = self._log.read_last(MAX_LOG_LINES)
        else:
            new = list(self._log.read_new())
        if new:
            lines = (*self._last.text, *new)
            shown = lines[-MAX_LOG_LINES:]
            self._last = LogExcerpt(self._last.first + len(lines) - len(shown), shown)
        return self._last

    def close(self) -> None:
        if self._log:
            self._log.close()
        self._run, self._log, self._last = "", None, LogExcerpt()


def list_run_settings(config: RunConfig) -> tuple[Setting, ...]:
    """Return every setting; those that differ from the preset come first."""
    from core.config import own_specs, setting_specs, setting_values
    from core.methods import find_method
    from core.resolve import changed_settings

    descriptions = {spec.name: spec.description for spec in setting_specs()}
    try:
        changed = changed_settings(config)
        descriptions |= {spec.name: spec.description for spec in own_specs(find_method(config.method).settings)}
    except InputError:  # the method is not installed here, so that its defaults are unknown
        changed = {}
    listed = [
        Setting(
            name,
            format_setting(value),
            format_setting(changed[name][0]) if name in changed else None,
            descriptions.get(name, ""),
        )
        for name, value in setting_values(config).items()
        if name not in TITLE_SETTINGS
    ]
    return tuple(sorted(listed, key=lambda setting: setting.default is None))


def format_environment(run: RunDirectory, started: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return name and text of the run's data, machine, versions and code, and the command that created it."""
    from clarinet_tui.queue.sweep import describe_command

    environment = describe_environment(read_environment(run))
    sizes = [_counted(started.get(f"{side}_size"), side) for side in ("source", "target", "test")]
    lines = {
        "images": ", ".join(filter(None, sizes)),
        "network": _counted(started.get("parameters"), "parameters"),
        "labels": started.get("label_hash"),
        "device": environment.device,
        "hardware": environment.hardware,
        "host": environment.host,
        "versions": environment.main_versions,
        "commit": environment.code,
        "directory": str(run.path),
        "command": describe_command(run),  # last, as it may be long
    }
    return tuple((name, text) for name, text in lines.items() if text)


def _counted(number: int | None, of: str) -> str:
    return "" if number is None else f"{number:,} {of}".replace(",", " ")
