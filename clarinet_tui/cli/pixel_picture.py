"""Pictures in the terminal's own pixels, for terminals with sixel or kitty's graphics, through textual-image."""

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.chart.picture import CELL_COLUMNS, GAP, caption_lines

PIXELS = 8
"""Of a column, in a line of pictures; the terminal scales them to its own."""
PUSH_TITLE, POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"


def pixel_picture(image: NDArray[np.uint8], columns: int, rows: int) -> Any | None:
    """Return a Rich renderable of an image (H, W, 3); None if the terminal or the extra [pictures] has none."""
    from PIL import Image

    renderer = _find_renderer()
    if renderer is None:
        return None
    height, width = image.shape[:2]
    return renderer(Image.fromarray(image), width=max(1, min(columns, 2 * rows * width // height)), height="auto")


def pixel_lines(pictures: Sequence[tuple[NDArray[np.uint8], Sequence[str]]], width: int) -> Iterator[Any] | None:
    """Return Rich renderables: pictures side by side, as many as fit, and their captions; None without pixels."""
    renderer = _find_renderer()
    return None if renderer is None else _draw_lines(renderer, pictures, max(1, width // (CELL_COLUMNS + GAP)))


def _draw_lines(
    renderer: Any, pictures: Sequence[tuple[NDArray[np.uint8], Sequence[str]]], beside: int
) -> Iterator[Any]:
    from PIL import Image

    side, step = CELL_COLUMNS * PIXELS, (CELL_COLUMNS + GAP) * PIXELS
    for start in range(0, len(pictures), beside):
        line = pictures[start : start + beside]
        canvas = Image.new("RGB", (len(line) * step - GAP * PIXELS, side))
        for number, (image, _) in enumerate(line):
            scale = side / max(image.shape[:2])
            size = max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale))
            canvas.paste(Image.fromarray(image).resize(size, Image.Resampling.NEAREST), (number * step, 0))
        yield renderer(canvas, width=canvas.width // PIXELS, height="auto")
        yield from caption_lines([captions for _, captions in line], CELL_COLUMNS)


@cache
def _find_renderer() -> Any | None:
    """Ask the terminal what it can show, which textual-image does when it is imported."""
    try:
        with _keep_title():
            renderable = importlib.import_module("textual_image.renderable")
    except ImportError:
        return None
    found = renderable.Image
    return found if found in (renderable.TGPImage, renderable.SixelImage) else None


@contextmanager
def _keep_title() -> Iterator[None]:
    """Save and restore the title of a pane of tmux, which takes the question about kitty's graphics for a new one."""
    in_tmux = "TMUX" in os.environ and sys.stdout.isatty()
    print(PUSH_TITLE if in_tmux else "", end="", flush=True)
    try:
        yield
    finally:
        print(POP_TITLE if in_tmux else "", end="", flush=True)
