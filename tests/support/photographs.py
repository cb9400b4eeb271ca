"""Drawn pictures that resemble photographs: twelve classes, two styles, other sizes and proportions."""

import colorsys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SHAPES = ("disc", "square", "bar", "star")
COLOURS = ("red", "green", "blue")
CLASSES = tuple(f"{colour} {shape}" for colour in COLOURS for shape in SHAPES)


def draw_photograph(label: int, seed: int, sketch: bool, size: tuple[int, int]) -> Image.Image:
    """Draw one picture: a coloured thing on a noisy ground, or its blurred outline on paper."""
    random = np.random.default_rng((label, seed, sketch))
    width, height = size
    if sketch:
        ground = np.full((height, width, 3), 235, np.uint8)
    else:
        ground = random.integers(40, 140, (height, width, 3)).astype(np.uint8)
    image = Image.fromarray(ground)
    radius = min(size) * random.uniform(0.25, 0.4)
    x, y = (side / 2 + random.uniform(-0.1, 0.1) * side for side in size)
    hue = (label // len(SHAPES)) / 3 + random.uniform(-0.05, 0.05)
    red, green, blue = (int(255 * value) for value in colorsys.hsv_to_rgb(hue % 1, 0.9, 0.5 if sketch else 0.9))
    points = _outline(SHAPES[label % len(SHAPES)], x, y, radius)
    draw = ImageDraw.Draw(image)
    draw.polygon(points, fill=None if sketch else (red, green, blue), outline=(red, green, blue), width=3)
    return image.filter(ImageFilter.GaussianBlur(1)) if sketch else image


def _outline(shape: str, x: float, y: float, radius: float) -> list[tuple[float, float]]:
    if shape == "bar":
        thin = radius / 4
        return [(x - radius, y - thin), (x + radius, y - thin), (x + radius, y + thin), (x - radius, y + thin)]
    corners = {"disc": 24, "square": 4, "star": 10}[shape]
    angles = np.arange(corners) * 2 * np.pi / corners + np.pi / 4
    radii = np.where(np.arange(corners) % 2, radius * 0.4, radius) if shape == "star" else np.full(corners, radius)
    return [(x + r * np.cos(a), y + r * np.sin(a)) for r, a in zip(radii, angles, strict=True)]


def photograph_folder(folder: Path, *, sketch: bool, count: int, side: int) -> Path:
    """Write <class>/<number>.jpg or .png, half of them wide and half of them tall."""
    for label, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        for number in range(count):
            size = (side * 3 // 2, side) if number % 2 else (side, side * 5 // 4)
            suffix = "png" if number % 3 == 0 else "jpg"
            draw_photograph(label, number, sketch, size).save(folder / name / f"{number:02d}.{suffix}")
    return folder
