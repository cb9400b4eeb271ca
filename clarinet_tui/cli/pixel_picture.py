"""Pictures in the terminal's own pixels, for terminals with sixel or kitty's graphics, through textual-image."""

import importlib
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pixel_picture(image: NDArray[np.uint8], columns: int, rows: int) -> Any | None:
    """Return a Rich renderable of an image (H, W, 3); None if the terminal or the extra [pictures] has none."""
    from PIL import Image

    renderer = _find_renderer()
    if renderer is None:
        return None
    height, width = image.shape[:2]
    return renderer(Image.fromarray(image), width=max(1, min(columns, 2 * rows * width // height)), height="auto")


@cache
def _find_renderer() -> Any | None:
    """Ask the terminal what it can show, which textual-image does when it is imported."""
    try:
        renderable = importlib.import_module("textual_image.renderable")
    except ImportError:
        return None
    found = renderable.Image
    return found if found in (renderable.TGPImage, renderable.SixelImage) else None
