"""Samples of both domains below the launch form, or instead of it where the terminal is small."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive

from clarinet_tui.chart.picture import CELL_COLUMNS
from clarinet_tui.ui.snapshot.samples import TaskSamples
from clarinet_tui.ui.text.inspection import format_samples
from clarinet_tui.ui.widgets.styled_text import StyledText

SMALL = 12
"""Columns of a sample on a low screen, where two lines of them fit."""


class SampleGrid(StyledText):
    """Empty until there are samples."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    SampleGrid { height: auto; margin-top: 1; }
    .-narrow SampleGrid, .-low SampleGrid { display: none; margin-top: 0; }
    .-samples SampleGrid { display: none; }
    .-samples.-narrow SampleGrid, .-samples.-low SampleGrid { display: block; }
    .-samples.-narrow .field, .-samples.-low .field { display: none; }
    .-samples.-narrow #settings { display: none; }
    """

    samples: reactive[TaskSamples | None] = reactive[TaskSamples | None](None)

    def watch_samples(self) -> None:
        self.on_resize()

    def on_resize(self) -> None:
        """Draw as many samples as fit."""
        columns = SMALL if self.screen.has_class("-low") else CELL_COLUMNS
        self.set_content(format_samples(self.samples, self.size.width, columns) if self.samples else Content())
