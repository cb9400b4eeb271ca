"""Random scenes of SYN-DIGITS: text, font, stroke, colours, placement and blur."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.data.images import LUMA
from core.data.synth_glyphs import FONTS, HEIGHT

MAX_DIGITS = 3
COLOUR_CONTRAST, BRIGHTNESS_CONTRAST = 60.0, 45.0
"""The least mean colour difference and the least grey difference that keep a digit legible."""


@dataclass(frozen=True)
class Scenes:
    """Images before they are drawn, one row each."""

    digits: NDArray[np.int64]
    """(N, 3): the number's digits; only the first `length` are used."""
    length: NDArray[np.int64]
    centre: NDArray[np.int64]
    """The index of the digit in the middle of the image, which is the label."""
    font: NDArray[np.int64]
    weight: NDArray[np.int64]
    """Thickening of the strokes, in pixels of a glyph."""
    outline: NDArray[np.int64]
    """Width of the outline, in pixels of a glyph; 0 is none."""
    gap: NDArray[np.int64]
    colours: NDArray[np.int64]
    """(N, 3, 3): background, stroke and outline."""
    placement: NDArray[np.float64]
    """(N, 2, 3): the affine map from pixels of the image to pixels of the canvas, both relative to their centres."""
    blur: NDArray[np.float64]


def draw_scenes(labels: NDArray[np.int64], random: np.random.Generator) -> Scenes:
    """Draw random scenes with these digits in the middle."""
    count = len(labels)
    length = random.choice(MAX_DIGITS, size=count, p=(0.3, 0.4, 0.3)) + 1
    centre = (random.random(count) * length).astype(np.int64)
    digits = random.integers(10, size=(count, MAX_DIGITS))
    digits[np.arange(count), centre] = labels
    outline = random.choice((0, 2, 3), size=count, p=(0.6, 0.2, 0.2))
    return Scenes(
        digits=digits,
        length=length,
        centre=centre,
        font=random.integers(len(FONTS), size=count),
        weight=random.choice((0, 1, 2), size=count, p=(0.5, 0.35, 0.15)),
        outline=outline,
        gap=random.integers(0, 9, size=count),
        colours=_draw_colours(outline > 0, random),
        placement=_draw_placement(count, random),
        blur=np.where(random.random(count) < 0.25, 0.0, random.uniform(0.3, 1.4, size=count)),
    )


def _draw_placement(count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Draw size, stretch, slant, rotation and shift; return them as maps from the image to the canvas."""
    angle = np.deg2rad(random.uniform(-18, 18, size=count))
    rotate = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=1).reshape(-1, 2, 2)
    slant = np.tile(np.eye(2), (count, 1, 1))
    slant[:, 0, 1] = random.uniform(-0.2, 0.2, size=count)
    height = random.uniform(17.0, 28.0, size=count)
    size = np.zeros((count, 2, 2))
    size[:, 0, 0] = HEIGHT / (height * random.uniform(0.8, 1.15, size=count))
    size[:, 1, 1] = HEIGHT / height
    matrix = size @ slant @ rotate
    shift = random.uniform(-2.5, 2.5, size=(count, 2, 1))
    return np.concatenate([matrix, -matrix @ shift], axis=2)


def _draw_colours(outlined: NDArray[np.bool_], random: np.random.Generator) -> NDArray[np.int64]:
    """Draw colours of background, stroke and outline until the stroke is legible against both others."""
    colours = random.integers(256, size=(len(outlined), 3, 3))
    while True:
        background, stroke, outline = colours[:, 0], colours[:, 1], colours[:, 2]
        legible = _is_legible(stroke, background) & (~outlined | _is_legible(stroke, outline))
        again = np.flatnonzero(~legible)
        if not len(again):
            return colours
        colours[again] = random.integers(256, size=(len(again), 3, 3))


def _is_legible(stroke: NDArray[Any], surface: NDArray[Any]) -> NDArray[np.bool_]:
    colour = np.abs(stroke - surface).mean(axis=1)
    brightness = np.abs((stroke - surface) @ np.array(LUMA))
    legible: NDArray[np.bool_] = (colour >= COLOUR_CONTRAST) & (brightness >= BRIGHTNESS_CONTRAST)
    return legible
