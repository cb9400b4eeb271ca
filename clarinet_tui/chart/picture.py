"""A picture as text: two pixels in each character, in colour or, without colours, as shades."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.text import printable

if TYPE_CHECKING:
    from rich.text import Text

UPPER_HALF = "▀"
SHADES = " .:-=+*#%@"
CELL_COLUMNS, CELL_ROWS, GAP = 16, 8, 2
"""The size of a picture in a grid, and the space between two."""


def picture_text(image: NDArray[np.uint8], columns: int, rows: int, *, colour: bool) -> "Text":
    """Return an image (H, W, C) in at most `columns` × `rows` characters, with its proportions."""
    from rich.color import Color
    from rich.style import Style
    from rich.text import Text

    pixels = _fit(image, columns, rows)
    lines = []
    for upper, lower in zip(pixels[::2].tolist(), pixels[1::2].tolist(), strict=True):
        line = Text()
        for above, below in zip(upper, lower, strict=True):
            if colour:
                line.append(UPPER_HALF, Style(color=Color.from_rgb(*above), bgcolor=Color.from_rgb(*below)))
            else:
                line.append(SHADES[sum((*above, *below)) * (len(SHADES) - 1) // (6 * 255)])
        lines.append(line)
    return Text("\n").join(lines)


def picture_grid(
    pictures: "Sequence[tuple[NDArray[np.uint8], Sequence[str]]]",
    width: int,
    *,
    colour: bool,
    columns: int = CELL_COLUMNS,
    rows: int = CELL_ROWS,
) -> "Text":
    """Return images side by side, as many as fit, each of at most `columns` × `rows` characters above its captions."""
    from rich.text import Text

    per_line = max(1, width // (columns + GAP))
    lines: list[Text] = []
    for start in range(0, len(pictures), per_line):
        chosen = pictures[start : start + per_line]
        drawn = [list(picture_text(image, columns, rows, colour=colour).split("\n")) for image, _ in chosen]
        lines += _join_cells(drawn, columns)
        lines += caption_lines([captions for _, captions in chosen], columns)
        lines.append(Text())
    return Text("\n").join(lines[:-1])


def caption_lines(captions: "Sequence[Sequence[str]]", columns: int) -> "list[Text]":
    """Return the captions of pictures that are side by side, each of them cut to `columns`."""
    from rich.text import Text

    cells = [[Text(printable(caption)) for caption in texts] for texts in captions]
    for text in (text for cell in cells for text in cell):
        text.truncate(columns, overflow="ellipsis")
    return _join_cells(cells, columns)


def _join_cells(cells: "Sequence[Sequence[Text]]", columns: int) -> "list[Text]":
    """Return lines of cells side by side; a cell with fewer lines ends with empty ones."""
    from rich.text import Text

    lines = []
    for parts in zip_longest(*cells):
        padded = [part or Text() for part in parts]
        for part in padded:
            part.pad_right(columns + GAP - part.cell_len)
        line = Text.assemble(*padded)
        line.rstrip()
        lines.append(line)
    return lines


def _fit(image: NDArray[np.uint8], columns: int, rows: int) -> NDArray[np.uint8]:
    """Return (2·r, c, 3), resized so that each character holds two square pixels."""
    from PIL import Image

    height, width = image.shape[:2]
    scale = min(columns / width, 2 * rows / height)
    new_width, new_rows = max(1, round(width * scale)), max(1, round(height * scale / 2))
    picture = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).convert("RGB")
    method = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
    return np.asarray(picture.resize((new_width, 2 * new_rows), method), dtype=np.uint8)
