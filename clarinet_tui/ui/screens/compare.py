"""Compare: two runs side by side on the same axes, crosshairs in step."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from clarinet_tui.ui import facts
from clarinet_tui.ui.difference import differences
from clarinet_tui.ui.screens.view import ViewScreen
from clarinet_tui.ui.snapshot import Snapshot, Wanted
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.words import Words

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot import Curves
    from clarinet_tui.ui.widgets.run_charts import RunCharts

HINT = "Nothing to compare yet: in History, select two runs with space, then press c."

SIDE_WITH_RESULTS = 90
"""The width of a side from which on its title also says what the run has reached."""


class CompareScreen(ViewScreen):
    """One-step on the left, two-step on the right; below, what differs."""

    NAME = "compare"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "axis", "X axis", id="compare.axis", tooltip="Iteration, epoch, adaptation epoch or time"),
        Binding("w", "swap", "Swap sides", id="compare.swap", show=False),
        Binding("escape", "app.view('history')", "Back", id="compare.back"),
    ]

    def compose(self) -> ComposeResult:
        from clarinet_tui.ui.widgets.run_charts import RunCharts

        yield self.top_bar()
        yield Static(HINT, id="compare-hint", markup=False)
        with Horizontal(id="compare"):
            for side in ("left", "right"):
                with Vertical(id=side, classes="side"):
                    yield Words(classes="side-title")
                    yield RunCharts(self.session.chart_glyphs(), id=f"{side}-charts")
        yield Words(id="differences")
        yield KeyFooter()

    def on_mount(self) -> None:
        for charts in self._sides():
            charts.loss.scale = "symlog"
            charts.begin_with(self.session.left.axis)
        self._sides()[0].accuracy.focus()

    def _sides(self) -> list[RunCharts]:
        from clarinet_tui.ui.widgets.run_charts import RunCharts

        return list(self.query(RunCharts))

    def wanted(self) -> Wanted:
        pairs = zip(self.session.compared, self._sides(), strict=False)
        return Wanted(curves=tuple(charts.wanted(run) for run, charts in pairs))

    def show(self, snapshot: Snapshot) -> None:
        found = [curves for run in self.session.compared if (curves := snapshot.curves.get(run))]
        shown = len(found) == 2
        self.query_one("#compare-hint").display = len(self.session.compared) < 2
        self.query_one("#compare").display = self.query_one("#differences").display = shown
        if shown:
            self._show_pair(found)
            if self.focused is None:
                self._sides()[0].accuracy.focus()
        elif self.session.compared:
            self.ask()

    def _show_pair(self, pair: list[Curves]) -> None:
        sides = self._sides()
        for side, charts, curves in zip(("#left", "#right"), sides, pair, strict=True):
            wide = self.size.width >= 2 * SIDE_WITH_RESULTS
            line = facts.brief(curves.run) if wide else facts.title(curves.run)
            self.query_one(f"{side} .side-title", Words).say(line)
            charts.show(curves)
        sides[0].share_axes(sides[1])
        # Once more when the sides have their sizes: how many rows a legend needs depends on them.
        self.call_after_refresh(sides[0].share_axes, sides[1])
        self.query_one("#differences", Words).say(differences(pair[0].run, pair[1].run, self.size.height >= 36))

    def action_axis(self) -> None:
        first, second = self._sides()
        axis = first.next_axis()
        self.session.remember(axis=axis)
        second.use_axis(axis)
        first.share_axes(second)
        self.ask()

    def action_swap(self) -> None:
        self.session.compared = self.session.compared[::-1]
        if self.session.snapshot:
            self.show(self.session.snapshot)
        self.ask()
