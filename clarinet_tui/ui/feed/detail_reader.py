"""Reads a run's papers for the panes: settings, surroundings, confusion, failure. Belongs to the feed's thread."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clarinet_tui.history.queries import evaluations, events
from clarinet_tui.runs.atomic_files import modified
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import number
from clarinet_tui.ui.feed.log_reader import LogReader
from clarinet_tui.ui.feed.process_memory import Memory
from clarinet_tui.ui.feed.run_settings import settings_of, surroundings_of
from clarinet_tui.ui.snapshot.run_detail import Confusion, Detail, DetailWanted, Failure, Lines
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database
    from clarinet_tui.history.queries import RunRow


class DetailReader:
    """Remembers the last answer: a run that says nothing new is not read again."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._last: tuple[object, Detail] | None = None
        self._log, self._memory = LogReader(), Memory()

    def glance(self, wanted: DetailWanted | None) -> tuple[Any, ...]:
        """What is wanted of the run's files, without the database; equal to the last glance if nothing came since."""
        if wanted is None:
            return ()
        try:
            directory = RunDirectory(self._runs_dir, wanted.run)
        except InputError as error:
            return (str(error),)
        lines = self._log.read(directory) if "log" in wanted.parts else Lines()
        memory = self._memory.of(directory) if "memory" in wanted.parts else None
        return lines, memory, modified(directory.config), modified(directory.environment)

    def read(self, db: Database, run: RunRow, wanted: DetailWanted, glance: tuple[Any, ...]) -> Detail:
        if len(glance) == 1:
            return Detail(wanted, problem=str(glance[0]))
        lines, memory, *stamps = glance
        seen = (wanted, run, stamps)
        if self._last is None or self._last[0] != seen:
            self._last = seen, _read(db, RunDirectory(self._runs_dir, run.id), wanted)
        return replace(self._last[1], log=lines, memory=memory)

    def close(self) -> None:
        self._log.close()
        self._last = None


def _read(db: Database, directory: RunDirectory, wanted: DetailWanted) -> Detail:
    told = events(db, directory.id) if wanted.parts & {"about", "confusion"} else []
    try:
        return Detail(
            wanted,
            settings=settings_of(directory.read_config()) if "settings" in wanted.parts else (),
            surroundings=surroundings_of(directory, _last(told, "started")) if "about" in wanted.parts else (),
            failure=_failure(_last(told, "failed")) if "about" in wanted.parts else None,
            confusion=_confusion(db, directory.id, _last(told, "started")) if "confusion" in wanted.parts else None,
        )
    except InputError as error:
        return Detail(wanted, problem=str(error))


def _last(told: list[dict[str, Any]], event: str) -> dict[str, Any]:
    """The last such event that still counts."""
    return next((said for said in reversed(told) if said["event"] == event and not said["superseded"]), {})


def _failure(failed: dict[str, Any]) -> Failure | None:
    if not failed:
        return None
    frames, terms = failed.get("frames"), failed.get("terms")
    return Failure(
        message=str(failed.get("message", "")),
        frames=tuple(map(str, frames)) if isinstance(frames, list) else (),
        terms=_terms(terms) if isinstance(terms, dict) else (),
    )


def _terms(said: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    known = ((str(name), number(value)) for name, value in said.items())
    return tuple((name, float(value)) for name, value in known if isinstance(value, float | int))


def _confusion(db: Database, run_id: str, started: dict[str, Any]) -> Confusion | None:
    last = next((row for row in reversed(evaluations(db, run_id)) if square(row["confusion"])), None)
    if last is None:
        return None
    counts = tuple(tuple(row) for row in last["confusion"])
    named = started.get("classes")
    names = tuple(map(str, named)) if isinstance(named, list) and len(named) == len(counts) else ()
    return Confusion(counts, names or tuple(map(str, range(len(counts)))), last["epoch"] or 0)


def square(matrix: Any) -> bool:
    """Whether this is a matrix of counts: a journal may be hurt."""
    if not isinstance(matrix, list) or not matrix:
        return False
    rows = [row for row in matrix if isinstance(row, list) and len(row) == len(matrix)]
    return len(rows) == len(matrix) and all(isinstance(count, int) and count >= 0 for row in rows for count in row)
