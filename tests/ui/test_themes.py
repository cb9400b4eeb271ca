"""Themes: contrast, colour vision, few colours, limited fonts."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.segment import Segment
from textual.color import Color
from textual.theme import Theme

from clarinet_tui.chart.palette import PALETTES, colour
from clarinet_tui.ui.themes import CONTRAST, GLYPH, PLAIN, THEMES, PlainGlyphs, needs_plain_glyphs
from tests.support.app import SMALL, open_app, screen_text
from tests.support.ui_runs import three_runs

Vector = NDArray[np.float64]
VISIONS = {
    "usual": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""Machado, Oliveira and Fernandes (2009), in linear RGB."""
TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
WHITE = np.array([0.9505, 1.0, 1.0888])


def linear(text: str) -> Vector:
    values = np.array(Color.parse(text).rgb) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: Vector) -> Vector:
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, two: str) -> float:
    """As the Web Content Accessibility Guidelines have it."""
    light, dark = sorted((float(TO_XYZ[1] @ linear(text)) for text in (one, two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_lines_and_muted_text_contrast_with_the_background(theme: Theme) -> None:
    for name in ("foreground-muted", "foreground-disabled", "text-disabled"):
        for background in (theme.background, theme.surface):
            shown = Color.parse(str(background)) + Color.parse(theme.variables[name])
            assert contrast(shown.hex, str(background)) >= 4.5, (name, background)
    assert theme.background is not None
    colours = PALETTES[theme.variables["chart-palette"]]
    assert min(contrast(one, theme.background) for one in colours) >= (7.0 if theme.name == CONTRAST else 4.5)
    for vision in VISIONS.values():
        seen = [lab(vision @ linear(one)) for one in colours]
        distances = {
            pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in itertools.combinations(range(8), 2)
        }
        assert min(distances.values()) >= 10.0
        assert min(distance for (_, two), distance in distances.items() if two < 4) >= 12.9


async def test_text_is_readable_in_every_theme_at_once(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="● target", size=SMALL) as (app, pilot):
        for theme in ("nord", "ansi-dark", *(one.name for one in THEMES)):
            app.theme = theme
            await pilot.pause()
            assert "● target" in screen_text(app)
            assert app.has_class("-contrast") == (theme == CONTRAST)
            names = ["foreground", "foreground-muted", "text-primary", "text-success", "text-error", "text-warning"]
            if theme not in [one.name for one in THEMES]:
                continue
            variables, ground = app.get_css_variables(), Color.parse(str(app.current_theme.background))
            for name in [*names, *(["text-disabled"] if theme == CONTRAST else [])]:
                seen = ground.blend(Color.parse(variables[name]).with_alpha(1.0), Color.parse(variables[name]).a)
                assert contrast(seen.hex, ground.hex) >= (7.0 if theme == CONTRAST else 4.5), name


def test_unknown_palettes_are_the_dark_one() -> None:
    assert colour(9, "of another time") == colour(1, "dark")


def test_plain_glyphs_have_the_same_width() -> None:
    assert needs_plain_glyphs({"TERM": "linux"})
    assert not needs_plain_glyphs({"TERM": "xterm-256color"})
    assert len(GLYPH) == len(PLAIN)
    segments = PlainGlyphs().apply([Segment("✓ ok ━━╸"), Segment("plain")], Color(0, 0, 0))
    assert [segment.text for segment in segments] == ["+ ok ==-", "plain"]


async def test_a_limited_console_shows_only_plain_glyphs(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    three_runs(runs_dir)
    async with open_app(runs_dir, text="o target", size=SMALL) as (app, _):
        assert not set(GLYPH) & set(screen_text(app))
        assert "▀" in screen_text(app)
