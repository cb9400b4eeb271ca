"""Generate SYN-DIGITS: numbers of one to three digits, printed in many fonts, cropped around one digit."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.data.digit_files import Digits
from core.data.generated import GeneratedData, GenerationRecord
from core.data.synth_glyphs import draw_glyph
from core.data.synth_scenes import Scenes, draw_scenes
from core.random_streams import stream_seed

if TYPE_CHECKING:
    from PIL.Image import Image

RECIPE_VERSION = 1
DEFAULT_SIZES = (10_000, 2_000)
SIDE = 32
SCALE = 2
"""Factor by which digits are drawn larger and then averaged, for smooth edges."""
CANVAS = 176
"""Wider than the image, so that neighbours are cut off by the image and not by the canvas."""


def generate_synth(
    train: int, test: int, seed: int, progress: Callable[[int, int], None] = lambda done, total: None
) -> GeneratedData:
    """Generate `train` and `test` images; the same seed gives the same images."""
    total = train + test
    train_digits = draw_digits(train, stream_seed(seed, "synth", "train"), lambda done: progress(done, total))
    test_digits = draw_digits(test, stream_seed(seed, "synth", "test"), lambda done: progress(train + done, total))
    return GeneratedData(train_digits, test_digits, GenerationRecord(RECIPE_VERSION, seed, train, test))


def draw_digits(count: int, seed: int, progress: Callable[[int], None] = lambda done: None) -> Digits:
    """Draw images labelled by the digit in the middle; class counts differ by at most one."""
    random = np.random.default_rng(seed)
    labels = random.permutation(np.arange(count) % 10)
    scenes = draw_scenes(labels, random)
    images = np.empty((count, SIDE, SIDE, 3), dtype=np.uint8)
    for row in range(count):
        images[row] = _draw(scenes, row)
        if (row + 1) % 250 == 0 or row + 1 == count:
            progress(row + 1)
    return images, labels


def _draw(scenes: Scenes, row: int) -> NDArray[np.uint8]:
    from PIL import Image, ImageFilter

    background, stroke, outline = (tuple(colour) for colour in scenes.colours[row].tolist())
    canvas = Image.new("RGB", (CANVAS, CANVAS), background)
    weight, edge = int(scenes.weight[row]), int(scenes.outline[row])
    if edge:
        _print_digits(canvas, scenes, row, weight + edge, outline)
    _print_digits(canvas, scenes, row, weight, stroke)
    (a, b, c), (d, e, f) = scenes.placement[row].tolist()
    x, y = c + CANVAS / 2 - (a + b) * SIDE / 2, f + CANVAS / 2 - (d + e) * SIDE / 2
    view = canvas.transform(
        (SIDE * SCALE, SIDE * SCALE),
        Image.Transform.AFFINE,
        (a / SCALE, b / SCALE, x, d / SCALE, e / SCALE, y),
        resample=Image.Resampling.BILINEAR,
        fillcolor=background,
    ).reduce(SCALE)
    blur = float(scenes.blur[row])
    return np.asarray(view.filter(ImageFilter.GaussianBlur(blur)) if blur else view, dtype=np.uint8)


def _print_digits(canvas: "Image", scenes: Scenes, row: int, border: int, colour: tuple[int, ...]) -> None:
    """Print the digits side by side, the labelled one in the middle of the canvas."""
    font, centre = int(scenes.font[row]), int(scenes.centre[row])
    gap = int(scenes.gap[row] + 2 * (scenes.weight[row] + scenes.outline[row]))
    glyphs = [draw_glyph(font, int(digit), border) for digit in scenes.digits[row, : scenes.length[row]]]
    middle = glyphs[centre]
    left = (CANVAS - middle.width) // 2 - sum(glyph.width + gap for glyph in glyphs[:centre])
    baseline = (CANVAS + middle.height) // 2
    for glyph in glyphs:
        canvas.paste(colour, (left - border, baseline - glyph.height - border), glyph.ink)
        left += glyph.width + gap
