"""The numbers of a comparison: a table of differences, and below it all about the one under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from clarinet_tui.ui.error_guard import Guarded
from clarinet_tui.ui.text.run_summary import said
from clarinet_tui.ui.widgets.chart_styles import palette_of
from clarinet_tui.ui.widgets.text_line import Words

if TYPE_CHECKING:
    from clarinet_tui.evidence.comparison import Contrast
    from clarinet_tui.ui.snapshot.comparison import Compared, Part, Place


class ContrastPane(Guarded, Vertical):
    """`show` a comparison; `step` moves the cursor."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._compared: Compared | None = None
        self._chosen = 0

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="contrasts", can_focus=False):
            yield Words(id="contrast-table")
        with VerticalScroll(id="contrast"):
            yield Words(id="contrast-detail")

    @property
    def _under(self) -> tuple[Part, Contrast] | None:
        parts = self._compared.parts if self._compared else ()
        listed = [(part, contrast) for part in parts for contrast in part.contrasts]
        return listed[min(self._chosen, len(listed) - 1)] if listed else None

    @property
    def contrast(self) -> Contrast | None:
        """The one under the cursor."""
        return self._under[1] if self._under else None

    @property
    def place(self) -> Place | None:
        """Of what curves are to be read; the first part's are, unless another is asked for."""
        first = self._compared.parts[0] if self._compared and self._compared.parts else None
        return self._under[0].place if self._under and self._under[0] is not first else None

    @property
    def front(self) -> tuple[int, ...]:
        """The numbers of its sides in their part."""
        if self._under is None:
            return ()
        part, contrast = self._under
        return tuple(n for n, side in enumerate(part.sides) if side is contrast.left or side is contrast.right)

    @property
    def verdict(self) -> Content:
        """The same in a line."""
        from clarinet_tui.ui.text import difference_table as contrast_table

        if self._under is None:
            return said()
        part, contrast = self._under
        signs = contrast_table.signs_of(part, palette_of(self.app.current_theme))
        return contrast_table.verdict(contrast, (signs[id(contrast.left)], signs[id(contrast.right)]))

    def show(self, compared: Compared) -> None:
        """Another choice of runs begins with its first difference that there is."""
        if self._compared is None or self._compared.asked != compared.asked:
            contrasts = [contrast for part in compared.parts for contrast in part.contrasts]
            known = (number for number, one in enumerate(contrasts) if one.paired.pairs)
            self._chosen = next(known, 0)
        self._compared = compared
        self._write()

    def step(self, by: int) -> None:
        count = sum(len(part.contrasts) for part in self._compared.parts) if self._compared else 0
        self._chosen = min(max(self._chosen + by, 0), max(count - 1, 0))
        self._write()
        self.query_one("#contrast", VerticalScroll).scroll_home(animate=False)

    def scroll(self, lines: int) -> None:
        self.query_one("#contrast", VerticalScroll).scroll_relative(y=lines, animate=False)

    def on_resize(self) -> None:
        self._write()

    def _write(self) -> None:
        from clarinet_tui.ui.text import difference_detail as contrast_detail
        from clarinet_tui.ui.text import difference_table as contrast_table

        compared, width = self._compared, self.size.width - 1
        if compared is None or compared.comparison is None or width <= 0:
            return
        palette = palette_of(self.app.current_theme)
        rows, at = contrast_table.table(compared, self._chosen, palette, width)
        self.query_one("#contrast-table", Words).say(rows)
        self.query_one("#contrasts", VerticalScroll).scroll_to(y=max(0, at - 3), animate=False)
        detail = said((" One side alone: nothing to compare it with.", "muted"))
        if self._under:
            part, contrast = self._under
            signs = contrast_table.signs_of(part, palette)
            pair = signs[id(contrast.left)], signs[id(contrast.right)]
            detail = contrast_detail.detail(contrast, pair, width, compared.comparison.selected)
        self.query_one("#contrast-detail", Words).say(detail)
