"""Point clouds for a terminal: both domains in feature space, side by side where they fit."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clarinet_tui.analysis.figures.figure import PointCloud
from clarinet_tui.chart.palette import colour
from clarinet_tui.text import printable, shorten

if TYPE_CHECKING:
    from rich.text import Text

MINIMUM_WIDTH, MAXIMUM_WIDTH, GAP = 36, 98, 3
MINIMUM_HEIGHT, MAXIMUM_HEIGHT = 12, 22
SYMBOLS = "0123456789abcdefghijklmnopqrstuvwxyz"
SOURCE = "·"
MAXIMUM_NAME = 9


def point_clouds(clouds: Sequence[PointCloud], width: int, palette: str) -> "Iterator[Text]":
    """Yield the lines of all clouds, as many side by side as fit, and one legend."""
    from rich.text import Text

    beside = max(1, min(len(clouds), (width + GAP) // (MINIMUM_WIDTH + GAP)))
    columns = max(20, min(MAXIMUM_WIDTH, (width + GAP) // beside - GAP))
    for start in range(0, len(clouds), beside):
        drawn = [_cloud(cloud, columns, palette) for cloud in clouds[start : start + beside]]
        for parts in zip(*drawn, strict=True):
            yield Text(" " * GAP).join(parts)
        yield Text()
    yield from _legend(clouds[0].classes, width, palette)


def _cloud(cloud: PointCloud, columns: int, palette: str) -> "list[Text]":
    """Draw a dot for each source image and the symbol of its class for each target image, which is on top."""
    from rich.text import Text

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


def _legend(classes: Sequence[str], width: int, palette: str) -> "Iterator[Text]":
    """Name the symbol of each class; colours are shared by source and target."""
    from rich.text import Text

    line = Text.assemble(("symbols: target, dots: source", "dim"))
    for index, name in enumerate(classes):
        title = "" if name == _symbol(index) else f" {printable(name)[:MAXIMUM_NAME]}"
        entry = Text.assemble((f"  {_symbol(index)}", colour(index, palette)), title)
        if line.cell_len + entry.cell_len > width:
            yield line
            line = Text()
        line.append_text(entry)
    yield line
