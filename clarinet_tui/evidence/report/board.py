"""Board and comparisons of a report, as HTML."""

from collections.abc import Iterator

from clarinet_tui.evidence.board import Board, Part
from clarinet_tui.evidence.board_cells import Cell
from clarinet_tui.evidence.board_rows import AVERAGE, Entry, Line, lines, short_name
from clarinet_tui.evidence.comparison import Comparison, Contrast
from clarinet_tui.evidence.difference_text import INTERIM, differences_in_words, names_of
from clarinet_tui.evidence.groups import LeftOut
from clarinet_tui.evidence.published import title
from clarinet_tui.evidence.report.markup import Markup, folded, joined, listed, row, table, tag
from clarinet_tui.evidence.selections import HEADINGS, MEANINGS, ORDER, TITLE, texts
from clarinet_tui.evidence.sides import Side
from clarinet_tui.evidence.statistics import Summary
from clarinet_tui.text import duration, number

DECIMALS = 2


def board_part(board: Board) -> Iterator[Markup | None]:
    """Only tasks and methods of which there are runs: the paper's own table is in the paper."""
    before: set[str] = set()
    for part in board.parts:
        told = [cell for (method, _), cell in board.cells.items() if method in part.methods and cell.states]
        if any(cell.method not in before for cell in told):  # CLARINET stands beside its ablations, too
            yield _table(board, part, {cell.task for cell in told})
        before |= set(part.methods)
    yield listed(board.notes, class_="notes")
    yield from _selections(board)
    yield listed([_left_out(left) for left in _all_left_out(board)], class_="notes")
    behind = [
        f"{short_name(cell.task)} {title(cell.method)}: {' '.join(cell.runs)}"
        for cell in board.cells.values()
        if cell.runs
    ]
    yield folded("The runs behind each number", listed(behind)) if behind else None


def _selections(board: Board) -> Iterator[Markup | None]:
    rows = [
        row([f"{short_name(cell.task)} {title(cell.method)}", *texts(cell.selections, DECIMALS)])
        for cell in board.cells.values()
        if cell.selections
    ]
    if rows:
        yield table(["Runs of", *(HEADINGS[rule] for rule in ORDER)], rows, caption=TITLE, class_="numbers")
        yield listed([f"{meaning}." for meaning in MEANINGS], class_="notes")


def _table(board: Board, part: Part, told: set[str]) -> Markup:
    heading = f"{part.title}: target accuracy in %, mean ± std over seeds"
    shown = [line for line in lines(board, part) if line.label in {*told, AVERAGE}]
    rows = [_line(board, part, line) for line in shown]
    oracle = " (ORACLE SELECTION: target labels chose the epochs)" if board.oracle else ""
    return table(["Task", *map(title, part.methods)], rows, caption=heading + oracle, class_="numbers")


def _line(board: Board, part: Part, line: Line) -> Markup:
    measured = line.kind == "measured"
    label = short_name(line.label) if measured else "published"
    cells = [board.cells.get((method, line.label)) for method in part.methods]
    entries = [_entry(entry, cell if measured else None) for entry, cell in zip(line.entries, cells, strict=True)]
    return row([label, *entries], class_=line.kind)


def _entry(entry: Entry, cell: Cell | None) -> Markup:
    """The number, and below it what keeps it from being the last word."""
    if entry.mean is None:
        return tag("span", _states(cell) if cell and cell.states else "–", class_="absent")
    told = entry.text(DECIMALS) + ("†" if entry.mixed else "")
    below = [entry.count and f"{entry.count}", _distance(cell)]
    small = " · ".join(word for word in below if word)
    return joined([tag("b" if entry.best else "span", told), *([tag("small", small)] if small else [])])


def _states(cell: Cell) -> str:
    return ", ".join(f"{count} {state}" for state, count in cell.states.items())


