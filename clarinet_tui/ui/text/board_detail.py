"""What the board says in words: what it shows, and everything about the cell under the cursor."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.evidence.export import STATES
from clarinet_tui.evidence.published import SEEDS, method_title
from clarinet_tui.evidence.selection import ORACLE
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_task
from clarinet_tui.ui.text.board_cells import distance_role, format_mean
from clarinet_tui.ui.text.styled import GAP, Span, state_style, styled
from core.presets import PRESETS

if TYPE_CHECKING:
    from clarinet_tui.evidence.board import Board
    from clarinet_tui.evidence.board_cells import Cell, UnfinishedSeed
    from clarinet_tui.evidence.groups import ExcludedRuns
    from clarinet_tui.ui.snapshot.board import BoardSnapshot

MOST_IDS = 6
INVITATION = "No runs yet: dim are the published numbers, yours will stand above them."
FIRST_STEP = "f queues the seeds of the cell under the cursor, F of the whole table; n opens the launch form."


def format_board_header(seen: BoardSnapshot) -> Content:
    """The presets with their runs, the one that is shown marked; how many seeds make a cell complete."""
    parts: list[Span] = [(" Preset ", "muted")]
    names = [*PRESETS, *(name for name in seen.presets if name not in PRESETS)]
    for name in names:
        count = seen.presets.get(name, 0)
        text = f" {name} {count} " if count else f" {name} "
        parts.append((text, "chosen" if name == seen.board.preset else "" if count else "muted"))
    parts += [("   ", ""), (f"{seen.board.seeds}", "strong"), (" seeds each", "muted")]
    if not seen.is_complete:
        parts.append((f"   reading {seen.read} of {seen.runs} runs …", "live"))
    return styled(*parts)


def format_cell_detail(seen: BoardSnapshot, cell: Cell, empty: bool) -> Content:
    """All that is known of a cell, most important first; then what is true of all of them."""
    board = seen.board
    lines = [styled(*_result(cell))]
    if not seen.is_complete:
        lines.append(styled(("Runs are still being read.", "live")))
    elif empty:
        lines += [styled((INVITATION, "strong")), styled((FIRST_STEP, ""))]
    else:
        lines += [styled(*_seeds(cell))] if cell.results or cell.unfinished else []
        lines += [styled(*_missing(cell))] if cell.missing else []
    lines += [styled((name, "warn"), (text, "")) for name, text in _remarks(cell)]
    lines += [styled((sentence, "muted")) for sentence in _conditions(board, cell)]
    lines += [styled(("Left out of the board: ", "warn"), (_left(left), "")) for left in board.excluded]
    return Content("\n").join([*lines, styled(*_legend())])


def _legend() -> Iterator[Span]:
    """What the signs in the tables mean."""
    for state in STATES:
        seen = state_style(state)
        yield f"{seen.sign} ", seen.role
        yield f"{state}  ", "faint"
    yield "… not finished  † mixed  bold is the best of its row  ", "faint"
    yield "-0.5", "good"
    yield " may be chance (95 %)  ", "faint"
    yield "-5.0", "warn"
    yield " hardly", "faint"


def _result(cell: Cell) -> Iterator[Span]:
    yield f"{method_title(cell.method)} {format_task(cell.task)}", "strong"
    yield GAP
    summary, interim = cell.summary, cell.interim_summary
    if summary.mean is not None:
        yield format_mean(summary.mean, summary.std).strip(), "strong"
        yield f"  {len(cell.results)}/{cell.wanted}", "muted"
    elif interim.mean is not None:
        yield f"{format_mean(interim.mean, interim.std).strip()} so far, not finished", "live"
    else:
        yield "no result yet", "muted"
    if cell.published:
        yield GAP
        yield "paper ", "muted"
        yield format_mean(cell.published.mean, cell.published.std).strip(), ""
    if cell.distance:
        yield GAP
        yield f"{cell.distance.difference:+z.2f}", distance_role(cell.distance)
        if interval := cell.distance.interval:
            yield f", 95 % {interval.low:+.2f}…{interval.high:+.2f}", "muted"


def _seeds(cell: Cell) -> list[Span]:
    """Each seed with its run, in their order."""
    sign, role = (finished := state_style(RunState.FINISHED)).sign, finished.role
    found: list[tuple[int | None, list[Span]]] = [
        (figure.seed, [(f" {sign} ", role), (f"{figure.selected.accuracy:.2f}", ""), (f" {figure.run}", "muted")])
        for figure in cell.results
    ]
    found += [(standing.seed, _standing(standing)) for standing in cell.unfinished]
    found.sort(key=lambda one: (one[0] is None, one[0] or 0))
    parts: list[Span] = [("Seeds ", "muted")]
    for place, (seed, told) in enumerate(found):
        parts += [(" · " if place else "", "faint"), ("?" if seed is None else str(seed), "strong"), *told]
    return parts


def _standing(standing: UnfinishedSeed) -> list[Span]:
    """A run that goes on, with what it has reached; another one with its state."""
    seen = state_style(standing.state)
    parts: list[Span] = [(f" {seen.sign} ", seen.role)]
    if standing.selected and standing.state.is_started:
        parts.append((f"{standing.selected.accuracy:.2f}… ", "live"))
        parts.append((f"epoch {standing.epoch or 0}/{standing.epochs_total or '?'} ", "muted"))
    else:
        parts.append((f"{standing.state} ", seen.role))
    return [*parts, (standing.run, "muted")]


def _missing(cell: Cell) -> list[Span]:
    one = len(cell.missing) == 1
    return [
        ("Missing: ", "warn"),
        (f"{'seed' if one else 'seeds'} {format_seeds(cell.missing)}", ""),
        (f": f queues {'it' if one else 'them'}", "muted"),
    ]


def _remarks(cell: Cell) -> Iterator[tuple[str, str]]:
    """What keeps the number from being the last word."""
    for left in cell.excluded:
        yield "Left out: ", _left(left)
    for what in cell.mixed:
        yield "Mixed: ", what
    if cell.changes:
        yield "Settings: ", ", ".join(cell.changes)
    for note in cell.notes:
        yield "Data: ", note


def _conditions(board: Board, cell: Cell) -> Iterator[str]:
    yield from board.conditions
    losses = [figure.selected.regret for figure in cell.results if figure.selected.rule not in ("last", ORACLE)]
    if losses:
        yield f"The oracle would choose epochs that are {fmean(losses):.2f} better here."


def _left(left: ExcludedRuns) -> str:
    more = f" and {len(left.runs) - MOST_IDS} more" if len(left.runs) > MOST_IDS else ""
    return f"{left.reason} ({' '.join(left.runs[:MOST_IDS])}{more})"


def format_seeds(seeds: Sequence[int]) -> str:
    """1 to 5, or 2, 4 and 5."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    words = list(map(str, seeds))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def table_command(board: Board) -> str:
    """What shows the same numbers without the app."""
    words = ["clarinet", "table", *(["--preset", board.preset] if board.preset else [])]
    words += ["--select", board.rule] if board.rule != "last" else []
    words += ["--seeds", str(board.seeds)] if board.seeds != SEEDS else []
    return shlex.join(words)


def cell_query(method: str, task: str, preset: str | None) -> str:
    """Every run that was looked at for a cell, whether it counts or not."""
    fields = {"method": method, "task": task, "preset": preset}
    return " ".join(f"{name}:{_quoted(value)}" for name, value in fields.items() if value)


def latex_file_name(board: Board) -> str:
    selected = "" if board.rule == "last" else f"-{board.rule}"
    return f"board-{board.preset or 'all'}{selected}.tex"


def _quoted(value: str) -> str:
    """As the query language reads it."""
    if not any(sign.isspace() or sign in '()",' for sign in value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
