"""The numbers of a comparison: a table of differences, and below it the detail of the highlighted difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from clarinet_tui.ui.text.difference_detail import format_difference_detail
from clarinet_tui.ui.text.difference_table import (
    SideLabel,
    format_difference_line,
    format_difference_table,
    label_sides,
)
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.chart import theme_palette
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from clarinet_tui.analysis.comparison import PairedDifference
    from clarinet_tui.ui.snapshot.comparison import ComparisonSnapshot, TaskComparison, TaskPreset


class DifferencePane(GuardedHandlers, Vertical):
    """Call `show` with a comparison, and `move_cursor`."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._snapshot: ComparisonSnapshot | None = None
        self._cursor = 0
        self._all_settings = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="differences", can_focus=False):
            yield StyledText(id="difference-table")
        with VerticalScroll(id="difference"):
            yield StyledText(id="difference-detail")

    def _differences(self) -> list[tuple[TaskComparison, PairedDifference]]:
        parts = self._snapshot.parts if self._snapshot else ()
        return [(part, difference) for part in parts for difference in part.differences]

    @property
    def _highlighted(self) -> tuple[TaskComparison, PairedDifference] | None:
        differences = self._differences()
        return differences[min(self._cursor, len(differences) - 1)] if differences else None

    @property
    def highlighted_difference(self) -> PairedDifference | None:
        return self._highlighted[1] if self._highlighted else None

    @property
    def task_preset(self) -> TaskPreset | None:
        """The task and preset whose curves are shown; None is the first."""
        first = self._snapshot.parts[0] if self._snapshot and self._snapshot.parts else None
        return self._highlighted[0].task_preset if self._highlighted and self._highlighted[0] is not first else None

    @property
    def highlighted_sides(self) -> tuple[int, ...]:
        """The indices of the highlighted difference's sides in their task."""
        if self._highlighted is None:
            return ()
        part, difference = self._highlighted
        sides = id(difference.left), id(difference.right)
        return tuple(index for index, side in enumerate(part.sides) if id(side) in sides)

    @property
    def summary(self) -> Content:
        """The highlighted difference in one line."""
        if self._highlighted is None:
            return styled()
        return format_difference_line(self._highlighted[1], self._labels(*self._highlighted))

    def _labels(self, part: TaskComparison, difference: PairedDifference) -> tuple[SideLabel, SideLabel]:
        labels = label_sides(part, theme_palette(self.app.current_theme))
        return labels[id(difference.left)], labels[id(difference.right)]

    def show(self, snapshot: ComparisonSnapshot) -> None:
        """Show a comparison; a new selection of runs highlights its first difference with pairs."""
        is_new = self._snapshot is None or self._snapshot.selection != snapshot.selection
        self._snapshot = snapshot
        if is_new:
            differences = enumerate(self._differences())
            self._cursor = next((index for index, (_, difference) in differences if difference.paired.pairs), 0)
        self._update()

    def move_cursor(self, rows: int) -> None:
        self._cursor = min(max(self._cursor + rows, 0), max(len(self._differences()) - 1, 0))
        self._update()
        self.query_one("#difference", VerticalScroll).scroll_home(animate=False)

    def toggle_settings(self) -> None:
        """List all settings that differ, or only those that both sides have."""
        self._all_settings = not self._all_settings
        self._update()

    def scroll(self, lines: int) -> None:
        self.query_one("#difference", VerticalScroll).scroll_relative(y=lines, animate=False)

    def on_resize(self) -> None:
        self._update()

    def _update(self) -> None:
        snapshot, width = self._snapshot, self.size.width - 1
        if snapshot is None or snapshot.comparison is None or width <= 0:
            return
        palette = theme_palette(self.app.current_theme)
        table, cursor_line = format_difference_table(snapshot, self._cursor, palette, width)
        self.query_one("#difference-table", StyledText).set_content(table)
        self.query_one("#differences", VerticalScroll).scroll_to(y=max(0, cursor_line - 3), animate=False)
        detail = styled((" Only one side: nothing to compare it with.", "muted"))
        if self._highlighted:
            labels, rule = self._labels(*self._highlighted), snapshot.comparison.rule_description
            detail = format_difference_detail(self._highlighted[1], labels, width, rule, self._all_settings)
        self.query_one("#difference-detail", StyledText).set_content(detail)
