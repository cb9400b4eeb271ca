"""Figures inside a page: real text and tables, and colours that follow the reader's light or dark theme."""

import re
from dataclasses import replace

from clarinet_tui.evidence.figures.figure import Drawing, Matrix
from clarinet_tui.evidence.figures.matplotlib_output import paint
from clarinet_tui.evidence.figures.style import COLUMN, PRINT, Theme
from clarinet_tui.evidence.report.markup import Markup, listed, table, tag, text

_STAND_INS = tuple(f"#fe01{place:02d}" for place in range(len(PRINT.lines)))
INSIDE = Theme(ink="#fe0190", faint="#fe0191", paper="#fe0192", lines=_STAND_INS)
"""Colours that no figure has by itself: each is replaced by a variable of the page."""
VARIABLES = {"90": "ink", "91": "faint", "92": "paper"}
LEAST = 0.005
_HEADER = re.compile(r'.*?<svg [^>]*viewBox="([^"]*)"[^>]*>', re.DOTALL)
_STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_GROUP = re.compile(r'<g id="[^"]*"')
_COLOUR = re.compile(r"(?<=: )#fe01(\d\d)")
_FONT = re.compile(r"font-family: '[^';]*'; ")
_PATH = re.compile(r' d="[^"]*"')
_LONG = re.compile(r"(\.\d\d)\d+")


def figure(drawing: Drawing) -> Markup:
    """Each panel is a picture of its own, so that a phone shows them below each other."""
    pictures = []
    for place, panel in enumerate(drawing.panels):
        if isinstance(panel, Matrix):
            pictures.append(matrix(panel))
            continue
        alone = replace(drawing, panels=(panel,))
        salt = f"{drawing.name}{place}"  # names inside one picture must not meet those of another
        painted = paint(alone, "svg", width=COLUMN, theme=INSIDE, salt=salt, real_text=True)
        pictures.append(inlined(painted.decode(), f"{drawing.title}: {panel.title}"))
    return tag("figure", tag("div", *pictures, class_="panels"), tag("figcaption", listed(drawing.notes)))


def matrix(panel: Matrix) -> Markup:
    """A table whose cells are as strong as their numbers; what is below half a percent is left empty."""
    rows = []
    for name, shares in zip(panel.classes, panel.shares, strict=True):
        cells = [
            tag("td", f"{share * 100:.0f}" if share >= LEAST else None, style=f"--share: {share:.2f}")
            for share in shares
        ]
        rows.append(tag("tr", tag("th", name), *cells))
    return table(["", *panel.classes], rows, caption=panel.title, class_="matrix")


def inlined(svg: str, label: str) -> Markup:
    """Without what only a file needs: declarations, a style for everything, names of groups, a font, many digits."""
    header = _HEADER.match(svg)
    assert header is not None, "matplotlib writes a viewBox"
    body = _STYLE.sub("", svg[header.end() :])
    body = _FONT.sub("", _GROUP.sub("<g", body)).replace("<use xlink:href", "<use href")
    body = _PATH.sub(lambda found: _LONG.sub(r"\1", found[0]).replace("\n", ""), body)
    body = _COLOUR.sub(lambda found: f"var(--{VARIABLES.get(found[1], f'line{int(found[1])}')})", body)
    return Markup(f'<svg viewBox="{header[1]}" role="img" aria-label="{text(label)}">{body}')
