"""The board as text: tables laid out for the terminal's size, the header, and the detail of one cell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.analysis.board_table import AVERAGE, MAX_VARIANTS, STATES, board_table, mean_regret
from clarinet_tui.analysis.published import SEEDS, method_title
from clarinet_tui.analysis.statistics import Distance
from clarinet_tui.history.query_language import quote_value
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_mean, format_seed, format_task, printable
from clarinet_tui.ui.text.styled import GAP, STATE_STYLES, Span, Spans, styled
from core.presets import PRESETS

if TYPE_CHECKING:
    from clarinet_tui.analysis.board import Board, BoardCell
    from clarinet_tui.analysis.run_records import SeedRun
    from clarinet_tui.tables.table import Cell
    from clarinet_tui.ui.snapshot.snapshot import BoardSnapshot

MIN_COLUMN, MAX_COLUMN = 15, 40
WITH_COUNT, NAMED_PAPER = 20, 30
"""Column widths from which a cell has the number of seeds beside the std, and the word paper."""
MEASURED = 9
"""Width of the mean with its std, or with the number of seeds."""
MIN_LABEL, MAX_LABEL = 5, 20
RULES = {
    "last": "last epoch, as in the paper",
    "best": "ORACLE SELECTION: best epoch by target labels",
    "risk": "epoch of least complementary risk on held-out source",
    "information": "epoch of most information on the target",
}
"""How the reported epoch is selected."""


@dataclass(frozen=True)
class BoardLine:
    """A line of a table: its title, its headings, a task, the averages, or a blank line."""

    table: int
    cells: tuple[Spans, ...] = ()
    """A label, and one cell for each method."""
    title: Spans = ()
    row: int | None = None
    """The number of a task or of the averages in the table."""
    task: str | None = None


@dataclass(frozen=True)
class BoardLayout:
    lines: tuple[BoardLine, ...] = (BoardLine(0),)
    methods: tuple[tuple[str, ...], ...] = ((),)
    """The methods of each table."""
    label_width: int = MIN_LABEL
    column_width: int = MIN_COLUMN


def layout_board(board: Board, width: int, height: int) -> BoardLayout:
    """Stack all tables, with a gap between tasks where everything still fits."""
    label = MIN_LABEL
    if width >= 116:  # room for long names of tasks
        longest = max((len(format_task(task)) for task in board.tasks), default=0)
        label = min(max(longest, MIN_LABEL + 1) + 2, MAX_LABEL)
    # So narrow that the five methods of the paper's first table are visible.
    column = max(MIN_COLUMN, min(MAX_COLUMN, (width - label) // 5))
    lines: list[BoardLine] = []
    for number in range(len(board.tables)):
        lines += [BoardLine(number - 1)] if number else []
        lines += _table_lines(board, number, label, column)
    following = [*lines[1:], BoardLine(0)]
    ends = [line.row not in (None, after.row) for line, after in zip(lines, following, strict=True)]
    if len(lines) + sum(ends) <= height:
        with_gaps = ([line, BoardLine(line.table)] if ends[at] else [line] for at, line in enumerate(lines))
        lines = [line for pair in with_gaps for line in pair]
    return BoardLayout(tuple(lines), tuple(table.methods for table in board.tables), label, column)


def _table_lines(board: Board, number: int, label: int, column: int) -> Iterator[BoardLine]:
    table = board.tables[number]
    rule = (RULES[board.rule], "warn" if board.uses_oracle else "muted")
    published = any(board.cells[method, task].published for method in table.methods for task in board.tasks)
    title: Spans = ((table.title, "strong"), (f"  target accuracy in %{' | paper' * published}, ", "muted"), rule)
    if published and board.preset and not board.is_comparable and column >= NAMED_PAPER:
        title += ((f"; preset {board.preset}, not that of the paper's numbers", "faint"),)
    yield BoardLine(number, title=title)
    described = board_table(board, table)
    names = (((f" {printable(heading.title)}"[:column], "strong"),) for heading in described.columns[1:])
    yield BoardLine(number, ((("", ""),), *names))
    for row, (name, group) in enumerate(groupby(described.rows, key=lambda row: row.cells[0].value)):
        measured, *others = group
        below = [row for row in others if row.kind == "published"]
        task = None if name == AVERAGE else name
        cells = [board.cells[method, task] if task else None for method in table.methods]
        means = [cell.value.mean for cell in below[0].cells[1:]] if below else [None] * len(cells)
        label_text = printable(measured.cells[0].text) if task or label > MIN_LABEL else "Avg."
        label_text = label_text if len(label_text) < label else f"{label_text[: label - 2]}…"
        spans = (
            _drop_overflow(_cell_spans(*found, column, board.is_comparable), column)
            for found in zip(measured.cells[1:], means, cells, strict=True)
        )
        yield BoardLine(number, (((label_text, "strong"),), *spans), row=row, task=task)
        for variant in (row for row in others if row.kind == "variant"):
            mark, *results = variant.cells
            texts = (
                ((f"{'':{5 - len(format_mean(cell.value.mean, None, 1))}}{_variant_text(cell)}"[:column], ""),)
                for cell in results
            )
            yield BoardLine(number, (((f" {mark.text.strip()}", "muted"),), *texts), row=row)


def _variant_text(cell: Cell) -> str:
    """The mean of a variant, and its number of seeds while they are not complete."""
    mean = cell.value
    return "" if mean.mean is None else f"{format_mean(mean.mean, mean.std, 1, '±')} {cell.note}".rstrip()


def _cell_spans(
    result: Cell, published: float | None, cell: BoardCell | None, column: int, comparable: bool
) -> Iterator[Span]:
    """Mean ± std, seeds and states, then the published mean and the distance: 69.9±4.5 5/5 | paper 94.5 -24.6.

    A narrow cell has the number of seeds in place of the std until it is complete: 69.9 3/5|94.5.
    """
    is_narrow = column < WITH_COUNT
    states: list[Span] = [STATE_STYLES[state] for state in STATES if cell and cell.states.get(state, 0)]
    spans = [*_measured_spans(result, cell, is_narrow), *([] if is_narrow else states)]
    if not is_narrow:
        spans[-1] = (spans[-1][0].rstrip(), spans[-1][1])
    yield from spans
    if published is not None:
        yield (" | paper " if column >= NAMED_PAPER else "|"), "faint"
        yield f"{published:.1f}", "muted"
    if is_narrow:
        yield from states
    elif cell and cell.distance:
        yield f" {cell.distance.difference:+z.1f}", distance_role(cell.distance) if comparable else "faint"


def _drop_overflow(spans: Iterable[Span], column: int) -> Spans:
    """Keep the spans that fit as a whole: half a number would be another number."""
    kept: list[Span] = []
    for text, role in spans:
        if sum(len(before) for before, _ in kept) + len(text.rstrip()) > column:
            break
        kept.append((text, role))
    return tuple(kept)


def _measured_spans(result: Cell, cell: BoardCell | None, is_narrow: bool) -> Iterator[Span]:
    """Mean ± std and the number of seeds."""
    count, is_complete = result.note, False
    if cell is not None:
        count, is_complete = f"{len(cell.results)}/{cell.wanted}" if cell.states else "", cell.is_complete
    has_std = not (is_narrow and count and not is_complete)
    mean, std = result.value.mean, result.value.std if has_std else None
    interim = cell.interim_summary.mean if cell else None
    if mean is not None:
        text, role = format_mean(mean, std, 1, "±"), "strong" if result.emphasis == "best" else ""
    elif interim is not None:
        text, role, mean = f"{format_mean(interim, None, 1)}…", "live", interim
    else:
        text, role = "–", "faint"
    text = " " * (5 - len(format_mean(mean, None, 1))) + text  # decimal points align
    yield (f"{text:<{MEASURED}}" if has_std else text), role
    if count and not (is_narrow and has_std):
        yield f"{count:>{4 if has_std else MEASURED - len(text)}}", "good" if is_complete else "muted"


def distance_role(distance: Distance) -> str:
    """The role of a distance: good if its interval contains zero, none without an interval."""
    if distance.interval is None:
        return ""
    return "good" if distance.interval.low <= 0 <= distance.interval.high else "warn"


MAX_IDS = 6


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
        first_step = "f queues the missing seeds of this cell, F those of the table; n opens the launch form."
        lines.append(styled(("No runs yet. The published results are dim; yours appear next to them.", "strong")))
        lines.append(styled((first_step, "")))
    else:
        lines += [styled(*_seed_spans(cell))] if cell.results or cell.unfinished else []
        marks = board.variant_marks
        for other in cell.others[:MAX_VARIANTS]:
            mean = format_mean(other.summary.mean, other.summary.std)
            name = f"({marks[other.variant]}) {other.variant}  "
            seeds = f"  {len(other.results)}/{other.wanted}"
            lines.append(styled((name, "muted"), (mean, ""), (seeds, "muted")))
        if cell.missing:
            noun, pronoun = ("seed", "it") if len(cell.missing) == 1 else ("seeds", "them")
            seeds = f"{noun} {format_seeds(cell.missing)}"
            lines.append(styled(("Missing: ", "warn"), (seeds, ""), (f": f queues {pronoun}", "muted")))
    lines += [styled((name, "warn"), (text, "")) for name, text in _remarks(cell)]
    lines += [styled((sentence, "muted")) for sentence in board.conditions]
    if (regret := mean_regret(cell)) is not None:
        lines.append(styled((f"Selecting epochs by target labels would give {regret:.2f} points more here.", "muted")))
    excluded = (runs.text(MAX_IDS) for runs in board.excluded)
    lines += [styled(("Excluded from the board: ", "warn"), (text, "")) for text in excluded]
    return Content("\n").join([*lines, styled(*_legend())])


def _legend() -> Iterator[Span]:
    for state in STATES:
        glyph, role = STATE_STYLES[state]
        yield f"{glyph} ", role
        yield f"{state}  ", "faint"
    yield "… not finished  bold: best of its row  ", "faint"
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
        yield f"  {cell.variant}" if cell.others else "", "muted"
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
        accuracy = f"{result.accuracy:.2f}"
        seeds.append((result.seed, [(f" {glyph} ", role), (accuracy, ""), (f" {result.run}", "muted")]))
    seeds += [(seed.seed, _unfinished_spans(seed)) for seed in cell.unfinished]
    seeds.sort(key=lambda pair: (pair[0] is None, pair[0] or 0))
    spans: list[Span] = [("Seeds ", "muted")]
    for index, (seed, details) in enumerate(seeds):
        spans += [(" · " if index else "", "faint"), (format_seed(seed), "strong"), *details]
    return spans


def _unfinished_spans(seed: SeedRun) -> list[Span]:
    """A run in progress with its accuracy so far; any other run with its state."""
    glyph, role = STATE_STYLES[seed.state]
    spans: list[Span] = [(f" {glyph} ", role)]
    if seed.selected and seed.state.is_started:
        spans.append((f"{seed.selected.accuracy:.2f}… ", "live"))
        spans.append((f"epoch {seed.epoch or 0}/{seed.epochs_total or '?'} ", "muted"))
    else:
        spans.append((f"{seed.state} ", role))
    return [*spans, (seed.run, "muted")]


def _remarks(cell: BoardCell) -> Iterator[tuple[str, str]]:
    """What limits the result's validity."""
    for runs in cell.excluded:
        yield "Excluded: ", runs.text(MAX_IDS)
    if len(cell.commits) > 1:
        yield "Commits: ", cell.commit_note
    if cell.changes:
        yield "Settings: ", ", ".join(cell.changes)
    for note in cell.notes:
        yield "Data: ", note


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
