"""The ten digits in matplotlib's fonts, each drawn once and cached."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

FONTS = (
    *(f"DejaVuSans{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSansMono{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSerif{style}" for style in ("", "-Bold", "-Italic", "-BoldItalic")),
    *(f"STIXGeneral{style}" for style in ("", "Bol", "Italic", "BolIta")),
    *("cmb10", "cmr10", "cmss10", "cmti10", "cmtt10"),
)
HEIGHT = 48
"""Height of a zero in pixels."""


@dataclass(frozen=True)
class Glyph:
    """The ink of one digit, thickened by its border; width and height exclude the border."""

    ink: "Image"
    width: int
    height: int


@cache
def draw_glyph(font: int, digit: int, border: int) -> Glyph:
    from PIL import Image, ImageDraw

    face = _load_font(font)
    left, top, right, bottom = (round(edge) for edge in face.getbbox(str(digit), anchor="ls"))
    width, height = right - left, bottom - top
    ink = Image.new("L", (width + 2 * border, height + 2 * border))
    ImageDraw.Draw(ink).text(
        (border - left, border - top), str(digit), fill=255, font=face, anchor="ls", stroke_width=border
    )
    return Glyph(ink, width, height)


@cache
def _load_font(font: int) -> "FreeTypeFont":
    """Return the font at the size at which its zero is HEIGHT pixels high."""
    import matplotlib
    from PIL import ImageFont

    path = Path(matplotlib.get_data_path(), "fonts", "ttf", f"{FONTS[font]}.ttf")
    _, top, _, bottom = ImageFont.truetype(path, 100).getbbox("0", anchor="ls")
    return ImageFont.truetype(path, round(100 * HEIGHT / (bottom - top)))
