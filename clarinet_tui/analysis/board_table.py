"""The board as tables and notes, in every format: terminal, Markdown, LaTeX, CSV and JSON.

The app and the report lay out the same tables in their own way.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from clarinet_tui.analysis.published import LATEX_TITLES, method_title, published_average
from clarinet_tui.analysis.selection import (
    ORACLE,
    RULE_HEADINGS,
    RULE_NOTES,
    RULE_ORDER,
    RULES_TITLE,
    describe_rule,
    format_rules,
    rule_columns,
)
from clarinet_tui.analysis.statistics import Summary
from clarinet_tui.runs.state import RunState
from clarinet_tui.tables import writers
from clarinet_tui.tables.table import Cell, Column, Row, Table, make_table
from clarinet_tui.text import format_count, format_mean, format_task, printable
from core.tasks import DOMAINS, PAPER_TASKS

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clarinet_tui.analysis.board import Board, BoardCell, MethodTable

Details = Literal["rows", "notes"]
STATES = (RunState.RUNNING, RunState.QUEUED, RunState.FAILED, RunState.STOPPED, RunState.LOST, RunState.SILENT)
"""Columns for seeds that have no finished run; a starting run counts as running."""
AVERAGE = "Average"
MAX_VARIANTS = 12
"""Rows for variants below a task; the others are counted in a note."""
DECIMALS, DOCUMENT_DECIMALS = 2, 3
LABEL, COLUMN = 11, 13
"""Width of the labels, and of each method, on a terminal."""
WIDE = 100
"""Terminal width from which ± is set off by spaces."""
LATEX_PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage[margin=2cm]{geometry}
\usepackage{booktabs}
\begin{document}
"""


def board_table(
    board: Board,
    part: MethodTable,
    *,
    decimals: int = DECIMALS,
    plus_minus: str = " ± ",
    published: str = "published",
    details: Details | None = None,
) -> Table:
    """Return a measured and a published row for each task with runs or published results, then the averages.

    The value of a label is the task, that of a result its `Summary`. `published` is the label of published rows, with
    {} for the task. Details are the distance to the published mean, the seeds and the states: as rows, or in notes.
    """

    def result(summary: Summary, *, emphasis: str = "", note: str = "") -> Cell:
        text = format_mean(summary.mean, summary.std, decimals, plus_minus)
        return Cell(text if summary.mean is not None or emphasis != "muted" else "", emphasis, note, summary)

    def measured(cell: BoardCell, best: frozenset[str]) -> Cell:
        if not cell.results:
            states = [f"{count} {state}" for state, count in cell.states.items()] if details == "notes" else []
            return Cell(", ".join(states) or "–", "faint" if details == "notes" else "", value=cell.summary)
        count = "" if details == "rows" or len(cell.results) == cell.wanted else f"{len(cell.results)}/{cell.wanted}"
        note = " · ".join(filter(None, (count, _format_distance(cell)))) if details == "notes" else count
        emphasis = "best" if cell.method in best else ""
        return result(cell.summary, emphasis=emphasis, note=note)

    rows = []
    is_published = any(published_average(method) is not None for method in part.methods)
    for task in board.tasks:
        cells = [board.cells[method, task] for method in part.methods]
        if not (task in PAPER_TASKS and is_published) and not any(cell.states or cell.excluded for cell in cells):
            continue
        best = board.best(task, part.methods)
        rows.append(Row((_label(task), *(measured(cell, best) for cell in cells)), "measured"))
        if any(cell.published for cell in cells):
            means = (cell.published or Summary(0) for cell in cells)
            label = Cell(published.format(format_task(task)), "faint", value=task)
            rows.append(Row((label, *(result(mean, emphasis="muted") for mean in means)), "published"))
        if details == "rows":
            for name, texts in _detail_rows(cells):
                detail = Cell(f"  {name}", "muted", value=task)
                rows.append(Row((detail, *(Cell(text, "muted") for text in texts)), "detail"))
        for name, mark in _variants_of(board, cells)[:MAX_VARIANTS]:
            variants = (next((other for other in cell.others if other.variant == name), None) for cell in cells)
            shown = (measured(one, frozenset()) if one else Cell("", value=Summary(0)) for one in variants)
            rows.append(Row((Cell(f"  ({mark})", "muted", value=task), *shown), "variant"))
    averages: dict[str, list[Cell]] = {"measured": [], "published": []}
    best = board.best_average(part.methods)
    for method in part.methods:
        average = board.averages.get(method)
        tasks = len(average.tasks) if average else len(PAPER_TASKS)
        count = "" if tasks == len(PAPER_TASKS) else f"{tasks}/{len(PAPER_TASKS)}"
        mean, paper = (average.mean, average.published) if average else (None, published_average(method))
        emphasis = "best" if method in best else ""
        averages["measured"].append(result(Summary(0, mean), emphasis=emphasis, note=count))
        averages["published"].append(result(Summary(0, paper), emphasis="muted", note="" if paper is None else count))
    has_paper = any(cell.value.mean is not None for cell in averages["published"])
    if has_paper or any(cell.value.mean is not None for cell in averages["measured"]):
        rows.append(Row((_label(AVERAGE), *averages["measured"]), "measured", starts_block=True))
    if has_paper:
        rows.append(Row((Cell(published.format(AVERAGE), "faint", value=AVERAGE), *averages["published"]), "published"))
    columns = (Column(method_title(method), right=True, latex=LATEX_TITLES.get(method, "")) for method in part.methods)
    return make_table([Column("Task", most=2 * LABEL), *columns], rows, part.title)


