"""A drawing for a terminal: curves of Braille dots with ticks and a legend, matrices as shaded tables."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from clarinet_tui.evidence.figures.figure import Drawing, Line, Matrix, Panel
from clarinet_tui.evidence.figures.style import DARK
from clarinet_tui.evidence.terminal.dots import BRAILLE, Canvas, Dots
from clarinet_tui.evidence.terminal.ticks import Tick, ticks
from clarinet_tui.text import number, printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from clarinet_tui.evidence.bands import Floats

MARKS = "●■◆▲▼✚✖★◀"
"""As on paper, so that lines can be told apart without colours."""
ROWS = 14
LEFT = 8
"""Columns for the numbers of the y axis."""
WIDEST = 110
LONGEST_NAME = 9


def terminal_view(drawing: Drawing, width: int, *, dots: Dots = BRAILLE) -> "RenderableType":
    """Panels below each other, then what must be said."""
    from rich.console import Group
    from rich.text import Text

    shown: list[RenderableType] = []
    for panel in drawing.panels:
        shown += [Text(printable(panel.title), style="bold")]
        shown += _matrix(panel, width) if isinstance(panel, Matrix) else _panel(panel, min(width, WIDEST), dots)
        shown.append(Text())
    shown += [Text(f"· {printable(note)}", style="dim") for note in drawing.notes]
    return Group(*shown)


def _panel(panel: Panel, width: int, dots: Dots) -> "Iterator[Text]":
    from rich.text import Text

    xs, ys = _extents(panel.lines)
    canvas = Canvas(max(10, width - LEFT - 2), ROWS, xs, ys, dots)
    for line in panel.lines:
        if line.level is not None:
            canvas.dashes(line.level, line.slot)
    for place, line in enumerate(panel.lines):
        canvas.curve(line.x, line.y, line.slot)
        canvas.marks(line.x, line.y, MARKS[line.slot % len(MARKS)], line.slot, place, len(panel.lines))
    labels = {canvas.row(tick.value): tick.label for tick in ticks(*ys, ROWS // 3)}
    for place, cells in enumerate(canvas.rows()):
        edge = "┤" if place in labels else "│"
        yield Text.assemble((f"{labels.get(place, ''):>{LEFT - 1}} {edge}", "dim"), *_pieces(cells))
    yield Text(" " * LEFT + "╰" + "─" * canvas.width, style="dim")
    yield Text(" " * LEFT + _under(canvas, ticks(*xs, max(2, canvas.width // 12))), style="dim")
    yield Text(f"{panel.x_name}".rjust(LEFT + 1 + canvas.width), style="dim")
    yield from (_entry(line, panel.bars) for line in panel.lines)


def _extents(lines: Sequence[Line]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of all that is drawn; a single value has some room around it."""
    import numpy as np

    levels = np.array([line.level for line in lines if line.level is not None], dtype=np.float64)
    return _extent(np.concatenate([line.x for line in lines])), _extent(
        np.concatenate([levels, *(line.y for line in lines)])
    )


def _extent(values: "Floats") -> tuple[float, float]:
    import numpy as np

    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    air = 0.5 if low == high else 0.0
    return low - air, high + air


def _pieces(cells: Sequence[tuple[str, int | None]]) -> "Iterator[tuple[str, str]]":
    for slot, group in groupby(cells, key=lambda cell: cell[1]):
        yield "".join(sign for sign, _ in group), "" if slot is None else DARK.line(slot)


def _under(canvas: Canvas, marked: Sequence[Tick]) -> str:
    """Numbers under the axis, those that do not touch."""
    written = ""
    for tick in marked:
        place = max(0, 1 + canvas.column(tick.value) - len(tick.label) // 2)
        if place > len(written) or not written:
            written = written.ljust(place) + tick.label
    return written


def _entry(line: Line, bars: bool) -> "Text":
    """The line's name and where it ends, with its band there."""
    import numpy as np
    from rich.text import Text

    sign = MARKS[line.slot % len(MARKS)]
    known = np.flatnonzero(np.isfinite(line.y))
    if not known.size:
        return Text.assemble((f"  {sign} ", DARK.line(line.slot)), printable(line.label))
    last = int(known[-1])
    told = f"{line.label}  {number(float(line.y[last]))}" + (f" at {number(float(line.x[last]))}" if bars else "")
    if line.low is not None and line.high is not None and np.isfinite(line.low[last]):
        told += f"  ({number(float(line.low[last]))} to {number(float(line.high[last]))})"
    told += "" if line.level is None else f"  published {number(line.level)}"
    return Text.assemble((f"  {sign} ", DARK.line(line.slot)), printable(told))


def _matrix(matrix: Matrix, width: int) -> "list[RenderableType]":
    """Numbers in percent, the background as strong as the number; without colours the numbers are enough."""
    from rich.style import Style
    from rich.text import Text

    names = [printable(name)[:LONGEST_NAME] for name in matrix.classes]
    margin = max(map(len, names), default=0) + 2
    if margin + 4 * len(names) > width:
        return [Text(f"  {len(names)} classes are too many to draw here: use --out", style="dim")]
    lines = [Text(" " * margin + "".join(f"{name[:3]:>4}" for name in names), style="dim")]
    for name, row in zip(names, matrix.shares, strict=True):
        line = Text(f"{name:>{margin - 1}} ", style="dim")
        for share in row:
            shade = Style(color="white", bgcolor=f"rgb(0,{round(114 * share)},{round(178 * share)})", bold=share >= 0.5)
            line.append(
                f"{share * 100:4.0f}" if share >= 0.005 else "   ·", style=shade if share >= 0.05 else "not dim"
            )
        lines.append(line)
    return [*lines]
