"""A figure for a terminal: curves drawn by the chart engine, matrices as shaded tables, and point clouds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from rich.style import Style
from rich.text import Text

from clarinet_tui.analysis.figures.figure import ConfusionMatrix, Figure, FigureCurve, HeatMap, Panel, PointCloud
from clarinet_tui.chart.cells import PLAIN, TINT, GlyphSet, band_style, faint_style, line_style
from clarinet_tui.chart.curve import Curve, Reference, ReferenceLine, extent_of
from clarinet_tui.chart.palette import colour, marker
from clarinet_tui.chart.render import ChartSpec, render_chart
from clarinet_tui.text import format_number, printable, shorten

HEIGHT = 17
"""Rows of a chart with its x axis."""
MAXIMUM_WIDTH = 110
MAXIMUM_BANDS = 3
"""With more curves, bands would cover each other; the legend lists their edges at the end."""
MAXIMUM_NAME = 9


def figure_lines(
    figure: Figure, width: int, glyphs: GlyphSet, palette: str = "dark", height: int = HEIGHT
) -> Iterator[Text]:
    """Yield point clouds side by side, the other panels below each other, then the notes; charts have this height."""
    if clouds := [panel for panel in figure.panels if isinstance(panel, PointCloud)]:
        yield from point_clouds(clouds, width, palette)
        yield Text()
    for panel in figure.panels:
        if isinstance(panel, PointCloud):
            continue
        yield Text(printable(panel.title), style="bold")
        if isinstance(panel, ConfusionMatrix):
            yield from _matrix(panel, width)
        elif isinstance(panel, HeatMap):
            yield from _heat_map(panel, width)
        else:
            yield from _chart(panel, min(width, MAXIMUM_WIDTH), height, glyphs, palette)
            yield from (_legend_entry(curve, panel, palette) for curve in panel.curves)
        yield Text()
    yield from (Text(f"· {printable(note)}", style="dim") for note in figure.notes)


def _chart(panel: Panel, width: int, height: int, glyphs: GlyphSet, palette: str) -> Iterator[Text]:
    """The last curve is on top, as in a printed figure; bands are drawn where there is room for them."""
    lines: list[Curve] = []
    references: list[Reference] = []
    for curve in reversed(panel.curves):
        line = replace(curve, low=curve.mean, high=curve.mean, filled=False)
        if panel.has_error_bars and curve.filled:  # they become the envelope of the line
            low, high = (np.where(np.isfinite(edge), edge, curve.mean) for edge in (curve.low, curve.high))
            line = replace(line, low=low, high=high)
        lines.append(line)
        if panel.has_error_bars:
            references += [replace(member, colour_index=curve.colour_index) for member in curve.members]
        if curve.published is not None:
            references.append(ReferenceLine(curve.published, colour_index=curve.colour_index))
        if curve.filled and not panel.has_error_bars and len(panel.curves) <= MAXIMUM_BANDS:
            references.append(curve)
    grid, _ = render_chart(
        ChartSpec(
            width=max(20, width),
            height=height,
            lines=tuple(lines),
            references=tuple(references),
            x_range=extent_of(lines),
            glyphs=glyphs,
            x_name=panel.x_name,
            x_ticks=dict(panel.x_ticks) if panel.x_ticks else None,
        )
    )
    styles = {PLAIN: ""}
    for curve in panel.curves:
        index = curve.colour_index
        styles |= {line_style(index): colour(index, palette)}
        styles |= dict.fromkeys((faint_style(index), band_style(index)), f"dim {colour(index, palette)}")
    for spans in grid.spans():
        yield Text.assemble(*((text, styles.get(style % TINT, "dim")) for text, style in spans))


def _legend_entry(curve: FigureCurve, panel: Panel, palette: str) -> Text:
    """The curve's name and last value, with its band and the published result."""
    symbol = (f"  {marker(curve.colour_index)} ", colour(curve.colour_index, palette))
    known = np.flatnonzero(np.isfinite(curve.mean))
    if not known.size:
        return Text.assemble(symbol, printable(curve.name))
    x, mean, low, high = (float(values[known[-1]]) for values in (curve.x, curve.mean, curve.low, curve.high))
    place = (panel.x_ticks or {}).get(x, format_number(x))
    text = f"{curve.name}  {format_number(mean)}" + (f" at {place}" if panel.has_error_bars else "")
    if curve.filled and np.isfinite(low):
        text += f"  ({format_number(low)} to {format_number(high)})"
    text += "" if curve.published is None else f"  published {format_number(curve.published)}"
    return Text.assemble(symbol, printable(text))


