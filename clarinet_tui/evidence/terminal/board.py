"""The board for a terminal of 80 columns and more."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING

from clarinet_tui.evidence.board import Board, Part
from clarinet_tui.evidence.board_cells import Cell
from clarinet_tui.evidence.board_export import STATES
from clarinet_tui.evidence.board_rows import AVERAGE, Entry, Line, lines, short_name
from clarinet_tui.evidence.groups import LeftOut
from clarinet_tui.evidence.published import title
from clarinet_tui.evidence.selection import ORACLE, Rule
from clarinet_tui.evidence.selections import HEADINGS, MEANINGS, ORDER, TITLE, Selected, texts
from clarinet_tui.evidence.statistics import Distance
from clarinet_tui.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

DECIMALS = 2
LABEL, COLUMN = 11, 13
"""Columns of the terminal for the labels, and for each method."""
ROOMY = 100
"""From this width on there are spaces around ±."""
MOST_IDS = 6


def board_view(board: Board, width: int) -> "RenderableType":
    """Each part as a table, or as several where the terminal is narrow; then what must be said."""
    from rich.console import Group
    from rich.text import Text

    shown: list[RenderableType] = []
    most = max(1, (width - LABEL) // COLUMN)
    for part in board.parts:
        for start in range(0, len(part.methods), most):
            shown += [_table(board, part, slice(start, start + most), width >= ROOMY), Text()]
    told = [(short_name(cell.task), title(cell.method), cell.selections) for cell in board.cells.values()]
    notes = [*board.notes, *_left_out(board)]
    if any(found for _, _, found in told):
        shown += [*selections_view(told, width), Text()]
        notes += [f"{meaning}." for meaning in MEANINGS]
    shown += [Text(f"· {printable(note)}", style="dim") for note in notes]
    return Group(*shown)


def _table(board: Board, part: Part, columns: slice, roomy: bool) -> "Table":
    from rich.table import Table
    from rich.text import Text

    heading = f"{part.title}: target accuracy in %" + (", ORACLE SELECTION" if board.oracle else "")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), title=heading, title_justify="left")
    table.add_column("", no_wrap=True, overflow="ellipsis", max_width=2 * LABEL)
    for method in part.methods[columns]:
        name = Text(printable(title(method)))
        table.add_column(name, justify="right", no_wrap=True, overflow="ellipsis", min_width=COLUMN - 1)
    for label, group in groupby(lines(board, part), key=lambda line: line.label):
        for line in group:
            table.add_row(*_row(line, columns, roomy))
        if label != AVERAGE:
            for words, values in _details([board.cells[method, label] for method in part.methods[columns]]):
                table.add_row(Text(f"  {words}", style="dim"), *(Text(value, style="dim") for value in values))
    return table


def _row(line: Line, columns: slice, roomy: bool) -> "Iterator[Text]":
    from rich.text import Text

    measured = line.kind == "measured"
    yield Text(printable(short_name(line.label)), style="bold") if measured else Text("  paper", style="dim")
    for entry in line.entries[columns]:
        style = ("bold green" if entry.best else "") if measured else "dim"
        count = entry.count if line.label == AVERAGE else ""  # seeds have a line of their own
        yield Text(_entry(entry, measured, roomy) + (f" {count}" if count else ""), style=style)


def _entry(entry: Entry, measured: bool, roomy: bool) -> str:
    if entry.mean is None:
        return "–" if measured else ""
    return entry.text(DECIMALS, " ± " if roomy else "±") + ("†" if entry.mixed else "")


def _details(cells: Sequence[Cell]) -> Iterator[tuple[str, list[str]]]:
    """Lines under a task, those that say something."""
    found: dict[str, list[str]] = {
        "distance": [_distance(cell.distance) for cell in cells],
        "95 %": [_interval(cell.distance) for cell in cells],
        "to oracle": [_to_oracle(cell) for cell in cells],
        "seeds": [f"{len(cell.figures)}/{cell.wanted}" if cell.states else "" for cell in cells],
    }
    found |= {state: [str(cell.states.get(state, "")) for cell in cells] for state in STATES}
    yield from ((words, values) for words, values in found.items() if any(values))


def _distance(distance: Distance | None) -> str:
    return "" if distance is None else f"{distance.difference:+.{DECIMALS}f}"


def _interval(distance: Distance | None) -> str:
    interval = distance.interval if distance else None
    return "" if interval is None else f"{interval.low:+.1f}…{interval.high:+.1f}"


def _to_oracle(cell: Cell) -> str:
    """How many points a rule loses that does not look at target labels; of the last epoch nobody asks."""
    losses = [figure.choice.regret for figure in cell.figures if figure.choice.rule not in ("last", ORACLE)]
    return f"{0.0 - fmean(losses):.{DECIMALS}f}" if losses else ""


def selections_view(told: Sequence[tuple[str, str, Mapping[Rule, Selected]]], width: int) -> "Iterator[RenderableType]":
    """Task, method and what each rule reports of its runs; in several tables where the terminal is narrow."""
    from rich.table import Table
    from rich.text import Text

    names, each = sum(max(len(row[place]) for row in told) + 1 for place in (0, 1)), 2 * LABEL
    roomy = width >= names + len(ORDER) * each
    most = len(ORDER) if roomy else max(1, (width - names) // (COLUMN + 2))
    for start in range(0, len(ORDER), most):
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), title=TITLE, title_justify="left")
        table.add_column("")
        table.add_column("")
        for rule in ORDER[start : start + most]:
            table.add_column(HEADINGS[rule], justify="right", no_wrap=True, min_width=COLUMN)
        for task, method, found in told:
            if found:
                numbers = texts(found, DECIMALS, " ± " if roomy else None)[start : start + most]
                table.add_row(*(Text(printable(word)) for word in (task, method, *numbers)))
        yield table


def _left_out(board: Board) -> list[str]:
    return [f"left out: {place}{left.reason} ({_ids(left)})" for place, left in board.not_counted]


def _ids(left: LeftOut) -> str:
    more = f" and {len(left.runs) - MOST_IDS} more" if len(left.runs) > MOST_IDS else ""
    return " ".join(left.runs[:MOST_IDS]) + more
