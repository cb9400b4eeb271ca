"""A picture as text: two pixels in each character, in colour or, without colours, as shades."""

from collections.abc import Sequence
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
        cells = [_cell(*picture, columns, rows, colour) for picture in pictures[start : start + per_line]]
        height = max(len(cell) for cell in cells)
        for number in range(height):
            parts = [cell[number] if number < len(cell) else Text() for cell in cells]
            for part in parts:
                part.pad_right(columns + GAP - part.cell_len)
            line = Text.assemble(*parts)
            line.rstrip()
            lines.append(line)
        lines.append(Text())
    return Text("\n").join(lines[:-1])


def _cell(image: NDArray[np.uint8], captions: "Sequence[str]", columns: int, rows: int, colour: bool) -> "list[Text]":
    """Return the lines of one picture and its captions, the captions all at the same height."""
    from rich.text import Text

    lines = list(picture_text(image, columns, rows, colour=colour).split("\n"))
    lines += [Text() for _ in range(rows - len(lines))]
    for caption in captions:
        text = Text(printable(caption))
        text.truncate(columns, overflow="ellipsis")
        lines.append(text)
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
