"""The content of a report on the runs that match a query, independent of its format."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import islice
from typing import Any, TypeVar

from clarinet_tui.analysis.board import Board, make_board
from clarinet_tui.analysis.choices import COMPARED_FAMILIES, Rule
from clarinet_tui.analysis.comparison import Comparison, compare_queries
from clarinet_tui.analysis.figures.figure import Figure
from clarinet_tui.analysis.figures.kinds import accuracy_figure, confusion_figure, losses_figure, runs_of_board
from clarinet_tui.analysis.published import SEEDS
from clarinet_tui.analysis.run_records import RunRecord, RunRecords, code_version
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import format_hardware, read_environment
from clarinet_tui.runs.inspection_file import Inspection, read_inspection
from core.config import RunConfig
from core.errors import InputError

Key = TypeVar("Key")
MAXIMUM_INSPECTIONS = 6
"""Each has hundreds of kilobytes of pictures and points."""
CommandOf = Callable[[RunConfig], str]
"""Makes the command line that repeats a run."""


@dataclass(frozen=True)
class Environment:
    """Machine and software of runs."""

    host: str
    device: str
    hardware: str
    """Model, driver and libraries of the device, and the threads of the CPU."""
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
    records: tuple[RunRecord, ...]
    board: Board
    comparison: Comparison | None
    """None without both one-step and two-step runs."""
    figures: tuple[Figure, ...]
    inspections: Mapping[str, Inspection]
    """By run id, of the latest runs that `clarinet inspect` has inspected."""
    environments: Mapping[Environment, tuple[str, ...]]
    """Run ids by environment."""
    commands: Mapping[str, str]
    """By run id; without runs of plug-ins that are not installed."""
    typed: Mapping[str, str]
    """Original command lines, on request only because they may contain private values."""
    patches: Mapping[str, tuple[str, ...]]
    """Run ids by uncommitted changes, on request only."""


def make_report(
    reader: RunRecords,
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
    """Collect the report; board and figures cover one preset, the other sections all matching runs."""
    records = reader.search(query)
    if not records:
        problem = f"no run matches {query!a}" if query else "there are no runs"
        raise InputError(f"report: {problem}: `clarinet ls` lists runs")
    board = make_board(reader, query, rule=rule, preset=preset, seeds=seeds)
    if not hosts:  # for a public page
        host, records = "", [replace(record, row=replace(record.row, host=None)) for record in records]
    environments = _read_environments(reader, records, hosts=hosts)
    return Report(
        title=title,
        query=query,
        written=written,
        host=host,
        version=version("clarinet-tui"),
        records=tuple(records),
        board=board,
        comparison=_compare(reader, records, query, rule),
        figures=_figures(reader, board),
        inspections=_inspections(reader, records),
        environments=_group_runs({run: _environment(fields) for run, fields in environments.items()}),
        commands=_commands(records, command_of),
        typed=_texts(environments, _command) if typed else {},
        patches=_group_runs(_texts(environments, _patch)) if patches else {},
    )


def _compare(reader: RunRecords, records: Sequence[RunRecord], query: str, rule: Rule) -> Comparison | None:
    if not set(COMPARED_FAMILIES) <= {record.row.family for record in records}:
        return None
    comparison = compare_queries(reader, query, query, rule=rule)
    return comparison if comparison.differences else None


def _figures(reader: RunRecords, board: Board) -> tuple[Figure, ...]:
    from clarinet_tui.analysis.figures.kinds import classes_figure  # imports numpy

    try:
        runs = runs_of_board(reader, board)
    except InputError:  # no run of this preset has readable settings
        return ()
    figures = (
        accuracy_figure(reader, runs),
        losses_figure(reader, runs),
        confusion_figure(reader, runs),
        classes_figure(reader, runs),
    )
    return tuple(figure for figure in figures if figure.panels)


def _inspections(reader: RunRecords, records: Sequence[RunRecord]) -> dict[str, Inspection]:
    latest = sorted(records, key=lambda record: record.row.created, reverse=True)
    runs = (RunDirectory(reader.runs_dir, record.row.id) for record in latest)
    found = ((run.id, inspection) for run in runs if (inspection := read_inspection(run)))
    return dict(islice(found, MAXIMUM_INSPECTIONS))


def _commands(records: Sequence[RunRecord], command_of: CommandOf) -> dict[str, str]:
    commands = {}
    for record in records:
        with suppress(InputError):  # a plug-in that is not installed
            if record.config:
                commands[record.row.id] = command_of(record.config)
    return commands


def _read_environments(reader: RunRecords, records: Sequence[RunRecord], *, hosts: bool) -> dict[str, dict[str, Any]]:
    hidden = {} if hosts else {"host": None}
    runs = [RunDirectory(reader.runs_dir, record.row.id) for record in records]
    return {run.id: {**fields, **hidden} for run in runs if (fields := read_environment(run))}


def _texts(environments: Mapping[str, Mapping[str, Any]], read: Callable[[Mapping[str, Any]], str]) -> dict[str, str]:
    return {run: text for run, fields in environments.items() if (text := read(fields))}


def _environment(fields: Mapping[str, Any]) -> Environment:
    """Read environment.json without trusting its types."""
    versions = fields.get("versions")
    known = {"python": fields.get("python"), **(versions if isinstance(versions, dict) else {})}
    version_pairs = tuple((str(name), str(value)) for name, value in known.items() if value)
    host, device, platform = (str(fields.get(name) or "?") for name in ("host", "device", "platform"))
    commit = code_version(fields).commit or ""
    return Environment(host, device, format_hardware(fields), platform, version_pairs, commit)


def _command(fields: Mapping[str, Any]) -> str:
    command = fields.get("command")
    return shlex.join(map(str, command)) if isinstance(command, list) else ""


def _patch(fields: Mapping[str, Any]) -> str:
    git = fields.get("git")
    return str(git.get("patch") or "") if isinstance(git, dict) else ""


def _group_runs(by_run: Mapping[str, Key]) -> dict[Key, tuple[str, ...]]:
    groups: dict[Key, tuple[str, ...]] = {}
    for run, key in by_run.items():
        groups[key] = (*groups.get(key, ()), run)
    return groups
