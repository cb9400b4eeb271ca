"""The numbers of a comparison: a table of differences, and below it all about the one under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from clarinet_tui.ui.error_guard import GuardedHandlers
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.chart_styles import theme_palette
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from clarinet_tui.evidence.comparison import PairedDifference
    from clarinet_tui.ui.snapshot.comparison import ComparisonSnapshot, TaskComparison, TaskPreset


class DifferencePane(GuardedHandlers, Vertical):
    """`show` a comparison; `step` moves the cursor."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._compared: ComparisonSnapshot | None = None
        self._cursor = 0

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="contrasts", can_focus=False):
            yield StyledText(id="contrast-table")
        with VerticalScroll(id="contrast"):
            yield StyledText(id="contrast-detail")

    @property
    def _highlighted(self) -> tuple[TaskComparison, PairedDifference] | None:
        parts = self._compared.parts if self._compared else ()
        listed = [(part, contrast) for part in parts for contrast in part.contrasts]
        return listed[min(self._cursor, len(listed) - 1)] if listed else None

    @property
    def highlighted_difference(self) -> PairedDifference | None:
        """The one under the cursor."""
        return self._highlighted[1] if self._highlighted else None

    @property
    def place(self) -> TaskPreset | None:
        """Of what curves are to be read; the first part's are, unless another is asked for."""
        first = self._compared.parts[0] if self._compared and self._compared.parts else None
        return self._highlighted[0].place if self._highlighted and self._highlighted[0] is not first else None

    @property
    def highlighted_sides(self) -> tuple[int, ...]:
        """The numbers of its sides in their part."""
        if self._highlighted is None:
            return ()
        part, contrast = self._highlighted
        return tuple(n for n, side in enumerate(part.sides) if side is contrast.left or side is contrast.right)

    @property
    def summary(self) -> Content:
        """The same in a line."""
        from clarinet_tui.ui.text import difference_table as contrast_table

        if self._highlighted is None:
            return styled()
        part, contrast = self._highlighted
        signs = contrast_table.side_labels(part, theme_palette(self.app.current_theme))
        return contrast_table.format_difference_line(contrast, (signs[id(contrast.left)], signs[id(contrast.right)]))

    def show(self, compared: ComparisonSnapshot) -> None:
        """Another choice of runs begins with its first difference that there is."""
        if self._compared is None or self._compared.selection != compared.selection:
            contrasts = [contrast for part in compared.parts for contrast in part.contrasts]
            known = (number for number, one in enumerate(contrasts) if one.paired.pairs)
            self._cursor = next(known, 0)
        self._compared = compared
        self._update()

    def move_cursor(self, by: int) -> None:
        count = sum(len(part.contrasts) for part in self._compared.parts) if self._compared else 0
        self._cursor = min(max(self._cursor + by, 0), max(count - 1, 0))
        self._update()
        self.query_one("#contrast", VerticalScroll).scroll_home(animate=False)

    def scroll(self, lines: int) -> None:
        self.query_one("#contrast", VerticalScroll).scroll_relative(y=lines, animate=False)

    def on_resize(self) -> None:
        self._update()

    def _update(self) -> None:
        from clarinet_tui.ui.text import difference_detail as contrast_detail
        from clarinet_tui.ui.text import difference_table as contrast_table

        compared, width = self._compared, self.size.width - 1
        if compared is None or compared.comparison is None or width <= 0:
            return
        palette = theme_palette(self.app.current_theme)
        rows, at = contrast_table.format_difference_table(compared, self._cursor, palette, width)
        self.query_one("#contrast-table", StyledText).set_content(rows)
        self.query_one("#contrasts", VerticalScroll).scroll_to(y=max(0, at - 3), animate=False)
        detail = styled((" One side alone: nothing to compare it with.", "muted"))
        if self._highlighted:
            part, contrast = self._highlighted
            signs = contrast_table.side_labels(part, palette)
            pair = signs[id(contrast.left)], signs[id(contrast.right)]
            detail = contrast_detail.format_difference_detail(contrast, pair, width, compared.comparison.rule_description)
        self.query_one("#contrast-detail", StyledText).set_content(detail)