def _variants_of(board: Board, cells: Sequence[BoardCell]) -> list[tuple[str, str]]:
    """Return the names and marks of the variants that have rows below a task."""
    names = {other.variant for cell in cells for other in cell.others}
    return [(name, mark) for name, mark in board.variant_marks.items() if name in names]


def variant_notes(board: Board, part: MethodTable) -> list[str]:
    """Describe the rows of variants, and count those without a row."""
    notes = board.variant_notes(part.methods)
    for task in board.tasks:
        more = len(_variants_of(board, [board.cells[method, task] for method in part.methods])) - MAX_VARIANTS
        if more > 0:
            counted = format_count(more, "variant")
            notes.append(f"{format_task(task)}: {counted} more; a query shows fewer, `clarinet plot setting` all")
    return notes


def _label(task: str) -> Cell:
    source, arrow, target = task.partition("->")
    is_known = arrow and source in DOMAINS and target in DOMAINS
    latex = rf"${source} \rightarrow {target}$" if is_known else ""
    return Cell(format_task(task), "label", value=task, latex=latex)


def _detail_rows(cells: list[BoardCell]) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows below a task that have a value for any method."""
    distances = [cell.distance for cell in cells]
    intervals = [distance.interval if distance else None for distance in distances]
    details: dict[str, list[str]] = {
        "distance": [f"{distance.difference:+.{DECIMALS}f}" if distance else "" for distance in distances],
        "95 %": [f"{interval.low:+.1f}…{interval.high:+.1f}" if interval else "" for interval in intervals],
        "to oracle": [
            "" if (regret := mean_regret(cell)) is None else f"{0.0 - regret:.{DECIMALS}f}" for cell in cells
        ],
        "seeds": [f"{len(cell.results)}/{cell.wanted}" if cell.states else "" for cell in cells],
        **{state: [str(cell.states.get(state, "")) for cell in cells] for state in STATES},
    }
    yield from ((name, texts) for name, texts in details.items() if any(texts))


def mean_regret(cell: BoardCell) -> float | None:
    """Return how far the cell's runs are below the oracle, for rules other than the last epoch."""
    selected = (result.selected for result in cell.results)
    regrets = [epoch.regret for epoch in selected if epoch and epoch.rule not in ("last", ORACLE)]
    return fmean(regrets) if regrets else None


def _format_distance(cell: BoardCell) -> str:
    if cell.distance is None:
        return ""
    interval = cell.distance.interval
    between = f" ({interval.low:+.1f} to {interval.high:+.1f})" if interval else ""
    return f"{cell.distance.difference:+.{DECIMALS}f}{between} to published"


