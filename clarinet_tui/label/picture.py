"""A picture as text: two pixels in each character, in colour or, without colours, as shades."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rich.text import Text

UPPER_HALF = "▀"
SHADES = " .:-=+*#%@"


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


def _fit(image: NDArray[np.uint8], columns: int, rows: int) -> NDArray[np.uint8]:
    """Return (2·r, c, 3), resized so that each character holds two square pixels."""
    from PIL import Image

    height, width = image.shape[:2]
    scale = min(columns / width, 2 * rows / height)
    new_width, new_rows = max(1, round(width * scale)), max(1, round(height * scale / 2))
    picture = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).convert("RGB")
    method = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
    return np.asarray(picture.resize((new_width, 2 * new_rows), method), dtype=np.uint8)
