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

RECIPE = 1
SIZES = (10_000, 2_000)
SIDE = 32
SCALE = 2
"""Factor by which digits are drawn larger and then averaged, for smooth edges."""
CANVAS = 176
"""Wider than the image, so that neighbours are cut off by the image and not by the canvas."""


def generate_synth(
    train: int, test: int, seed: int, progress: Callable[[int, int], None] = lambda done, total: None
) -> GeneratedData:
    """Generate training and test images; the same seed gives the same images."""
    total = train + test
    first = draw_digits(train, stream_seed(seed, "synth", "train"), lambda done: progress(done, total))
    second = draw_digits(test, stream_seed(seed, "synth", "test"), lambda done: progress(train + done, total))
    return GeneratedData(first, second, GenerationRecord(RECIPE, seed, train, test))


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
    middle = SIDE / 2
    view = canvas.transform(
        (SIDE * SCALE, SIDE * SCALE),
        Image.Transform.AFFINE,
        (
            a / SCALE,
            b / SCALE,
            c + CANVAS / 2 - (a + b) * middle,
            d / SCALE,
            e / SCALE,
            f + CANVAS / 2 - (d + e) * middle,
        ),
        resample=Image.Resampling.BILINEAR,
        fillcolor=background,
    ).reduce(SCALE)
    blur = float(scenes.blur[row])
    return np.asarray(view.filter(ImageFilter.GaussianBlur(blur)) if blur else view, dtype=np.uint8)


def _print_digits(canvas: "Image", scenes: Scenes, row: int, border: int, colour: tuple[int, ...]) -> None:
    """Print the digits side by side, the labelled one in the middle of the canvas."""
    font, centre = int(scenes.font[row]), int(scenes.centre[row])
    gap = int(scenes.gap[row] + 2 * (scenes.weight[row] + scenes.outline[row]))
    line = [draw_glyph(font, int(digit), border) for digit in scenes.digits[row, : scenes.length[row]]]
    middle = line[centre]
    left = (CANVAS - middle.width) // 2 - sum(one.width + gap for one in line[:centre])
    foot = (CANVAS + middle.height) // 2
    for one in line:
        canvas.paste(colour, (left - border, foot - one.height - border), one.ink)
        left += one.width + gap