def rule_table(board: Board, decimals: int = DECIMALS, plus_minus: str | None = " ± ") -> Table | None:
    """Return the same runs under each selection rule, for every cell that has them."""
    rows = [
        (
            _label(cell.task),
            Cell(f"{method_title(cell.method)} {cell.variant}".strip(), latex=_latex_name(cell)),
            *format_rules(cell.rules, decimals, plus_minus),
        )
        for cell in board.all_cells()
        if cell.rules
    ]
    columns = (Column(RULE_HEADINGS[rule], right=True) for rule in RULE_ORDER)
    return make_table(["Task", "Method", *columns], rows, RULES_TITLE) if rows else None


def _latex_name(cell: BoardCell) -> str:
    return "" if cell.variant else LATEX_TITLES.get(cell.method, "")


def run_notes(board: Board) -> list[str]:
    """List the counted runs of each variant."""
    cells = [cell for cell in board.all_cells() if cell.results]
    return [
        f"{' '.join(filter(None, (cell.task, cell.method, cell.variant)))}: {' '.join(cell.runs)}" for cell in cells
    ]


def excluded_notes(board: Board, *, maximum_ids: int | None = None) -> list[str]:
    """List the runs that are not counted, with the reason."""
    cells = [(f"{cell.task} {cell.method}: ", runs) for cell in board.all_cells() for runs in cell.excluded]
    excluded = [*(("", runs) for runs in board.excluded), *cells]
    return [f"excluded: {prefix}{runs.text(maximum_ids)}" for prefix, runs in excluded]