def _matrix(matrix: ConfusionMatrix, width: int) -> list[Text]:
    """Shares in percent, with a background of matching strength."""
    names = [printable(name)[:MAXIMUM_NAME] for name in matrix.classes]
    margin = max(map(len, names), default=0) + 2
    if margin + 4 * len(names) > width:
        return [Text(f"  {len(names)} classes do not fit the terminal: use --out", style="dim")]
    lines = [Text(" " * margin + "".join(f"{name[:3]:>4}" for name in names), style="dim")]
    for name, row in zip(names, matrix.shares, strict=True):
        line = Text(f"{name:>{margin - 1}} ", style="dim")
        for share in row:
            line.append(f"{share * 100:4.0f}" if share >= 0.005 else "   ·", _shade(share))
        lines.append(line)
    return lines


def _heat_map(panel: HeatMap, width: int) -> list[Text]:
    """Means with a background of matching strength; a row for each value of the second setting."""
    margin = max(map(len, (*panel.rows, panel.y_name))) + 2
    cell = max(5, *map(len, panel.columns)) + 1
    if margin + cell * len(panel.columns) > width:
        return [Text(f"  {len(panel.columns)} columns do not fit the terminal: use --out", style="dim")]
    lines = [Text(f"{'':{margin}}{panel.x_name}", style="dim")]
    lines.append(Text(f"{panel.y_name:>{margin - 2}}  " + "".join(f"{name:>{cell}}" for name in panel.columns), "dim"))
    for name, means, shares in zip(panel.rows, panel.means, panel.shares, strict=True):
        line = Text(f"{name:>{margin - 2}}  ", style="dim")
        for mean, share in zip(means, shares, strict=True):
            line.append(f"{'·' if mean is None else f'{mean:.1f}':>{cell}}", _shade(share))
        lines.append(line)
    return lines


def _shade(share: float) -> Style | str:
    shade = Style(color="white", bgcolor=f"rgb(0,{round(114 * share)},{round(178 * share)})", bold=share >= 0.5)
    return shade if share >= 0.05 else "not dim"


MINIMUM_CLOUD_WIDTH, MAXIMUM_CLOUD_WIDTH, GAP = 36, 98, 3
MINIMUM_HEIGHT, MAXIMUM_HEIGHT = 12, 22
SYMBOLS = "0123456789abcdefghijklmnopqrstuvwxyz"
SOURCE = "·"


def point_clouds(clouds: Sequence[PointCloud], width: int, palette: str) -> Iterator[Text]:
    """Yield the lines of all clouds, as many side by side as fit, and one legend."""
    beside = max(1, min(len(clouds), (width + GAP) // (MINIMUM_CLOUD_WIDTH + GAP)))
    columns = max(20, min(MAXIMUM_CLOUD_WIDTH, (width + GAP) // beside - GAP))
    for start in range(0, len(clouds), beside):
        drawn = [_cloud(cloud, columns, palette) for cloud in clouds[start : start + beside]]
        for parts in zip(*drawn, strict=True):
            yield Text(" " * GAP).join(parts)
        yield Text()
    line = Text.assemble(("symbols: target, dots: source", "dim"))  # colours are shared by source and target
    for index, name in enumerate(clouds[0].classes):
        title = "" if name == _symbol(index) else f" {printable(name)[:MAXIMUM_NAME]}"
        entry = Text.assemble((f"  {_symbol(index)}", colour(index, palette)), title)
        if line.cell_len + entry.cell_len > width:
            yield line
            line = Text()
        line.append_text(entry)
    yield line


def _cloud(cloud: PointCloud, columns: int, palette: str) -> list[Text]:
    """Draw a dot for each source image and the symbol of its class for each target image, which is on top."""
    low, high = cloud.limits
    rows = min(MAXIMUM_HEIGHT, max(MINIMUM_HEIGHT, columns // 3))
    cells: dict[tuple[int, int], tuple[str, str]] = {}
    for points, labels in ((cloud.source, cloud.source_y), (cloud.target, cloud.target_y)):
        places = (points - low) / (high - low).clip(1e-12) * (columns - 1, rows - 1)
        for (x, y), label in zip(places.round().astype(int).tolist(), labels.tolist(), strict=True):
            symbol = SOURCE if points is cloud.source else _symbol(label)
            cells[rows - 1 - y, x] = symbol, colour(label, palette) if label >= 0 else ""
    title = Text(shorten(printable(cloud.title), columns), style="bold")
    title.pad_right(columns - title.cell_len)
    lines = [Text.assemble(*(cells.get((row, column), " ") for column in range(columns))) for row in range(rows)]
    return [title, *lines]


def _symbol(label: int) -> str:
    return SYMBOLS[label % len(SYMBOLS)] if label >= 0 else "?"