def _distance(cell: Cell | None) -> str:
    if cell is None or cell.distance is None:
        return ""
    interval = cell.distance.interval
    between = f" ({interval.low:+.1f} to {interval.high:+.1f})" if interval else ""
    return f"{cell.distance.difference:+.{DECIMALS}f}{between} to published"


def _all_left_out(board: Board) -> list[tuple[str, LeftOut]]:
    found = [("", left) for left in board.left_out]
    cells = board.cells.values()
    return found + [
        (f"{short_name(cell.task)} {title(cell.method)}: ", left) for cell in cells for left in cell.left_out
    ]


def _left_out(place_and_left: tuple[str, LeftOut]) -> str:
    place, left = place_and_left
    return f"left out: {place}{left.reason} ({' '.join(left.runs)})"


def comparison_part(comparison: Comparison) -> Iterator[Markup | None]:
    """The sides of each task, then each contrast, folded: its first words say the result."""
    compared = {contrast.left.task for contrast in comparison.contrasts}
    yield tag("p", f"Reported: {comparison.selected}. One-step minus two-step, pairs of equal seed and label draw.")
    for task in dict.fromkeys(side.task for side in comparison.sides if side.task in compared):
        sides = [side for side in comparison.sides if side.task == task]
        header = ["Method", "preset", "seeds", "target %", "source %", "pseudo-labels %", "time each", "time in all"]
        yield table(header, [_side(side) for side in sides], caption=short_name(task), class_="numbers")
        contrasts = [contrast for contrast in comparison.contrasts if contrast.left.task == task]
        told = [contrast for contrast in contrasts if contrast.left.accuracy.n and contrast.right.accuracy.n]
        yield from (_contrast(contrast) for contrast in told)
        if silent := len(contrasts) - len(told):
            words = "1 comparison waits" if silent == 1 else f"{silent} comparisons wait"
            yield tag("p", f"{words} for a finished run on each side.", class_="notes")
    if comparison.alone:
        yield tag("p", f"Nothing to compare with: {', '.join(comparison.alone)}.", class_="notes")


def _side(side: Side) -> Markup:
    each = "–" if side.seconds.mean is None else ("≥" if side.cost_unknown else "") + duration(side.seconds.mean)
    accuracies = (side.accuracy, side.source_accuracy, side.pseudo_label_accuracy)
    seeds = f"{side.accuracy.n}/{len(side.runs)}"
    numbers = [_spread(summary) for summary in accuracies]
    return row([side.title, side.preset or "?", seeds, *numbers, each, duration(side.total_seconds)])


def _spread(summary: Summary) -> str:
    if summary.mean is None:
        return "–"
    return f"{summary.mean:.{DECIMALS}f}" + ("" if summary.std is None else f" ± {summary.std:.{DECIMALS}f}")


def _contrast(contrast: Contrast) -> Markup:
    left, right = names_of(contrast)
    first, *others = differences_in_words(contrast)
    preset = f" ({contrast.left.preset})" if contrast.left.preset else ""
    summary = f"{left} minus {right}{preset}: {first}" + (f" – {INTERIM}" if contrast.interim else "")
    pairs = [
        row([str(pair.seed), f"{pair.left:.2f}", f"{pair.right:.2f}", f"{pair.difference:+.2f}"])
        for pair in contrast.paired.pairs
    ]
    said = [*others, *(f"seed {refused.seed} is no pair: {refused.reason}" for refused in contrast.refused)]
    return folded(
        summary,
        listed(said),
        listed([f"caution: {caution}" for caution in contrast.cautions], class_="caution"),
        table(["Seed", left, right, "difference"], pairs, class_="numbers") if pairs else None,
        _settings(contrast, left, right),
    )


def _settings(contrast: Contrast, left: str, right: str) -> Markup | None:
    rows = [row([name, shown(one), shown(two)]) for name, one, two in contrast.settings]
    return table(["Setting", left, right], rows, caption="Settings that differ") if rows else None


def shown(value: object) -> str:
    """A setting as TOML has it."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return number(value) if isinstance(value, float) else str(value)