def board_view(board: Board, width: int) -> RenderableType:
    """Return each table for a terminal, split in several where it is narrow, then the notes."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    oracle = ", ORACLE SELECTION" if board.uses_oracle else ""
    plus_minus = " ± " if width >= WIDE else "±"
    for part in board.tables:
        table = board_table(board, part, plus_minus=plus_minus, published="  paper", details="rows")
        for shown in table.split(max(1, (width - LABEL) // COLUMN)):
            title = Text(f"{part.title}: target accuracy in %{oracle}", style="italic")
            parts += [title, writers.to_rich(shown, gap=1, least=COLUMN - 1), Text()]
    variants = dict.fromkeys(note for part in board.tables for note in variant_notes(board, part))
    notes = [*variants, *board.notes, *excluded_notes(board, maximum_ids=6)]
    if rules := rule_table(board, plus_minus=None):
        labels = sum(rules.width_of(at) + 1 for at in (0, 1))
        is_wide = width >= labels + len(RULE_ORDER) * 2 * LABEL
        rules = (is_wide and rule_table(board)) or rules
        for shown in rules.split(len(RULE_ORDER) if is_wide else (width - labels) // (COLUMN + 2), labels=2):
            parts += [Text(RULES_TITLE, style="italic"), writers.to_rich(shown, gap=1, least=COLUMN)]
        parts.append(Text())
        notes += [f"{note}." for note in RULE_NOTES]
    return Group(*parts, *(Text(f"· {printable(note)}", style="dim") for note in notes))


def to_markdown(board: Board) -> str:
    """Return the tables, then the notes, and in a comment the runs of each number."""
    oracle = " (oracle selection)" if board.uses_oracle else ""
    tables = [board_table(board, part, decimals=DOCUMENT_DECIMALS, published="{}, published") for part in board.tables]
    sections = [writers.to_markdown(Table(table.columns, table.rows, table.title + oracle)) for table in tables]
    variants = dict.fromkeys(note for part in board.tables for note in variant_notes(board, part))
    notes = [
        *variants,
        *board.notes,
        f"Mean ± sample standard deviation over seeds; a complete cell has {board.seeds} seeds.",
    ]
    if rules := rule_table(board, DOCUMENT_DECIMALS):
        sections.append(writers.to_markdown(rules))
        notes += [f"{note}." for note in RULE_NOTES]
    notes += excluded_notes(board)
    sections.append("\n".join(f"- {writers.escape_markdown(note)}" for note in notes))
    if runs := [printable(note).replace("--", "- -") for note in run_notes(board)]:
        sections.append("\n".join(["<!-- runs", *runs, "-->"]))
    return "\n\n".join(sections) + "\n"


def to_latex(board: Board, *, standalone: bool = False) -> str:
    """Return a table for each part of the board; `standalone` makes a document that compiles by itself.

    Comments name the query, the counted runs and the excluded runs.
    """
    comments = ["needs \\usepackage{booktabs}", f"query: {board.query or 'all runs'}; preset: {board.preset or 'all'}"]
    comments += [*(f"runs: {note}" for note in run_notes(board)), *excluded_notes(board)]
    tables = []
    for part in board.tables:
        table = board_table(board, part, decimals=DOCUMENT_DECIMALS, plus_minus="±", published="  published")
        text = f"{part.title}: target accuracy in percent, mean ± standard deviation over {board.seeds} seeds"
        caption = f"{text} (or the number in brackets). {' '.join(board.conditions)}"
        notes = [*variant_notes(board, part), *board.remarks(part.methods)]
        tables.append(writers.to_latex(Table(table.columns, table.rows, caption), notes))
    if rules := rule_table(board, DOCUMENT_DECIMALS, "±"):
        caption = f"{RULES_TITLE}. Target accuracy in percent; {'; '.join(RULE_NOTES)}."
        tables.append(writers.to_latex(Table(rules.columns, rules.rows, caption)))
    body = "".join(f"% {printable(line)}\n" for line in comments) + "\n".join(tables)
    return f"{LATEX_PREAMBLE}{body}\\end{{document}}\n" if standalone else body


def to_csv(board: Board) -> str:
    """Return a line for each cell; lists within a field are separated by spaces, sentences by semicolons."""
    rows = [cell_columns(board, cell) for cell in board.all_cells()]
    written = io.StringIO()
    writers.write_csv(written, list(rows[0]), rows)
    return written.getvalue()


def cell_columns(board: Board, cell: BoardCell) -> dict[str, Any]:
    interval = cell.distance.interval if cell.distance else None
    return {
        "task": cell.task,
        "method": cell.method,
        "title": method_title(cell.method),
        "variant": cell.variant,
        "table": board.table_of(cell.method).kind,
        "mean": cell.summary.mean,
        "std": cell.summary.std,
        "seeds": len(cell.results),
        "wanted": cell.wanted,
        **{state: cell.states.get(state, 0) for state in STATES},
        "missing": len(cell.missing),
        "published_mean": cell.published.mean if cell.published else None,
        "published_std": cell.published.std if cell.published else None,
        "distance": cell.distance.difference if cell.distance else None,
        "distance_low": interval.low if interval else None,
        "distance_high": interval.high if interval else None,
        "best": board.is_best(cell),
        "selection": board.rule,
        "oracle": board.uses_oracle,
        **rule_columns(cell.rules),
        "preset": board.preset,
        "changes": "; ".join(cell.changes),
        "notes": "; ".join(cell.notes),
        "commits": " ".join(cell.commits),
        "runs": " ".join(cell.runs),
        "excluded": " ".join(run for group in cell.excluded for run in group.runs),
    }


def to_json(board: Board) -> str:
    """Return everything that the board has."""
    cells = [
        {
            **msgspec.to_builtins(replace(cell, others=())),
            "title": method_title(cell.method),
            "table": board.table_of(cell.method).kind,
            "best": board.is_best(cell),
            "complete": cell.is_complete,
            "runs": cell.runs,
        }
        for cell in board.all_cells()
    ]
    fields = {
        "selection": board.rule,
        "selection_means": describe_rule(board.rule),
        "oracle": board.uses_oracle,
        "preset": board.preset,
        "query": board.query,
        "seeds": board.seeds,
        "notes": board.notes,
        "tables": [{"title": table.title, "methods": table.methods} for table in board.tables],
        "tasks": board.tasks,
        "cells": cells,
        "averages": board.averages,
        "excluded": board.excluded,
    }
    return msgspec.json.format(msgspec.json.encode(fields)).decode() + "\n"
