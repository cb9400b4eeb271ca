"""Compare: one-step methods left, two-step methods right, with bands over seeds; below, the paired differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import getters
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from clarinet_tui.analysis.choices import COMPARED_FAMILIES
from clarinet_tui.history.axes import AXES, Axis, find_axis
from clarinet_tui.text import format_task
from clarinet_tui.ui.app_state import MAX_OVERLAID
from clarinet_tui.ui.screens.view_screen import ViewScreen, next_value
from clarinet_tui.ui.snapshot.comparison import BANDS, COMPARED_METRICS, BandName, ComparisonRequest
from clarinet_tui.ui.snapshot.snapshot import HistorySnapshot, ViewRequest
from clarinet_tui.ui.text import differences as difference_text
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.chart import theme_palette
from clarinet_tui.ui.widgets.comparison import CompareCharts
from clarinet_tui.ui.widgets.filter_line import FilterLine
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.styled_text import StyledText
from core.metrics import describe_metric, level_of

if TYPE_CHECKING:
    from clarinet_tui.analysis.comparison import PairedDifference
    from clarinet_tui.ui.snapshot.comparison import ComparisonSnapshot, TaskComparison

PANES = ("both", "charts", "numbers")
MIN_ROWS_FOR_BOTH = 36
"""Screen height from which charts and numbers both have room."""
NEED_NUMBERS = frozenset({"next", "scroll_pane", "settings", "watch", "copy"})


class CompareScreen(ViewScreen):
    """Compares runs selected by id or by queries, or those of the newest task with both families."""

    NAME = "compare"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "choose", "Select", key_display="/", id="compare.choose", tooltip="Select runs by queries"),
        Binding("p,right_square_bracket", "page(1)", "Pane", id="compare.pane", tooltip="Charts, numbers or both"),
        Binding("x", "axis", "X axis", id="compare.axis", tooltip="Samples, epochs, adaptation, time or iterations"),
        Binding("v", "overlay", "Overlay", id="compare.overlay", tooltip="Two charts side by side, or one chart"),
        Binding("b", "band", "Band", id="compare.band", tooltip="Band: std, 95 % interval, min–max or none"),
        Binding("B", "members", "Seeds", id="compare.members", tooltip="Show or hide single runs behind their mean"),
        Binding("M", "metric", "Metric", id="compare.metric", tooltip="Next metric"),
        Binding("P,left_square_bracket", "page(-1)", "Previous pane", id="compare.previous_pane", show=False),
        Binding("j,down", "next(1)", "Next difference", id="compare.next", show=False),
        Binding("k,up", "next(-1)", "Previous difference", id="compare.previous", show=False),
        Binding("J", "scroll_pane(3)", "Scroll the numbers down", id="compare.down", show=False),
        Binding("K", "scroll_pane(-3)", "Scroll the numbers up", id="compare.up", show=False),
        Binding("enter", "watch", "Watch", id="compare.watch", tooltip="Overlay these runs in Live", show=False),
        Binding("y", "copy", "Copy command", id="compare.copy", tooltip="Copy the command line", show=False),
        Binding("d", "settings", "Settings", id="compare.settings", tooltip="List all differing settings", show=False),
        Binding("w", "swap", "Swap sides", id="compare.swap", show=False),
        Binding("escape", "app.view('history')", "Back", id="compare.back"),
    ]

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        with Vertical(id="queries"):
            yield FilterLine(" one-step / ", id="one-step")
            yield FilterLine(" two-step / ", id="two-step")
        yield StyledText(id="choice")
        yield StyledText(id="compare-hint")
        with Vertical(id="compared"):
            yield CompareCharts(self.state.chart_glyphs(), id="compare-charts")
            yield StyledText(id="difference-summary")
            with Vertical(id="numbers"):
                with VerticalScroll(id="differences", can_focus=False):
                    yield StyledText(id="difference-table")
                with VerticalScroll(id="difference"):
                    yield StyledText(id="difference-detail")
        yield KeyFooter()

    _charts = getters.query_one(CompareCharts)
    _one_step = getters.query_one("#one-step", FilterLine)
    _two_step = getters.query_one("#two-step", FilterLine)

    def on_mount(self) -> None:
        saved = self.state.preferences.values
        # Samples by default: epochs of one-step and two-step methods differ in length.
        self._axis: Axis = find_axis(saved.compare_axis, "samples")
        self._metric = COMPARED_METRICS[0]
        self._snapshot: ComparisonSnapshot | None = None
        self._cursor = 0
        """The index of the highlighted difference."""
        self._all_settings = False
        """Whether all settings that differ are listed, or only those that both sides have."""
        self._charts.band = next((band for band in BANDS if band == saved.compare_band), "std")
        self._charts.show_seeds = saved.compare_members != "hidden"
        self._charts.overlaid = saved.compare_layout == "over"
        self._pane = saved.compare_pane if saved.compare_pane in PANES else "both"
        self._arrange()
        self._show_panes(True)
        self._focus_pane()

    def _differences(self) -> list[tuple[TaskComparison, PairedDifference]]:
        parts = self._snapshot.parts if self._snapshot else ()
        return [(part, difference) for part in parts for difference in part.differences]

    @property
    def _highlighted(self) -> tuple[TaskComparison, PairedDifference] | None:
        differences = self._differences()
        return differences[min(self._cursor, len(differences) - 1)] if differences else None

    def make_request(self) -> ViewRequest:
        part = self._highlighted[0] if self._highlighted else None
        is_first = part is None or (self._snapshot and part is self._snapshot.parts[0])
        request = ComparisonRequest(
            runs=() if self.state.compared_queries else self.state.compared_runs,
            queries=self.state.compared_queries,
            metric=self._metric,
            axis=self._axis,
            width=0 if level_of(self._metric) == "evaluation" else self._charts.columns,
            task_preset=part.task_preset if part and not is_first else None,
        )
        is_typing = self._one_step.is_typing or self._two_step.is_typing
        return ViewRequest(comparison=request, query_values=is_typing)

    def show(self, snapshot: HistorySnapshot) -> None:
        compared = snapshot.comparison
        if compared is None:
            if snapshot.is_ingested and not snapshot.listing.all_runs:
                self._show_hint("Nothing to compare yet: there are no runs.")
            self.send_request()
            return
        lines = (self._one_step, self._two_step)
        for line, count, problem in zip(lines, compared.matches, compared.problems, strict=False):
            line.show(count, problem, snapshot.query_values)
        previous = self._snapshot
        if compared is previous:
            return
        self._snapshot = compared
        if not compared.parts:
            self._show_hint(compared.description)
            return
        self._show_panes(True)
        if not (previous and previous.parts) or previous.selection != compared.selection:
            differences = enumerate(self._differences())
            self._cursor = next((index for index, (_, difference) in differences if difference.paired.pairs), 0)
        self.set_text("#choice", self._format_selection(compared))
        self._draw()
        if self.focused is None:
            self._focus_pane()
        if self.make_request().comparison != compared.request:
            self.send_request()

    def _show_panes(self, shown: bool) -> None:
        self.query_one("#compared").display = self.query_one("#choice").display = shown
        self.query_one("#compare-hint").display = not shown

    def _show_hint(self, sentence: str) -> None:
        self._show_panes(False)
        hint = "In History, select runs with space and press c, or press / here to select runs with two queries."
        self.set_text("#compare-hint", styled((sentence, "strong")) + "\n\n" + hint)

    def _format_selection(self, compared: ComparisonSnapshot) -> Content:
        """Format what is compared, and how it was selected."""
        runs = compared.comparison.runs if compared.comparison else ()
        counts = Counter(run.family for run in runs)
        counted = " and ".join(f"{counts[family]} {family}" for family in COMPARED_FAMILIES if counts[family])
        how = compared.description[:1].lower() + compared.description[1:]
        task, preset = compared.part.task_preset if compared.part else ("?", None)
        queries = "  ·  ".join(filter(None, dict.fromkeys(self.state.compared_queries or ())))
        return styled(
            (f"{format_task(task)} {preset or ''}".strip(), "strong"),
            (f"  {counted} runs", ""),
            (f" · {how}  ", "muted"),
            (queries, "tag"),
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "swap":
            return len(self.state.compared_runs) > 1 and self.state.compared_queries is None
        return not (action in NEED_NUMBERS and not (self._snapshot and self._snapshot.parts))

    def restyle(self) -> None:
        self._draw()

    def _draw(self) -> None:
        """Draw the charts and the numbers, with the highlighted difference."""
        snapshot, width = self._snapshot, self.size.width - 1
        if snapshot is None or snapshot.comparison is None or not snapshot.parts:
            return
        palette = theme_palette(self.app.current_theme)
        summary, detail = styled(), styled((" Only one side: nothing to compare it with.", "muted"))
        front: tuple[int, ...] = ()
        if self._highlighted:
            part, difference = self._highlighted
            sides, labels_of = (difference.left, difference.right), difference_text.label_sides(part, palette)
            front = tuple(index for index, side in enumerate(part.sides) if any(side is shown for shown in sides))
            labels = labels_of[id(difference.left)], labels_of[id(difference.right)]
            summary = difference_text.format_difference_line(difference, labels)
            rule = snapshot.comparison.rule_description
            detail = difference_text.format_difference_detail(difference, labels, width, rule, self._all_settings)
        self._charts.show(snapshot, front)
        self.set_text("#difference-summary", summary)
        table, cursor_line = difference_text.format_difference_table(snapshot, self._cursor, palette, width)
        self.set_text("#difference-table", table)
        self.query_one("#differences").scroll_to(y=max(0, cursor_line - 3), animate=False)
        self.set_text("#difference-detail", detail)

    def _arrange(self) -> None:
        """Show the selected pane; a low screen has no room for both."""
        pane = "charts" if self._pane == "both" and self.size.height < MIN_ROWS_FOR_BOTH else self._pane
        self.set_class(pane == "charts", "-charts")
        self.set_class(pane == "numbers", "-numbers")
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        self._arrange()

    def action_page(self, step: int) -> None:
        panes = PANES if self.size.height >= MIN_ROWS_FOR_BOTH else PANES[1:]
        self._use_pane(next_value(panes, self._pane if self._pane in panes else "charts", step))

    def _use_pane(self, pane: str) -> None:
        self._pane = pane
        self.state.preferences.save(compare_pane=pane)
        self._arrange()
        self._focus_pane()

    def _focus_pane(self) -> None:
        if self.has_class("-numbers"):
            self.query_one("#difference").focus()
        else:
            self._charts.left.focus()

    def action_axis(self, axis: Axis | None = None) -> None:
        """Use this x axis, or the next one."""
        self._axis = next_value(list(AXES), self._axis) if axis is None else axis
        self.state.preferences.save(compare_axis=self._axis)
        self.send_request()

    def action_metric(self, metric: str = "") -> None:
        """Show this metric, or the next one of these runs."""
        metrics = (self._snapshot.metrics if self._snapshot else ()) or (self._metric,)
        self._metric = metric or next_value(metrics, self._metric)
        self.send_request()

    def action_band(self, band: BandName | None = None) -> None:
        self._charts.band = next_value(list(BANDS), self._charts.band) if band is None else band
        self.state.preferences.save(compare_band=self._charts.band)
        self._draw()

    def action_members(self) -> None:
        self._charts.show_seeds = not self._charts.show_seeds
        self.state.preferences.save(compare_members="shown" if self._charts.show_seeds else "hidden")
        self._draw()

    def action_overlay(self) -> None:
        self._charts.overlaid = not self._charts.overlaid
        self.state.preferences.save(compare_layout="over" if self._charts.overlaid else "beside")
        self._draw()
        self._charts.left.focus()

    def action_next(self, step: int) -> None:
        self._cursor = min(max(self._cursor + step, 0), max(len(self._differences()) - 1, 0))
        self._draw()
        self.query_one("#difference").scroll_home(animate=False)
        self.send_request()

    def action_scroll_pane(self, lines: int) -> None:
        self.query_one("#difference").scroll_relative(y=lines, animate=False)

    def action_settings(self) -> None:
        self._all_settings = not self._all_settings
        self._draw()

    def action_swap(self) -> None:
        """Reverse the order of the runs."""
        self.state.compared_runs = self.state.compared_runs[::-1]
        self.send_request()

    def action_watch(self) -> None:
        """Overlay the runs of the difference under the cursor in the Live view."""
        if self._highlighted:
            _, difference = self._highlighted
            runs = [member.run for side in (difference.left, difference.right) for member in side.runs]
            self.watch_runs(*runs[:MAX_OVERLAID])

    def action_copy(self) -> None:
        if self._snapshot:
            self.copy(self._snapshot.command)

    async def action_choose(self) -> None:
        """Open both query lines with the current queries."""
        queries = (self._snapshot.queries if self._snapshot else None) or ("", "")
        await self._two_step.open(queries[1])
        await self._one_step.open(queries[0])
        self.send_request()

    def on_filter_line_filter_changed(self) -> None:
        self.state.compared_runs, self.state.compared_queries = (), (self._one_step.applied, self._two_step.applied)
        self.send_request()

    def on_filter_line_filter_closed(self, event: FilterLine.FilterClosed) -> None:
        """Enter moves to the second line, then keeps both queries; escape clears both."""
        if event.kept and event.line is self._one_step:
            event.line.display = True
            self.call_after_refresh(self._two_step.open)
            return
        self._one_step.display = self._two_step.display = False
        if not event.kept:
            self.state.compared_queries = None
        self._charts.left.focus()
        self.send_request()

    def palette_commands(self) -> Iterable[SystemCommand]:
        for axis, title in AXES.items():
            yield SystemCommand(f"X axis: {title}", f"Align the runs by {title}", partial(self.action_axis, axis))
        for band, name in BANDS.items():
            yield SystemCommand(f"Band: {name}", f"Around each mean: {name}", partial(self.action_band, band))
        shown = self._snapshot.metrics if self._snapshot else ()
        for metric in dict.fromkeys((*COMPARED_METRICS, *shown)):
            name = describe_metric(metric).title_with_unit
            yield SystemCommand(f"Metric: {name}", f"Draw {name.lower()}", partial(self.action_metric, metric))
        for pane in PANES:
            yield SystemCommand(f"Pane: {pane}", f"Show {pane}", partial(self._use_pane, pane))
