"""What the board says in words: what it shows, and everything about the cell under the cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.evidence.board_cells import UNDER_WAY
from clarinet_tui.evidence.board_export import STATES
from clarinet_tui.evidence.published import title
from clarinet_tui.evidence.selection import ORACLE
from clarinet_tui.ui.snapshot.state_style import look
from clarinet_tui.ui.text.board_cells import agreement, number
from clarinet_tui.ui.text.run_summary import GAP, Part, said
from clarinet_tui.ui.text.task_name import task_name
from core.presets import PRESETS

if TYPE_CHECKING:
    from clarinet_tui.evidence.board import Board
    from clarinet_tui.evidence.board_cells import Cell, Standing
    from clarinet_tui.evidence.groups import LeftOut
    from clarinet_tui.ui.snapshot.board import BoardSeen

MOST_IDS = 6
INVITATION = "No runs yet: dim are the published numbers, yours will stand above them."
FIRST_STEP = "f queues the seeds of the cell under the cursor, F of the whole table; n opens the launch form."


def head(seen: BoardSeen) -> Content:
    """The presets with their runs, the one that is shown marked; how many seeds make a cell complete."""
    parts: list[Part] = [(" Preset ", "muted")]
    names = [*PRESETS, *(name for name in seen.presets if name not in PRESETS)]
    for name in names:
        count = seen.presets.get(name, 0)
        text = f" {name} {count} " if count else f" {name} "
        parts.append((text, "chosen" if name == seen.board.preset else "" if count else "muted"))
    parts += [("   ", ""), (f"{seen.board.seeds}", "strong"), (" seeds each", "muted")]
    if not seen.whole:
        parts.append((f"   reading {seen.read} of {seen.runs} runs …", "live"))
    return said(*parts)


def detail(seen: BoardSeen, cell: Cell, empty: bool) -> Content:
    """All that is known of a cell, most important first; then what is true of all of them."""
    board = seen.board
    lines = [said(*_result(cell))]
    if not seen.whole:
        lines.append(said(("Runs are still being read.", "live")))
    elif empty:
        lines += [said((INVITATION, "strong")), said((FIRST_STEP, ""))]
    else:
        lines += [said(*_seeds(cell))] if cell.figures or cell.unfinished else []
        lines += [said(*_missing(cell))] if cell.missing else []
    lines += [said((name, "warn"), (text, "")) for name, text in _remarks(cell)]
    lines += [said((sentence, "muted")) for sentence in _conditions(board, cell)]
    lines += [said(("Left out of the board: ", "warn"), (_left(left), "")) for left in board.left_out]
    return Content("\n").join([*lines, said(*_legend())])


def _legend() -> Iterator[Part]:
    """What the signs in the tables mean."""
    for state in STATES:
        seen = look(state)
        yield f"{seen.sign} ", seen.role
        yield f"{state}  ", "faint"
    yield "… not finished  † mixed  bold is the best of its row  ", "faint"
    yield "-0.5", "good"
    yield " may be chance (95 %)  ", "faint"
    yield "-5.0", "warn"
    yield " hardly", "faint"


def _result(cell: Cell) -> Iterator[Part]:
    yield f"{title(cell.method)} {task_name(cell.task)}", "strong"
    yield GAP
    summary, interim = cell.summary, cell.interim
    if summary.mean is not None:
        yield number(summary.mean, summary.std).strip(), "strong"
        yield f"  {len(cell.figures)}/{cell.wanted}", "muted"
    elif interim.mean is not None:
        yield f"{number(interim.mean, interim.std).strip()} so far, not finished", "live"
    else:
        yield "no result yet", "muted"
    if cell.published:
        yield GAP
        yield "paper ", "muted"
        yield number(cell.published.mean, cell.published.std).strip(), ""
    if cell.distance:
        yield GAP
        yield f"{cell.distance.difference:+z.2f}", agreement(cell.distance)
        if interval := cell.distance.interval:
            yield f", 95 % {interval.low:+.2f}…{interval.high:+.2f}", "muted"


def _seeds(cell: Cell) -> list[Part]:
    """Each seed with its run, in their order."""
    sign, role = (finished := look("finished")).sign, finished.role
    found: list[tuple[int | None, list[Part]]] = [
        (figure.seed, [(f" {sign} ", role), (f"{figure.choice.accuracy:.2f}", ""), (f" {figure.run}", "muted")])
        for figure in cell.figures
    ]
    found += [(standing.seed, _standing(standing)) for standing in cell.unfinished]
    found.sort(key=lambda one: (one[0] is None, one[0] or 0))
    parts: list[Part] = [("Seeds ", "muted")]
    for place, (seed, told) in enumerate(found):
        parts += [(" · " if place else "", "faint"), ("?" if seed is None else str(seed), "strong"), *told]
    return parts


def _standing(standing: Standing) -> list[Part]:
    """A run that goes on, with what it has reached; another one with its state."""
    seen = look(standing.state)
    parts: list[Part] = [(f" {seen.sign} ", seen.role)]
    if standing.choice and standing.state in UNDER_WAY:
        parts.append((f"{standing.choice.accuracy:.2f}… ", "live"))
        parts.append((f"epoch {standing.epoch or 0}/{standing.epochs_total or '?'} ", "muted"))
    else:
        parts.append((f"{standing.state} ", seen.role))
    return [*parts, (standing.run, "muted")]


def _missing(cell: Cell) -> list[Part]:
    one = len(cell.missing) == 1
    return [
        ("Missing: ", "warn"),
        (f"{'seed' if one else 'seeds'} {listed(cell.missing)}", ""),
        (f": f queues {'it' if one else 'them'}", "muted"),
    ]


def _remarks(cell: Cell) -> Iterator[tuple[str, str]]:
    """What keeps the number from being the last word."""
    for left in cell.left_out:
        yield "Left out: ", _left(left)
    for what in cell.mixed:
        yield "Mixed: ", what
    if cell.changes:
        yield "Settings: ", ", ".join(cell.changes)
    for note in cell.notes:
        yield "Data: ", note


def _conditions(board: Board, cell: Cell) -> Iterator[str]:
    yield from board.conditions
    losses = [figure.choice.regret for figure in cell.figures if figure.choice.rule not in ("last", ORACLE)]
    if losses:
        yield f"The oracle would choose epochs that are {fmean(losses):.2f} better here."


def _left(left: LeftOut) -> str:
    more = f" and {len(left.runs) - MOST_IDS} more" if len(left.runs) > MOST_IDS else ""
    return f"{left.reason} ({' '.join(left.runs[:MOST_IDS])}{more})"


def listed(seeds: Sequence[int]) -> str:
    """1 to 5, or 2, 4 and 5."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    words = list(map(str, seeds))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
