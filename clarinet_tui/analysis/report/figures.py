"""Figures inside a page, with selectable text and colours that follow the browser's light or dark theme."""

import re
from dataclasses import replace

from clarinet_tui.analysis.figures.figure import ConfusionMatrix, Figure
from clarinet_tui.analysis.figures.matplotlib_output import COLUMN, PRINT, Theme, render_figure
from clarinet_tui.analysis.report.markup import Markup, bullet_list, escape, table, tag

_PLACEHOLDERS = tuple(f"#fe01{index:02d}" for index in range(len(PRINT.lines)))
PLACEHOLDER_THEME = Theme(foreground="#fe0190", faint="#fe0191", background="#fe0192", lines=_PLACEHOLDERS)
"""Placeholder colours that are replaced by CSS variables."""
VARIABLES = {"90": "foreground", "91": "faint", "92": "background"}
MINIMUM_SHARE = 0.005
_HEADER = re.compile(r'.*?<svg [^>]*viewBox="([^"]*)"[^>]*>', re.DOTALL)
_STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_GROUP = re.compile(r'<g id="[^"]*"')
_COLOUR = re.compile(r"(?<=: )#fe01(\d\d)")
_FONT = re.compile(r"font-family: '[^';]*'; ")
_PATH = re.compile(r' d="[^"]*"')
_LONG = re.compile(r"(\.\d\d)\d+")


def figure_markup(figure: Figure, prefix: str = "") -> Markup:
    """Render each panel as a separate image, so that a narrow screen shows them below each other.

    `prefix` makes the ids of elements differ from those of another figure of the same name.
    """
    images = []
    for index, panel in enumerate(figure.panels):
        if isinstance(panel, ConfusionMatrix):
            images.append(matrix_markup(panel))
            continue
        alone = replace(figure, panels=(panel,))
        salt = f"{prefix}{figure.name}{index}"  # element ids must differ between images
        svg = render_figure(alone, "svg", width=COLUMN, theme=PLACEHOLDER_THEME, salt=salt, real_text=True)
        images.append(inline_svg(svg.decode(), f"{figure.title}: {panel.title}"))
    return tag("figure", tag("div", *images, class_="panels"), tag("figcaption", bullet_list(figure.notes)))


def matrix_markup(panel: ConfusionMatrix) -> Markup:
    """Render a table with cells shaded by share; shares below half a percent are empty."""
    rows = []
    for name, shares in zip(panel.classes, panel.shares, strict=True):
        cells = [
            tag("td", f"{share * 100:.0f}" if share >= MINIMUM_SHARE else None, style=f"--share: {share:.2f}")
            for share in shares
        ]
        rows.append(tag("tr", tag("th", name), *cells))
    return table(["", *panel.classes], rows, caption=panel.title, class_="matrix")


def inline_svg(svg: str, label: str) -> Markup:
    """Reduce an SVG file to an inline element: no declarations, global style, group ids, font or extra digits."""
    header = _HEADER.match(svg)
    assert header is not None, "matplotlib writes a viewBox"
    body = _STYLE.sub("", svg[header.end() :])
    body = _FONT.sub("", _GROUP.sub("<g", body)).replace("<use xlink:href", "<use href")
    body = _PATH.sub(lambda match: _LONG.sub(r"\1", match[0]).replace("\n", ""), body)
    body = _COLOUR.sub(lambda match: f"var(--{VARIABLES.get(match[1], f'line{int(match[1])}')})", body)
    return Markup(f'<svg viewBox="{header[1]}" role="img" aria-label="{escape(label)}">{body}')
