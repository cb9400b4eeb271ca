"""The sections "Board" and "Comparison" of a report, as HTML."""

from collections.abc import Iterator

from clarinet_tui.analysis.board import Board, BoardCell, MethodTable
from clarinet_tui.analysis.board_table import (
    AVERAGE,
    BoardRow,
    RowValue,
    board_rows,
    excluded_notes,
    rule_rows,
    run_notes,
)
from clarinet_tui.analysis.comparison import Comparison, PairedDifference
from clarinet_tui.analysis.comparison_table import (
    INTERIM,
    SIDE_HEADINGS,
    format_difference,
    format_refused,
    pair_rows,
    setting_rows,
    side_labels,
    side_row,
)
from clarinet_tui.analysis.published import method_title
from clarinet_tui.analysis.report.markup import Markup, bullet_list, collapsible, join, row, table, tag
from clarinet_tui.analysis.selection import RULE_HEADINGS, RULE_NOTES, RULE_ORDER, RULES_TITLE
from clarinet_tui.text import format_count, format_task

DECIMALS = 2


def board_section(board: Board) -> Iterator[Markup | None]:
    """Show only tasks and methods with runs, unlike the paper's own table."""
    shown: set[str] = set()
    for part in board.tables:
        cells = [cell for (method, _), cell in board.cells.items() if method in part.methods and cell.states]
        if any(cell.method not in shown for cell in cells):  # CLARINET is in the table of ablations, too
            yield _table(board, part, {cell.task for cell in cells})
        shown |= set(part.methods)
    yield bullet_list(board.notes, class_="notes")
    rules = [
        row([f"{format_task(task)} {method_title(method)}", *texts])
        for task, method, *texts in rule_rows(board, DECIMALS)
    ]
    if rules:
        header = ["Runs of", *(RULE_HEADINGS[rule] for rule in RULE_ORDER)]
        yield table(header, rules, caption=RULES_TITLE, class_="numbers")
        yield bullet_list([f"{note}." for note in RULE_NOTES], class_="notes")
    yield bullet_list(excluded_notes(board), class_="notes")
    runs = run_notes(board)
    yield collapsible("Counted runs", bullet_list(runs)) if runs else None


def _table(board: Board, part: MethodTable, tasks: set[str]) -> Markup:
    heading = f"{part.title}: target accuracy in %, mean ± std over seeds"
    rows = [_row(board, part, line) for line in board_rows(board, part) if line.label in {*tasks, AVERAGE}]
    oracle = " (ORACLE SELECTION: epochs selected by target labels)" if board.uses_oracle else ""
    return table(["Task", *map(method_title, part.methods)], rows, caption=heading + oracle, class_="numbers")


def _row(board: Board, part: MethodTable, board_row: BoardRow) -> Markup:
    measured = board_row.kind == "measured"
    label = format_task(board_row.label) if measured else "published"
    cells = [board.cells.get((method, board_row.label)) if measured else None for method in part.methods]
    values = [_value(value, cell) for value, cell in zip(board_row.values, cells, strict=True)]
    return row([label, *values], class_=board_row.kind)


def _value(value: RowValue, cell: BoardCell | None) -> Markup:
    """The result, with its count and its distance to the published one below."""
    if value.mean is None:
        states = [f"{count} {state}" for state, count in cell.states.items()] if cell else []
        return tag("span", ", ".join(states) or "–", class_="absent")
    text = value.text(DECIMALS) + ("†" if value.mixed else "")
    below = " · ".join(detail for detail in (value.count, _distance(cell)) if detail)
    return join([tag("b" if value.best else "span", text), *([tag("small", below)] if below else [])])


def _distance(cell: BoardCell | None) -> str:
    if cell is None or cell.distance is None:
        return ""
    interval = cell.distance.interval
    between = f" ({interval.low:+.1f} to {interval.high:+.1f})" if interval else ""
    return f"{cell.distance.difference:+.{DECIMALS}f}{between} to published"


def comparison_section(comparison: Comparison) -> Iterator[Markup | None]:
    """Show the sides of each task, then each difference folded under its result."""
    compared = {difference.left.task for difference in comparison.differences}
    method = "One-step minus two-step, pairs of equal seed and label draw."
    yield tag("p", f"Reported: {comparison.rule_description}. {method}")
    for task in dict.fromkeys(side.task for side in comparison.sides if side.task in compared):
        sides = [row(side_row(side, " ± ")) for side in comparison.sides if side.task == task]
        yield table(SIDE_HEADINGS, sides, caption=format_task(task), class_="numbers")
        differences = [difference for difference in comparison.differences if difference.left.task == task]
        measured = [one for one in differences if one.left.accuracy.n and one.right.accuracy.n]
        yield from (_difference(difference) for difference in measured)
        if waiting := len(differences) - len(measured):
            text = f"{format_count(waiting, 'comparison')} not shown: no finished run on one side or both."
            yield tag("p", text, class_="notes")
    if comparison.unmatched:
        yield tag("p", f"Without a counterpart: {', '.join(comparison.unmatched)}.", class_="notes")


def _difference(difference: PairedDifference) -> Markup:
    left, right = side_labels((difference.left, difference.right))
    first, *others = format_difference(difference)
    preset = f" ({difference.left.preset})" if difference.left.preset else ""
    pairs, settings = [row(pair) for pair in pair_rows(difference)], [row(one) for one in setting_rows(difference)]
    return collapsible(
        f"{left} minus {right}{preset}: {first}" + (f" – {INTERIM}" if difference.is_interim else ""),
        bullet_list([*others, *format_refused(difference)]),
        bullet_list([f"caution: {caution}" for caution in difference.cautions], class_="caution"),
        table(["Seed", left, right, "difference"], pairs, class_="numbers") if pairs else None,
        table(["Setting", left, right], settings, caption="Settings that differ") if settings else None,
    )
