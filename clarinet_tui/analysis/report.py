"""A report on the runs that match a query: one self-contained HTML file without network access, scripts or fonts."""

import base64
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from operator import attrgetter
from typing import Any

from clarinet_tui.analysis.board import Board, make_board
from clarinet_tui.analysis.board_table import (
    AVERAGE,
    board_table,
    excluded_notes,
    rule_table,
    run_notes,
    variant_notes,
)
from clarinet_tui.analysis.choices import COMPARED_FAMILIES, RULES, Rule
from clarinet_tui.analysis.comparison import PairedDifference, compare_queries, make_sides
from clarinet_tui.analysis.comparison_table import (
    INTERIM,
    format_correction,
    format_difference,
    format_refused,
    pair_table,
    setting_table,
    side_table,
)
from clarinet_tui.analysis.figures.figure import ConfusionMatrix, Figure, calibration_figure, features_figure
from clarinet_tui.analysis.figures.kinds import (
    accuracy_figure,
    classes_figure,
    confusion_figure,
    losses_figure,
    runs_of_board,
)
from clarinet_tui.analysis.figures.matplotlib_output import COLUMN, DARK, PRINT, Theme, render_figure
from clarinet_tui.analysis.published import SEEDS, method_title
from clarinet_tui.analysis.run_records import RunRecord, RunRecords
from clarinet_tui.analysis.selection import ORACLE, RULE_DESCRIPTIONS, RULE_NOTES, SelectedEpoch
from clarinet_tui.runs.annotations import read_creating_command
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import Environment, describe_environment, read_environment
from clarinet_tui.runs.inspection_file import GROUP_TITLES, Picture, read_inspection
from clarinet_tui.tables.table import Cell, Table, make_table
from clarinet_tui.tables.writers import html_templates
from clarinet_tui.text import (
    JOULES_PER_KWH,
    format_count,
    format_duration,
    format_mean,
    format_seed,
    format_setting,
    format_task,
    is_valid_time,
)
from core.config import RunConfig, Tag, in_order, settings_tagged
from core.errors import InputError

HEADERS: dict[Rule, str] = {
    "last": "last %",
    "best": "best % (oracle)",
    "risk": "risk %",
    "information": "information %",
}
PLACEHOLDER_THEME = Theme(
    foreground="#fe0190",
    faint="#fe0191",
    background="#fe0192",
    lines=tuple(f"#fe01{index:02d}" for index in range(len(PRINT.lines))),
)
"""Placeholder colours that are replaced by CSS variables, which follow the browser's light or dark theme."""
VARIABLES = {"90": "foreground", "91": "faint", "92": "background"}
VARIABLES |= {f"{index:02d}": f"line{index}" for index in range(len(PRINT.lines))}
MAXIMUM_INSPECTIONS = 6
"""Each has hundreds of kilobytes of pictures and points."""


def make_report(
    reader: RunRecords,
    query: str = "",
    *,
    title: str,
    written: float,
    host: str,
    command_of: Callable[[RunConfig], str],
    rule: Rule = "last",
    preset: str | None = None,
    typed: bool = False,
    patches: bool = False,
    seeds: int = SEEDS,
    hosts: bool = True,
) -> str:
    """Return the HTML page; board and figures cover one preset, the other sections all matching runs.

    What is empty has no section. `command_of` makes the command line that repeats a run. Original command lines
    (`typed`) and uncommitted changes (`patches`) may contain private values.
    """
    records = reader.search(query)
    if not records:
        problem = f"no run matches {query!a}" if query else "there are no runs"
        raise InputError(f"report: {problem}: `clarinet ls` lists runs")
    board = make_board(reader, query, rule=rule, preset=preset, seeds=seeds)
    if not hosts:  # for a public page
        host, records = "", [replace(record, row=replace(record.row, host=None)) for record in records]
    runs = [RunDirectory(reader.runs_dir, record.row.id) for record in records]
    recorded = {run.id: describe_environment(fields) for run in runs if (fields := read_environment(run))}
    commands = {}
    for record in records:
        with suppress(InputError):  # a plug-in that is not installed
            if record.config:
                commands[record.row.id] = command_of(record.config)
    command_lists = {
        "commands": commands,
        "absent": [run.id for run in runs if run.id not in commands],
        "typed": _typed_commands(runs, recorded) if typed else {},
    }
    page = (
        html_templates("clarinet_tui.analysis")
        .get_template("report.html")
        .render(
            title=title,
            summary=_summary(records, query, host, written),
            light=_variables(PRINT),
            dark=_variables(DARK),
            sections=[
                ("board", "Board", _board(board)),
                ("comparison", "One step against two", _comparison(reader, records, query, rule)),
                ("figures", "Figures", list(map(_figure, _figures(reader, board)))),
                ("models", "Inside the models", list(_inspected(reader, records))),
                ("runs", "Runs", _runs(records)),
                ("settings", "Settings", _settings(records)),
                ("environments", "Environments", _environments(recorded, hosts=hosts, patches=patches)),
                ("commands", "Commands to repeat the runs", command_lists),
            ],
        )
    )
    return f"{page.lstrip()}\n"


