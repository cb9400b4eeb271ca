"""Live: charts, metrics and log of one run, during training and afterwards; or several overlaid runs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from textual import getters
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content

from clarinet_tui.chart.palette import colour, marker
from clarinet_tui.history.axes import AXES, Axis, find_axis
from clarinet_tui.ui.screens.view_screen import RunActionScreen, next_value
from clarinet_tui.ui.snapshot.references import NONE_SHOWN, REFERENCE_KINDS, REFERENCE_NAMES, ReferenceRequest
from clarinet_tui.ui.snapshot.snapshot import DetailRequest, HistorySnapshot, RunCurves, RunDetails, ViewRequest
from clarinet_tui.ui.text import metrics as metrics_text
from clarinet_tui.ui.text import run as run_text
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.chart import Chart, theme_palette
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.log_tail import LogTail
from clarinet_tui.ui.widgets.run_charts import HardwareGrid, MetricGrid, RunCharts
from clarinet_tui.ui.widgets.styled_text import StyledText
from core.metrics import METRICS

GRIDS = ("-grid", "-hardware")
"""Classes of the screen while a grid is shown."""


class LiveScreen(RunActionScreen):
    """Loss above, accuracy below; a wide terminal shows metrics and log beside them, a narrow one the log after p."""

    NAME = "live"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "axis", "X axis", id="live.axis", tooltip="Iteration, epoch, adaptation epoch or device time"),
        Binding("M", "metric", "Metric", id="live.metric", tooltip="Overlaid runs: the next metric"),
        Binding(
            "g", "grid('-grid')", "Grid", id="live.grid", tooltip="All metrics as small charts, or loss and accuracy"
        ),
        Binding("H", "grid('-hardware')", "Hardware", id="live.hardware", tooltip="GPU, CPU and memory over time"),
        Binding("b", "references", "Reference", id="live.references", tooltip="Show published number and other seeds"),
        Binding(
            "z", "full_scale", "0–100", id="live.full_scale", show=False, tooltip="Accuracy from 0 to 100, or closer"
        ),
        Binding("i", "explain", "Explain", id="live.explain", show=False, tooltip="Explain the metrics, or hide that"),
        Binding("p,right_square_bracket,P,left_square_bracket", "log", "Log", key_display="p", id="live.log"),
        Binding("c", "compare", "Compare", id="live.compare", tooltip="These runs side by side"),
        Binding("j", "other_run(1)", "Next run", id="live.next", show=False),
        Binding("k", "other_run(-1)", "Previous run", id="live.previous", show=False),
        Binding("escape", "app.view('history')", "Back", id="live.back"),
    ]

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        with Vertical(id="live-head"):
            yield StyledText(id="live-title")
            yield StyledText(id="live-progress")
            yield StyledText(id="live-line")
            yield StyledText(id="live-alarms")
        yield StyledText(id="live-empty")
        with Horizontal(id="live"):
            yield RunCharts(self.state.chart_glyphs(), id="live-charts")
            with Vertical(id="side"):
                yield StyledText(id="live-about")
                yield StyledText(id="live-metrics")
                yield LogTail(id="live-log")
        yield KeyFooter()

    _charts = getters.query_one(RunCharts)

    def on_mount(self) -> None:
        self._charts.loss.scale = "symlog"
        self._charts.axis = find_axis(self.state.preferences.values.axis, "iteration")
        self._charts.use_full_scale(self.state.preferences.values.accuracy_scale == "full")
        self._is_explained = False
        saved = self.state.preferences.values.references
        self._reference_kind = saved if saved in REFERENCE_KINDS else "both"
        self._references_changed = False
        """Whether other references were selected and no message was shown yet."""
        self._focus_pane()

    def on_screen_resume(self) -> None:
        self.refresh_bindings()

    def run_in_view(self) -> str | None:
        """Return the selected run, or the newest one."""
        if self.state.live_run not in self.state.overlaid_runs and self.state.overlaid_runs:
            self.state.live_run = self.state.overlaid_runs[0]
        if self.state.live_run is None and self.state.snapshot and self.state.snapshot.listing.rows:
            self.state.live_run = self.state.snapshot.listing.rows[0].id
        return self.state.live_run

    def forget_runs(self, runs: tuple[str, ...]) -> None:
        self.app.switch_mode("history")

    def _shown_runs(self) -> tuple[str, ...]:
        return self.state.overlaid_runs or self.target_runs()

    def make_request(self) -> ViewRequest:
        front = self.run_in_view()
        if front is None:
            return ViewRequest()
        metrics = tuple(METRICS) if self.has_class("-grid") else tuple(metrics_text.SIDEBAR)
        curves = tuple(
            self._charts.curves_request(run, *(metrics if run == front else ()), others=run == front)
            for run in self._shown_runs()
        )
        detail = DetailRequest(front, frozenset({"log", "hardware"}))
        kinds = REFERENCE_KINDS[self._reference_kind]
        references = ReferenceRequest(front, "seeds" in kinds) if kinds and len(curves) == 1 else None
        return ViewRequest(curves=curves, detail=detail, references=references)

    def show(self, snapshot: HistorySnapshot) -> None:
        front = self.run_in_view()
        shown = [snapshot.curves[run] for run in self._shown_runs() if run in snapshot.curves]
        curves = snapshot.curves.get(front) if front else None
        if curves is None:
            self._show_no_run(snapshot, front)
            self.send_request()
            return
        detail = snapshot.detail if snapshot.detail and snapshot.detail.request.run == front else None
        self._charts.show(*shown, front=curves.run.id)
        self._show_references(snapshot)
        self._show_run(curves, detail)
        if self.has_class("-grid"):
            self.query_one(MetricGrid).show(curves, self._charts.usable_axis)
        if self.has_class("-hardware") and detail:
            self.query_one(HardwareGrid).show(curves.run.id, detail.hardware)
        if detail:
            self.query_one(LogTail).show(curves.run.id, detail.log)

    def _show_no_run(self, snapshot: HistorySnapshot, run: str | None) -> None:
        shown = self._charts.curves.run.id if self._charts.curves else None
        if run and run == shown:
            return
        self._charts.show()
        # While a run is read, its charts stay: without them the focus would be lost, and with it keys such as zoom.
        is_reading = run is not None and not snapshot.problem
        self.query_one("#live").display = is_reading and self.classes.isdisjoint(GRIDS)
        self.query_one("#live-empty").display = not is_reading
        self.set_text("#live-empty", styled((snapshot.problem, "muted")) if snapshot.problem else run_text.NO_RUN)
        for name in ("#live-progress", "#live-line", "#live-about", "#live-metrics"):
            self.set_text(name, styled())
        self.set_text("#live-title", styled(("Reading…" if is_reading else "", "muted")))
        self.query_one("#live-alarms").display = False

    def _show_run(self, curves: RunCurves, detail: RunDetails | None) -> None:
        run, width = curves.run, self.size.width
        live, is_shown = self.query_one("#live"), self.classes.isdisjoint(GRIDS)
        if is_shown and not live.display:
            self.call_after_refresh(self.restyle)  # texts fit the side pane, whose width is known then
        live.display = is_shown
        self.query_one("#live-empty").display = False
        if self.focused is None and is_shown:  # there was no run until now; at once, because the next key is for it
            self._focus_pane()
        elif self.focused is None:
            self.call_after_refresh(self.focus_first_chart)
        side = max(20, self.query_one("#side").size.width - 3)
        about = run_text.format_overview(run, self.state.now())
        if len(self._charts.runs) > 1:  # a list of them with the markers and colours of their lines
            palette = theme_palette(self.app.current_theme)
            signs = [(marker(index), colour(index, palette)) for index in range(len(self._charts.runs))]
            about = metrics_text.format_runs(self._charts.runs, run.id, signs, side)
        self.set_text("#live-title", run_text.format_title(run))
        self.set_text("#live-progress", run_text.format_run_progress(run, width - 2))
        self.set_text("#live-line", metrics_text.format_metrics_line(curves))
        self.set_text("#live-about", about)
        self.query_one("#live-alarms").display = bool(curves.alarms)
        self.set_text("#live-alarms", Content("\n").join(run_text.format_alarms(curves.alarms, width - 2)))
        metrics = metrics_text.format_metrics(curves, side, explained=self._is_explained)
        hardware = metrics_text.format_hardware(detail.hardware, side) if detail else []
        self.set_text("#live-metrics", Content("\n").join([metrics, *hardware]))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("metric", "compare"):
            return bool(self.state.overlaid_runs)
        if action == "references" and self.state.overlaid_runs:
            return False
        if action in ("axis", "references") and self.has_class("-hardware"):
            return False
        return super().check_action(action, parameters)

    def action_log(self) -> None:
        """Show the log instead of the charts, or the charts again."""
        self.remove_class(*GRIDS)
        self._redraw()
        self.toggle_class("-log")
        self._focus_pane()

    def _focus_pane(self) -> None:
        self.set_focus(self.query_one(LogTail).lines if self.has_class("-log") else self._charts.loss)

    def action_full_scale(self) -> None:
        full = self._charts.accuracy.y_range is None
        self._charts.use_full_scale(full)
        self.state.preferences.save(accuracy_scale="full" if full else "data")

    def action_explain(self) -> None:
        self._is_explained = not self._is_explained
        self._redraw()

    def action_metric(self) -> None:
        self._charts.next_metric()

    def action_compare(self) -> None:
        self.state.compare(self.state.overlaid_runs)
        self.app.switch_mode("compare")

    def palette_commands(self) -> Iterable[SystemCommand]:
        for axis, title in AXES.items():
            if axis != "samples":  # images are counted only where runs are compared
                yield SystemCommand(f"X axis: {title}", f"Draw along {title}", partial(self.action_axis, axis))
        if not self.state.overlaid_runs:
            for kind, name in REFERENCE_NAMES.items():
                show = partial(self.action_references, kind)
                yield SystemCommand(f"Reference: {name}", f"Show {name} behind the accuracy", show)

    def action_references(self, kind: str = "") -> None:
        """Show these references, or the next ones, as far as they are read; a message follows when all are read."""
        self._reference_kind = kind or next_value(list(REFERENCE_KINDS), self._reference_kind)
        self._references_changed = True
        self.state.preferences.save(references=self._reference_kind)
        self._show_references(self.state.snapshot)
        self.send_request()

    def _show_references(self, snapshot: HistorySnapshot | None) -> None:
        references, request = snapshot.references if snapshot else None, self.make_request().references
        self._charts.show_references(references, self._reference_kind)
        if self._references_changed and (request is None or (references and references.request == request)):
            self._references_changed = False
            text = references.describe(self._reference_kind) if references and request else NONE_SHOWN
            self.notify(text, title="Reference", timeout=6, markup=False)

    def action_axis(self, axis: Axis | None = None) -> None:
        """Use this x axis, or the next one that the runs have."""
        self._charts.use_axis(axis or self._charts.next_axis)
        self.state.preferences.save(axis=self._charts.axis)
        self.send_request()

    def action_other_run(self, step: int) -> None:
        """Go to another overlaid run, or to another run of the history's first page."""
        rows = self.state.snapshot.listing.rows if self.state.snapshot else ()
        ids = self.state.overlaid_runs or tuple(run.id for run in rows)
        if ids:
            place = ids.index(self.state.live_run) + step if self.state.live_run in ids else 0
            self.state.live_run = ids[min(max(place, 0), len(ids) - 1)]
            self._redraw()

    async def action_grid(self, name: str) -> None:
        """Show every metric, or what the hardware did, in small charts; or loss and accuracy again."""
        grid = MetricGrid if name == "-grid" else HardwareGrid
        if not self.query(grid):
            await self.mount(grid(self.state.chart_glyphs()), after="#live")
        is_shown = not self.has_class(name)
        self.remove_class(*GRIDS, "-log")
        self.set_class(is_shown, name)
        self._redraw()
        self.call_after_refresh(self.focus_first_chart)

    def focus_first_chart(self) -> None:
        if chart := next((chart for chart in self.charts() if chart.region), None):
            chart.focus()
        self.refresh_bindings()

    def _redraw(self) -> None:
        if self.state.snapshot:
            self.show(self.state.snapshot)
        self.send_request()

    def charts(self) -> list[Chart]:
        """Return the charts that share an x axis: that of the hardware is always time."""
        hardware = set(self.query("HardwareGrid Chart"))
        return [chart for chart in super().charts() if (chart in hardware) == self.has_class("-hardware")]
