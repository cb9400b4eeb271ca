"""Line charts for Textual, drawn with numpy into Braille dots: fast, honest about peaks and gaps, at home over SSH.

    from clarinet_tui.ui.chart import Chart, Line

    chart = Chart("Loss")
    chart.lines = (Line.of("train", x, y), Line.envelope("test", x, low, high, mean))

The widget knows nothing of where numbers come from. Everything it shows is a reactive, and every line is immutable:

- `lines`: what is drawn, the first on top. `Line.of(name, x, y)` takes points, `Line.envelope(name, x, low, high,
  mean, missing)` takes summaries. Each pixel column inks everything from its lowest to its highest value, so no peak is
  lost however many points there are. NaN is a gap with × in a row of its own; infinite values, and values that a log
  scale cannot show, are arrows at the edge.
- `behind`: what lies behind the lines, dimmed, the first on top. `Band.of(x, low, high, slot=0)` shades the room
  between two curves with sparse dots in the colour of the line in that slot, such as the spread of seeds around their
  mean; a `Line` with the slot of another one is company for it, such as a seed behind the mean. Ghosts, in neutral
  grey, are what has no slot: `Band.of(x, low, high, name="earlier seeds")`, which the legend names, a `Line`, and
  `Level(93.1, "published 93.1")`, a dashed rule with its label. All count for the height of the axes, not for x.
- `beside`: what only counts for the axes. Give each of two charts what the other has: both have the same axes.
- `marks`: vertical marks with a label. `x_range`: what counts as everything along x, for charts that share it.
  `y_range`: fixed edges (linear scale). `x_name`, `x_is_time`, `x_labels`: the x axis.
- `scale`: "linear", "log" or "symlog" (signed, with a zero line). `smoothing`: how far an exponential average reaches
  back, as a share of the width; the raw values stay behind it, dimmed.
- `least_header`: so many rows for title and legend at least, so that charts beside each other line up (`header_rows`).
- `remark`: a few words at the right end of the header, such as what the bands are.
- `view`: what is shown of x: everything (`View()`), a window, or a window that follows the newest point.
- `crosshair`: an x, whose values then stand in the legend.

Keys: + - zoom, h l pan, 0 everything, f follow, L next scale, m smoothing, left and right move the crosshair (shift: by
ten cells), esc hides it. Mouse: the wheel zooms, dragging pans, the crosshair is under the pointer.
Messages: `Chart.ViewChanged` and `Chart.CrosshairMoved`, posted only for what the user does; to keep charts in step,
copy `view` and `crosshair` from one to the other in their handlers. `Chart.RoomChanged` says that it has another size.

Colours are Okabe and Ito's, for dark and light themes; markers tell lines apart without colour. `glyphs` chooses the
dots: `BRAILLE`, `QUADRANTS` for terminals without Braille, `HALVES` for the Linux console; `glyphs_for` guesses.
Below the widget, `draw(Plan(...))` makes the same picture as plain characters, without Textual.
"""

from clarinet_tui.ui.chart.behind import Band, Behind, Level
from clarinet_tui.ui.chart.canvas import BRAILLE, HALVES, QUADRANTS, Glyphs, glyphs_for
from clarinet_tui.ui.chart.palette import colour, marker
from clarinet_tui.ui.chart.picture import Picture, draw
from clarinet_tui.ui.chart.plan import Plan
from clarinet_tui.ui.chart.series import Line, Mark, extent_of
from clarinet_tui.ui.chart.styles import palette_of
from clarinet_tui.ui.chart.view import View
from clarinet_tui.ui.chart.widget import Chart

__all__ = [
    "BRAILLE",
    "HALVES",
    "QUADRANTS",
    "Band",
    "Behind",
    "Chart",
    "Glyphs",
    "Level",
    "Line",
    "Mark",
    "Picture",
    "Plan",
    "View",
    "colour",
    "draw",
    "extent_of",
    "glyphs_for",
    "marker",
    "palette_of",
]