def _figures(reader: RunRecords, board: Board) -> list[Figure]:
    try:
        runs = runs_of_board(reader, board)
    except InputError:  # no run of this preset has readable settings
        return []
    figures = (
        accuracy_figure(reader, runs),
        losses_figure(reader, runs),
        confusion_figure(reader, runs),
        classes_figure(reader, runs),
    )
    return [figure for figure in figures if figure.panels]


def _summary(records: Sequence[RunRecord], query: str, host: str, written: float) -> list[str]:
    rows = [record.row for record in records]
    states = ", ".join(f"{count} {state}" for state, count in Counter(row.state for row in rows).most_common())
    hosts = sorted({row.host for row in rows if row.host})
    matching = f" matching {query}" if query else ""
    days = sorted({_format_utc(row.created, "%Y-%m-%d") for row in rows})
    on = f" on {host}" if host else ""
    created = f"Created on {days[0]}" if len(days) == 1 else f"Created from {days[0]} to {days[-1]}"
    return [
        f"{format_count(len(rows), 'run')}{matching}: {states}.",
        created + (f" on {', '.join(hosts)}." if hosts else "."),
        f"Written {_format_utc(written, '%Y-%m-%d %H:%M UTC')}{on} by clarinet {version('clarinet-tui')}.",
    ]


def _format_utc(timestamp: float, pattern: str) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime(pattern) if is_valid_time(timestamp) else "invalid time"


def _variables(theme: Theme) -> str:
    """Return the theme's colours as variables of CSS; printing always uses the light theme."""
    variables = {"foreground": theme.foreground, "faint": theme.faint, "background": theme.background}
    variables |= {f"line{index}": colour for index, colour in enumerate(theme.lines)}
    return " ".join(f"--{name}: {colour};" for name, colour in variables.items())


def _board(board: Board) -> dict[str, Any]:
    """Show only tasks and methods with runs, unlike the paper's own table."""
    oracle = " (ORACLE SELECTION: epochs selected by target labels)" if board.uses_oracle else ""
    tables, shown = [], set[str]()
    for part in board.tables:
        cells = [cell for (method, _), cell in board.cells.items() if method in part.methods and cell.states]
        if any(cell.method not in shown for cell in cells):  # CLARINET is in the table of ablations, too
            tasks = {AVERAGE, *(cell.task for cell in cells)}
            table = board_table(board, part, details="notes")
            rows = tuple(row for row in table.rows if row.cells[0].value in tasks)
            title = f"{part.title}: target accuracy in %, mean ± std over seeds{oracle}"
            tables.append(Table(table.columns, rows, title))
        shown |= set(part.methods)
    variants = dict.fromkeys(note for part in board.tables for note in variant_notes(board, part))
    return {
        "tables": tables,
        "notes": [*variants, *board.notes],
        "rules": rule_table(board),
        "rule_notes": [f"{note}." for note in RULE_NOTES],
        "excluded": excluded_notes(board),
        "runs": run_notes(board),
    }


def _comparison(reader: RunRecords, records: Sequence[RunRecord], query: str, rule: Rule) -> dict[str, Any] | None:
    """Show the sides of each task, then each difference folded under its result; None without both families."""
    if not set(COMPARED_FAMILIES) <= {record.row.family for record in records}:
        return None
    comparison = compare_queries(reader, query, query, rule=rule)
    if not comparison.differences:
        return None
    tasks = []
    for task in dict.fromkeys(difference.left.task for difference in comparison.differences):
        differences = [difference for difference in comparison.differences if difference.left.task == task]
        measured = [one for one in differences if one.left.accuracy.n and one.right.accuracy.n]
        waiting = len(differences) - len(measured)
        sides = [side for side in comparison.sides if side.task == task]
        tasks.append(
            {
                "sides": side_table(sides, " ± ", format_task(task)),
                "differences": list(map(_difference, measured)),
                "waiting": format_count(waiting, "comparison") if waiting else "",
            }
        )
    correction = format_correction(comparison)
    unmatched = comparison.unmatched
    return {"rule": comparison.rule_description, "correction": correction, "tasks": tasks, "unmatched": unmatched}


