"""Pictures in a terminal: two pixels in each character, in colour or as shades, or in the terminal's own pixels.

The last need a terminal with sixel or kitty's graphics, and textual-image.
"""

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style
from rich.text import Text

from clarinet_tui.text import printable

CaptionedImage = tuple[NDArray[np.uint8], Sequence[str]]
SHADES = " .:-=+*#%@"
CELL_COLUMNS, GAP = 16, 2
"""The width of a picture in a grid, and the space between two."""
PIXELS = 8
"""Of a column, in a line of pictures; the terminal scales them to its own."""


def picture_text(image: NDArray[np.uint8], columns: int, rows: int, *, colour: bool) -> Text:
    """Return an image (H, W, C) in at most `columns` × `rows` characters, with its proportions.

    Each character holds two square pixels.
    """
    from PIL import Image

    height, width = image.shape[:2]
    scale = min(columns / width, 2 * rows / height)
    size = max(1, round(width * scale)), 2 * max(1, round(height * scale / 2))
    picture = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).convert("RGB")
    method = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
    pixels = np.asarray(picture.resize(size, method), dtype=np.uint8)
    lines = []
    for upper, lower in zip(pixels[::2].tolist(), pixels[1::2].tolist(), strict=True):
        line = Text()
        for above, below in zip(upper, lower, strict=True):
            if colour:
                line.append("▀", Style(color=Color.from_rgb(*above), bgcolor=Color.from_rgb(*below)))
            else:
                line.append(SHADES[sum((*above, *below)) * (len(SHADES) - 1) // (6 * 255)])
        lines.append(line)
    return Text("\n").join(lines)


def picture_grid(pictures: Sequence[CaptionedImage], width: int, *, colour: bool, columns: int = CELL_COLUMNS) -> Text:
    """Return images side by side, as many as fit, each of at most `columns` characters above its captions."""
    per_line = max(1, width // (columns + GAP))
    lines: list[Text] = []
    for start in range(0, len(pictures), per_line):
        chosen = pictures[start : start + per_line]
        drawn = [list(picture_text(image, columns, columns // 2, colour=colour).split("\n")) for image, _ in chosen]
        lines += _join_cells(drawn, columns)
        lines += caption_lines([captions for _, captions in chosen], columns)
        lines.append(Text())
    return Text("\n").join(lines[:-1])


def caption_lines(captions: Sequence[Sequence[str]], columns: int) -> Iterator[Text]:
    """Return the captions of pictures that are side by side, each of them cut to `columns`."""
    return _join_cells([[Text(printable(caption)) for caption in texts] for texts in captions], columns)


def _join_cells(cells: Sequence[Sequence[Text]], columns: int) -> Iterator[Text]:
    """Yield lines of cells side by side, cut to `columns`; a cell with fewer lines ends with empty ones."""
    for parts in zip_longest(*cells):
        padded = [part or Text() for part in parts]
        for part in padded:
            part.truncate(columns, overflow="ellipsis", pad=True)
        line = Text(" " * GAP).join(padded)
        line.rstrip()
        yield line


def pixel_picture(image: NDArray[np.uint8], columns: int, rows: int) -> Any | None:
    """Return a Rich renderable of an image (H, W, 3); None if the terminal or the extra [pictures] has none."""
    from PIL import Image

    renderer = _find_renderer()
    if renderer is None:
        return None
    height, width = image.shape[:2]
    return renderer(Image.fromarray(image), width=max(1, min(columns, 2 * rows * width // height)), height="auto")


def pixel_lines(pictures: Sequence[CaptionedImage], width: int) -> list[Any]:
    """Return Rich renderables: pictures side by side, as many as fit, and their captions; empty without pixels."""
    from PIL import Image

    renderer = _find_renderer()
    if renderer is None:
        return []
    lines = []
    beside = max(1, width // (CELL_COLUMNS + GAP))
    side, step = CELL_COLUMNS * PIXELS, (CELL_COLUMNS + GAP) * PIXELS
    for start in range(0, len(pictures), beside):
        line = pictures[start : start + beside]
        canvas = Image.new("RGB", (len(line) * step - GAP * PIXELS, side))
        for number, (image, _) in enumerate(line):
            scale = side / max(image.shape[:2])
            size = max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale))
            canvas.paste(Image.fromarray(image).resize(size, Image.Resampling.NEAREST), (number * step, 0))
        lines.append(renderer(canvas, width=canvas.width // PIXELS, height="auto"))
        lines += caption_lines([captions for _, captions in line], CELL_COLUMNS)
    return lines


@cache
def _find_renderer() -> Any | None:
    """Ask the terminal what it can show, which textual-image does when it is imported."""
    # tmux takes the question about kitty's graphics for a new title of the pane, so the title is saved and restored.
    in_tmux = "TMUX" in os.environ and sys.stdout.isatty()
    print("\x1b[22;2t" if in_tmux else "", end="", flush=True)
    try:
        renderable = importlib.import_module("textual_image.renderable")
    except ImportError:
        return None
    finally:
        print("\x1b[23;2t" if in_tmux else "", end="", flush=True)
    found = renderable.Image
    return found if found in (renderable.TGPImage, renderable.SixelImage) else None
