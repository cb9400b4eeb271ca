"""Chart specs, and the characters that a chart draws."""

from dataclasses import replace

from clarinet_tui.chart.curve import Curve, extent_of
from clarinet_tui.chart.render import ChartSpec, render_chart


def make_spec(*lines: Curve, width: int = 60, height: int = 16, **fields: object) -> ChartSpec:
    spec = ChartSpec(width, height, lines, x_range=extent_of(lines))
    return replace(spec, **fields)  # type: ignore[arg-type]


def render_rows(spec: ChartSpec) -> list[str]:
    """The rows of the chart, after a check of their size."""
    text = render_chart(spec).grid.text()
    assert len(text) == spec.height
    assert {len(row) for row in text} == {spec.width}
    return text


def plot_area(text: list[str]) -> list[str]:
    """The part right of the y axis, without the grid."""
    return [row.split("┤" if "┤" in row else "│", 1)[-1].replace("┈", " ") for row in text if "┤" in row or "│" in row]


def drawn_cells(text: list[str]) -> set[tuple[int, int]]:
    """Row and column of each cell with a line or a marker."""
    return {
        (y, x)
        for y, row in enumerate(text)
        for x, character in enumerate(row)
        if 0x2800 < ord(character) < 0x2900 or character == "●"
    }