def _difference(difference: PairedDifference) -> dict[str, Any]:
    left, right = difference.left.title, difference.right.title
    first, *others = format_difference(difference)
    preset = f" ({difference.left.preset})" if difference.left.preset else ""
    interim = f" – {INTERIM}" if difference.is_interim else ""
    return {
        "summary": f"{left} minus {right}{preset}: {first}{interim}",
        "sentences": [*others, *format_refused(difference)],
        "cautions": [f"caution: {caution}" for caution in difference.cautions],
        "pairs": pair_table(difference),
        "settings": setting_table(difference, "Settings that differ"),
    }


def _figure(figure: Figure, prefix: str = "") -> dict[str, Any]:
    """Render each panel as a separate image, so that a narrow screen shows them below each other.

    `prefix` makes the ids of elements differ from those of another figure of the same name.
    """
    from markupsafe import Markup  # with jinja2, which takes a while to import

    panels: list[Any] = []
    for index, panel in enumerate(figure.panels):
        if isinstance(panel, ConfusionMatrix):
            panels.append(panel)
            continue
        alone = replace(figure, panels=(panel,))
        salt = f"{prefix}{figure.name}{index}"  # element ids must differ between images
        svg = render_figure(alone, "svg", width=COLUMN, theme=PLACEHOLDER_THEME, salt=salt, real_text=True)
        text = svg.decode()
        header = re.match(r'.*?<svg [^>]*viewBox="([^"]*)"[^>]*>', text, re.DOTALL)
        assert header is not None, "matplotlib writes a viewBox"
        # Without global style, group ids, font and extra digits.
        body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text[header.end() :], flags=re.DOTALL)
        body = re.sub(r"""(?<=<g) id="[^"]*"|font-family: '[^';]*'; |(?<=<use )xlink:(?=href)""", "", body)
        body = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+|\n", r"\1", path[0]), body)
        body = re.sub(r"(?<=: )#fe01(\d\d)", lambda index: f"var(--{VARIABLES[index[1]]})", body)
        panels.append({"box": header[1], "svg": Markup(body), "label": f"{figure.title}: {panel.title}"})
    return {"title": figure.title, "panels": panels, "notes": figure.notes}


def _inspected(reader: RunRecords, records: Sequence[RunRecord]) -> Iterator[dict[str, Any]]:
    """Show the latest runs that `clarinet inspect` has inspected: figures of the model first, then pictures."""
    latest = sorted((record.row for record in records), key=attrgetter("created"), reverse=True)
    read = ((row, read_inspection(RunDirectory(reader.runs_dir, row.id))) for row in latest)
    found = ((row, inspection) for row, inspection in read if inspection)
    for number, (row, inspection) in enumerate(islice(found, MAXIMUM_INSPECTIONS)):
        figures = []
        if inspection.calibration:
            figures.append(calibration_figure("", inspection.calibration))
        if inspection.maps:
            figures.append(features_figure(row.id, inspection.classes, inspection.maps, "PCA"))
        groups = [
            (title, [_picture(picture) for picture in inspection.pictures if picture.group == group])
            for group, title in GROUP_TITLES.items()
        ]
        yield {
            "title": f"{format_task(row.task)} {method_title(row.method or '?')} {row.id}, epoch {inspection.epoch}",
            "figures": [_figure(figure, f"inspected{number}") for figure in figures],
            "groups": [(title, pictures) for title, pictures in groups if pictures],
        }


def _picture(picture: Picture) -> dict[str, Any]:
    from PIL import Image

    buffer = io.BytesIO()
    Image.frombytes("RGB", (picture.width, picture.height), picture.pixels).save(buffer, "PNG")
    source = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
    return {"source": source, "captions": picture.captions, "width": picture.width}


def _runs(records: Sequence[RunRecord]) -> dict[str, Any]:
    columns = ["Run", "state", "method", "task", "seed", "preset", *(HEADERS[rule] for rule in RULES)]
    columns += ["source %", "pseudo-labels %", "epoch", "time", "kWh", "device and host", "notes"]
    notes = [f"{HEADERS[rule]}: {RULE_DESCRIPTIONS[rule]}" for rule in RULES]
    notes.append("Below each: the epoch and its difference from the oracle in points.")
    energies = [record.row.energy for record in records if record.row.energy is not None]
    if energies:  # a GPU that runs share is divided among them
        total = f"kWh: energy of the GPUs, {sum(energies) / JOULES_PER_KWH:.3f} in all"
        notes.append(f"{total}, for {len(energies)} of {format_count(len(records), 'run')}.")
    return {"table": make_table(columns, map(_run_cells, records)), "notes": notes}


