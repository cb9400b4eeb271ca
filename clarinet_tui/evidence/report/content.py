"""All that a report tells of the runs that match a query, before it is written as a page."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, TypeVar

from clarinet_tui.evidence.board import Board, make_board
from clarinet_tui.evidence.comparison import ONE, TWO, Comparison, compare_queries
from clarinet_tui.evidence.figures.accuracy import accuracy
from clarinet_tui.evidence.figures.confusion import confusion
from clarinet_tui.evidence.figures.figure import Drawing
from clarinet_tui.evidence.figures.figure_runs import chosen_by
from clarinet_tui.evidence.figures.losses import losses
from clarinet_tui.evidence.published import SEEDS
from clarinet_tui.evidence.run_records import Archive, Record, code_of
from clarinet_tui.evidence.selection import Rule
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from core.config import RunConfig
from core.errors import InputError

Key = TypeVar("Key")
CommandOf = Callable[[RunConfig], str]
"""The command line that makes a run again."""


@dataclass(frozen=True)
class Surroundings:
    """Where runs were made, and with what; runs that share it are told of together."""

    host: str
    device: str
    platform: str
    versions: tuple[tuple[str, str], ...]
    commit: str


@dataclass(frozen=True, eq=False)
class Report:
    title: str
    query: str
    written: float
    host: str
    version: str
    records: tuple[Record, ...]
    board: Board
    comparison: Comparison | None
    """None where there are no two families to compare."""
    drawings: tuple[Drawing, ...]
    surroundings: Mapping[Surroundings, tuple[str, ...]]
    """Each with its runs."""
    commands: Mapping[str, str]
    """By run; a plug-in's that is not installed here cannot be told."""
    typed: Mapping[str, str]
    """Command lines as they were typed, where asked for: they may hold what nobody else should read."""
    patches: Mapping[str, tuple[str, ...]]
    """Uncommitted changes, where asked for, each with its runs."""


def make_report(
    archive: Archive,
    query: str = "",
    *,
    title: str,
    written: float,
    host: str,
    command_of: CommandOf,
    rule: Rule = "last",
    preset: str | None = None,
    typed: bool = False,
    patches: bool = False,
    seeds: int = SEEDS,
    hosts: bool = True,
) -> Report:
    """Board and figures are of one preset; runs, settings and commands of all that match.

    Without `hosts` no machine is named: for a page that everybody may read.
    """
    records = archive.search(query)
    if not records:
        raise InputError(f"report: no run matches {query or 'anything'!a}: `clarinet ls` lists runs")
    board = make_board(archive, query, rule=rule, preset=preset, seeds=seeds)
    papers = {record.row.id: read_environment(RunDirectory(archive.runs_dir, record.row.id)) for record in records}
    if not hosts:
        host = ""
        records = [replace(record, row=replace(record.row, host=None)) for record in records]
        papers = {run: {**said, "host": None} for run, said in papers.items()}
    return Report(
        title=title,
        query=query,
        written=written,
        host=host,
        version=version("clarinet-tui"),
        records=tuple(records),
        board=board,
        comparison=_compared(archive, records, query, rule),
        drawings=_drawings(archive, board),
        surroundings=_together({run: _surroundings(said) for run, said in papers.items() if said}),
        commands=_commands(records, command_of),
        typed={run: _typed(said) for run, said in papers.items() if _typed(said)} if typed else {},
        patches=_together({run: _patch(said) for run, said in papers.items() if _patch(said)}) if patches else {},
    )


def _compared(archive: Archive, records: Sequence[Record], query: str, rule: Rule) -> Comparison | None:
    if not {ONE, TWO} <= {record.row.family for record in records}:
        return None
    compared = compare_queries(archive, query, query, rule=rule)
    return compared if compared.contrasts else None


def _drawings(archive: Archive, board: Board) -> tuple[Drawing, ...]:
    try:
        chosen = chosen_by(archive, board)
    except InputError:  # no run of this preset has settings that can be read
        return ()
    found = (accuracy(archive, chosen), losses(archive, chosen), confusion(archive, chosen))
    return tuple(drawing for drawing in found if drawing.panels)


def _commands(records: Sequence[Record], command_of: CommandOf) -> dict[str, str]:
    found = {}
    for record in records:
        if record.config:
            try:
                found[record.row.id] = command_of(record.config)
            except InputError:
                continue
    return found


def _surroundings(said: Mapping[str, Any]) -> Surroundings:
    """What a file from elsewhere says may be anything."""
    versions = said.get("versions")
    known = {"python": said.get("python"), **(versions if isinstance(versions, dict) else {})}
    told = tuple((str(name), str(value)) for name, value in known.items() if value)
    host, device, platform = (str(said.get(name) or "?") for name in ("host", "device", "platform"))
    return Surroundings(host, device, platform, told, code_of(said).commit or "")


def _typed(said: Mapping[str, Any]) -> str:
    command = said.get("command")
    return shlex.join(map(str, command)) if isinstance(command, list) else ""


def _patch(said: Mapping[str, Any]) -> str:
    git = said.get("git")
    return str(git.get("patch") or "") if isinstance(git, dict) else ""


def _together(by_run: Mapping[str, Key]) -> dict[Key, tuple[str, ...]]:
    found: dict[Key, tuple[str, ...]] = {}
    for run, key in by_run.items():
        found[key] = (*found.get(key, ()), run)
    return found
