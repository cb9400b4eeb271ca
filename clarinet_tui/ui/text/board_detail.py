"""The board's header, the detail of one cell, and the matching command, query and file name."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.analysis.board_table import STATES, mean_regret
from clarinet_tui.analysis.published import SEEDS, method_title
from clarinet_tui.history.query_language import quote_value
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_mean, format_seed, format_task
from clarinet_tui.ui.text.board_layout import distance_role
from clarinet_tui.ui.text.styled import GAP, STATE_STYLES, Span, styled
from core.presets import PRESETS

if TYPE_CHECKING:
    from clarinet_tui.analysis.board import Board, BoardCell, UnfinishedSeed
    from clarinet_tui.ui.snapshot.snapshot import BoardSnapshot

MAX_IDS = 6
NO_RUNS = "No runs yet. The published results are dim; yours appear next to them."
FIRST_STEP = "f queues the missing seeds of this cell, F those of the table; n opens the launch form."


def format_board_header(snapshot: BoardSnapshot) -> Content:
    """Format the presets with their numbers of runs, and the number of seeds in a complete cell."""
    spans: list[Span] = [(" Preset ", "muted")]
    names = [*PRESETS, *(name for name in snapshot.presets if name not in PRESETS)]
    for name in names:
        count = snapshot.presets.get(name, 0)
        text = f" {name} {count} " if count else f" {name} "
        spans.append((text, "chosen" if name == snapshot.board.preset else "" if count else "muted"))
    spans += [("   ", ""), (f"{snapshot.board.seeds}", "strong"), (" seeds each", "muted")]
    if not snapshot.is_complete:
        spans.append((f"   reading {snapshot.read} of {snapshot.runs} runs …", "live"))
    return styled(*spans)


def format_cell_detail(snapshot: BoardSnapshot, cell: BoardCell, has_no_runs: bool) -> Content:
    """Format the cell's result, seeds and remarks, then the remarks on the whole board and the legend."""
    board = snapshot.board
    lines = [styled(*_result_spans(cell))]
    if not snapshot.is_complete:
        lines.append(styled(("Reading runs …", "live")))
    elif has_no_runs:
        lines += [styled((NO_RUNS, "strong")), styled((FIRST_STEP, ""))]
    else:
        lines += [styled(*_seed_spans(cell))] if cell.results or cell.unfinished else []
        lines += [styled(*_missing_spans(cell))] if cell.missing else []
    lines += [styled((name, "warn"), (text, "")) for name, text in _remarks(cell)]
    lines += [styled((sentence, "muted")) for sentence in _conditions(board, cell)]
    excluded = (runs.text(MAX_IDS) for runs in board.excluded)
    lines += [styled(("Excluded from the board: ", "warn"), (text, "")) for text in excluded]
    return Content("\n").join([*lines, styled(*_legend())])


def _legend() -> Iterator[Span]:
    for state in STATES:
        glyph, role = STATE_STYLES[state]
        yield f"{glyph} ", role
        yield f"{state}  ", "faint"
    yield "… not finished  † mixed  bold: best of its row  ", "faint"
    yield "-0.5", "good"
    yield " not significant  ", "faint"
    yield "-5.0", "warn"
    yield " significant (95 %)", "faint"


def _result_spans(cell: BoardCell) -> Iterator[Span]:
    yield f"{method_title(cell.method)} {format_task(cell.task)}", "strong"
    yield GAP
    summary, interim = cell.summary, cell.interim_summary
    if summary.mean is not None:
        yield format_mean(summary.mean, summary.std), "strong"
        yield f"  {len(cell.results)}/{cell.wanted}", "muted"
    elif interim.mean is not None:
        yield f"{format_mean(interim.mean, interim.std)} so far, not finished", "live"
    else:
        yield "no result yet", "muted"
    if cell.published:
        yield GAP
        yield "paper ", "muted"
        yield format_mean(cell.published.mean, cell.published.std), ""
    if cell.distance:
        yield GAP
        yield f"{cell.distance.difference:+z.2f}", distance_role(cell.distance)
        if interval := cell.distance.interval:
            yield f", 95 % {interval.low:+.2f}…{interval.high:+.2f}", "muted"


def _seed_spans(cell: BoardCell) -> list[Span]:
    """Each seed with its state, accuracy and run, ordered by seed."""
    seeds: list[tuple[int | None, list[Span]]] = []
    glyph, role = STATE_STYLES[RunState.FINISHED]
    for result in cell.results:
        accuracy = f"{result.selected.accuracy:.2f}"
        seeds.append((result.seed, [(f" {glyph} ", role), (accuracy, ""), (f" {result.run}", "muted")]))
    seeds += [(seed.seed, _unfinished_spans(seed)) for seed in cell.unfinished]
    seeds.sort(key=lambda pair: (pair[0] is None, pair[0] or 0))
    spans: list[Span] = [("Seeds ", "muted")]
    for index, (seed, details) in enumerate(seeds):
        spans += [(" · " if index else "", "faint"), (format_seed(seed), "strong"), *details]
    return spans


def _unfinished_spans(seed: UnfinishedSeed) -> list[Span]:
    """A run in progress with its accuracy so far; any other run with its state."""
    style = STATE_STYLES[seed.state]
    spans: list[Span] = [(f" {style.glyph} ", style.role)]
    if seed.selected and seed.state.is_started:
        spans.append((f"{seed.selected.accuracy:.2f}… ", "live"))
        spans.append((f"epoch {seed.epoch or 0}/{seed.epochs_total or '?'} ", "muted"))
    else:
        spans.append((f"{seed.state} ", style.role))
    return [*spans, (seed.run, "muted")]


def _missing_spans(cell: BoardCell) -> list[Span]:
    noun, pronoun = ("seed", "it") if len(cell.missing) == 1 else ("seeds", "them")
    seeds = f"{noun} {format_seeds(cell.missing)}"
    return [("Missing: ", "warn"), (seeds, ""), (f": f queues {pronoun}", "muted")]


def _remarks(cell: BoardCell) -> Iterator[tuple[str, str]]:
    """What limits the result's validity."""
    for runs in cell.excluded:
        yield "Excluded: ", runs.text(MAX_IDS)
    for difference in cell.mixed:
        yield "Mixed: ", difference
    if cell.changes:
        yield "Settings: ", ", ".join(cell.changes)
    for note in cell.notes:
        yield "Data: ", note


def _conditions(board: Board, cell: BoardCell) -> Iterator[str]:
    yield from board.conditions
    if (regret := mean_regret(cell)) is not None:
        yield f"Selecting epochs by target labels would give {regret:.2f} points more here."


def format_seeds(seeds: Sequence[int]) -> str:
    """Format seeds as a list or a range: 2, 4 and 5; 1 to 5."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    *most, last = map(str, seeds)
    return f"{', '.join(most)} and {last}" if most else last


def table_command(board: Board) -> str:
    """The command that prints the same numbers."""
    words = ["clarinet", "table", *(["--preset", board.preset] if board.preset else [])]
    words += ["--select", board.rule] if board.rule != "last" else []
    words += ["--seeds", str(board.seeds)] if board.seeds != SEEDS else []
    return shlex.join(words)


def cell_query(method: str, task: str, preset: str | None) -> str:
    """A query for all runs of a cell, counted or not."""
    fields = {"method": method, "task": task, "preset": preset}
    return " ".join(f"{name}:{quote_value(value)}" for name, value in fields.items() if value)


def latex_file_name(board: Board) -> str:
    selected = "" if board.rule == "last" else f"-{board.rule}"
    return f"board-{board.preset or 'all'}{selected}.tex"