def _run_cells(record: RunRecord) -> list[Any]:
    run, shared = record.row, record.shared
    notes = {
        "error": run.error,
        "name": run.name,
        "tags": ", ".join(run.tags),
        "note": run.note,
        "data": "; ".join(run.notes),
        "stage 1 of": shared.origin or "unknown" if shared else None,
    }
    return [
        run.id,
        Cell(run.state, f"state {run.state}"),
        run.method or "?",
        format_task(run.task),
        format_seed(run.seed),
        run.preset or "?",
        *(_selected(record.selected.get(rule)) for rule in RULES),
        format_mean(run.source_accuracy),
        format_mean(run.pseudo_label_accuracy),
        f"{run.epoch or 0}/{run.epochs_total or '?'}",
        "–" if record.seconds is None else format_duration(record.seconds),
        "–" if run.energy is None else f"{run.energy / JOULES_PER_KWH:.3f}",
        " on ".join(filter(None, (run.hardware or run.device, run.host))),
        Cell(parts=tuple((f"{name}: {value}", f"detail {name}") for name, value in notes.items() if value)),
    ]


def _selected(selected: SelectedEpoch | None) -> Cell:
    if selected is None:
        return Cell("–")
    difference = "" if selected.rule == ORACLE else f" · {0.0 - selected.regret:.2f}"
    return Cell(f"{selected.accuracy:.2f}", note=f"epoch {selected.epoch}{difference}")


def _settings(records: Sequence[RunRecord]) -> dict[str, Any]:
    """Return the settings that differ, by protocol, and the equal ones."""
    read = {record.row.id: record for record in records if record.config}
    names = in_order({name for record in read.values() for name in record.row.settings} - settings_tagged(Tag.IDENTITY))
    always_used = settings_tagged(Tag.NO_EFFECT, Tag.ROUNDING)
    values = {  # None for a setting that the method does not use
        name: {
            run: attrgetter(name)(record.config) if name in always_used else (record.settings or {}).get(name)
            for run, record in read.items()
        }
        for name in names
    }
    distinct = {name: {*by_run.values()} - {None} for name, by_run in values.items()}
    differing = [name for name in names if len(distinct[name]) > 1]
    sides = [side for side in make_sides(records) if side.settings is not None]
    columns = ["Setting", *(f"{format_task(side.task)} {side.title} ({side.preset})" for side in sides)]
    rows = []
    for name in differing:
        by_side = ([values[name][run.run] for run in side.runs] for side in sides)
        rows.append([name, *(", ".join(dict.fromkeys(map(format_setting, found))) for found in by_side)])
    equal = [(name, *map(format_setting, distinct[name])) for name in names if len(distinct[name]) == 1]
    return {
        "table": make_table(columns, rows, "Settings that differ between runs") if rows else None,
        "equal": make_table(["Setting", "value"], equal) if read else None,
        "unread": [record.row.id for record in records if record.row.id not in read],
    }


def _typed_commands(runs: Sequence[RunDirectory], recorded: Mapping[str, Environment]) -> dict[str, str]:
    """Return the command that created each run, or else that of its process."""
    ran = {run: environment.command for run, environment in recorded.items()}
    commands = {run.id: read_creating_command(run) or ran.get(run.id, "") for run in runs}
    return {run: command for run, command in commands.items() if command}


def _environments(recorded: Mapping[str, Environment], *, hosts: bool, patches: bool) -> dict[str, Any] | None:
    """Group the runs by machine and software, and by uncommitted changes."""
    machines: dict[tuple[str, ...], list[str]] = {}
    changes: dict[str, list[str]] = {}
    for run, one in recorded.items():
        versions = ", ".join(f"{name} {version}" for name, version in one.versions)
        machine = (one.host if hosts else "", one.device, one.hardware, one.platform, versions, one.short_commit)
        machines.setdefault(tuple(text or "–" for text in machine), []).append(run)
        if patches and one.patch:
            changes.setdefault(one.patch, []).append(run)
    columns = ["Host", "device", "hardware", "platform", "versions", "git commit", "runs"]
    rows = [(*machine, Cell(f"{len(runs)}: {' '.join(runs)}", "detail")) for machine, runs in machines.items()]
    has_changes = any("+" in commit for *_, commit in machines)
    content = {"table": make_table(columns, rows), "has_changes": has_changes, "patches": changes}
    return content if rows else None
