"""A sweep: its runs as a grid of settings and seeds, and the accuracy against a setting."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from clarinet_tui.history.sweeps import sweep_query
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_count
from clarinet_tui.ui.screens.view_screen import RunActionScreen
from clarinet_tui.ui.snapshot.snapshot import HistorySnapshot, ViewRequest
from clarinet_tui.ui.snapshot.sweep import SweepSnapshot
from clarinet_tui.ui.text import sweep as sweep_text
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.styled_text import StyledText


class SweepScreen(RunActionScreen):
    """The sweep `state.sweep`; the actions on runs apply to all of it, enter to the run under the cursor."""

    NAME = "sweep"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="sweep.open", tooltip="Watch the run under the cursor"),
        Binding("s", "stop", "Stop", id="act.stop", tooltip="Stop its runs: each saves a checkpoint"),
        Binding("r", "resume", "Resume", id="act.resume", tooltip="Resume its stopped, failed and lost runs"),
        Binding("d", "remove", "Delete", id="act.remove", tooltip="Delete the whole sweep; u in History restores it"),
        Binding("e", "clone", "Extend", id="act.clone", tooltip="Extend: open the launch form with its settings"),
        Binding("x", "show_runs", "Runs", id="sweep.runs", tooltip="Show its runs in History"),
        Binding("up,k", "move(-1, 0)", "Line above", id="sweep.up", show=False),
        Binding("down,j", "move(1, 0)", "Line below", id="sweep.down", show=False),
        Binding("left,h", "move(0, -1)", "Seed before", id="sweep.left", show=False),
        Binding("right,l", "move(0, 1)", "Seed after", id="sweep.right", show=False),
        Binding("J", "scroll_figure(3)", "Scroll the figure down", id="sweep.figure_down", show=False),
        Binding("K", "scroll_figure(-3)", "Scroll the figure up", id="sweep.figure_up", show=False),
        Binding("escape", "app.view('history')", "Back", id="sweep.back"),
    ]

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        yield StyledText(id="sweep-head")
        yield StyledText(id="sweep-grid")
        with VerticalScroll(id="sweep-figure", can_focus=False):
            yield StyledText(id="sweep-plot")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._read: SweepSnapshot | None = None
        self._cursor = 0, 0

    @property
    def _sweep(self) -> SweepSnapshot | None:
        """What was read of the sweep; None while the view shows another one."""
        return self._read if self._read and self._read.name == self.state.sweep else None

    def make_request(self) -> ViewRequest:
        return ViewRequest(sweep=self.state.sweep)

    def show(self, snapshot: HistorySnapshot) -> None:
        if snapshot.sweep and snapshot.sweep.name == self.state.sweep:
            self._cursor = self._cursor if self._sweep else (0, 0)
            self._read = snapshot.sweep
            self._draw()

    def _draw(self) -> None:
        from clarinet_tui.ui.widgets.chart import theme_palette

        if (sweep := self._sweep) is None:
            return
        row, column = self._cursor
        self._cursor = max(0, min(row, len(sweep.lines) - 1)), max(0, min(column, len(sweep.seeds) - 1))
        width, height = self.size.width - 2, self.size.height - 6
        grid_height = max(4, height // 2) if sweep.figure else height
        grid = sweep_text.format_sweep_grid(sweep, self._cursor, width, grid_height)
        rest = height - 1 - grid.plain.count("\n")
        look = self.state.chart_glyphs(), theme_palette(self.app.current_theme)
        self.set_text("#sweep-head", sweep_text.format_sweep_header(sweep))
        self.set_text("#sweep-grid", grid)
        self.set_text("#sweep-plot", sweep_text.format_sweep_figure(sweep, width - 1, rest, *look))

    def restyle(self) -> None:
        self._draw()

    def use_glyphs(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        if self._is_ready:
            self.call_after_refresh(self._draw)

    def action_move(self, rows: int, columns: int) -> None:
        self._cursor = self._cursor[0] + rows, self._cursor[1] + columns
        self._draw()

    def action_scroll_figure(self, lines: int) -> None:
        self.query_one("#sweep-figure").scroll_relative(y=lines, animate=False)

    def run_in_view(self) -> str | None:
        if (sweep := self._sweep) is None or not sweep.lines:
            return None
        run = sweep.lines[self._cursor[0]].runs.get(sweep.seeds[self._cursor[1]])
        return run.id if run else None

    def _runs(self, is_wanted: Callable[[RunState], bool]) -> tuple[str, ...]:
        return tuple(run.id for run in self._sweep.runs if is_wanted(run.state)) if self._sweep else ()

    def target_runs(self) -> tuple[str, ...]:
        return self._runs(lambda state: True)

    def action_open(self) -> None:
        if run := self.run_in_view():
            self.watch_runs(run)

    def action_stop(self) -> None:
        if runs := self._runs(lambda state: state.is_pending):
            self.ask_to_stop(runs)
        else:
            self.notify("No run of the sweep is running or queued.", timeout=4)

    def action_stop_now(self) -> None:
        if runs := self._runs(lambda state: state.is_pending):
            self.stop(runs)

    def action_resume(self) -> None:
        if runs := self._runs(lambda state: state.is_resumable):
            self.start_action(partial(self.actions.resume, runs))
        else:
            self.notify("No run of the sweep is stopped, failed or lost.", timeout=4)

    def action_remove(self) -> None:
        if self._runs(lambda state: state.is_pending):
            self.notify("Runs of the sweep are running or queued: s stops them.", timeout=4)
        elif runs := self.target_runs():
            delete = partial(self.start_action, partial(self.actions.delete, runs), self._forget_deleted)
            details = f"{format_count(len(runs), 'run')}; u in History restores the runs deleted last."
            self.confirm(f"Delete the sweep {self.state.sweep}?", "Delete", details, delete)

    def forget_runs(self, runs: tuple[str, ...]) -> None:
        self.app.switch_mode("history")

    def action_clone(self) -> None:
        if runs := self.target_runs():
            self.start_action(partial(self.actions.make_form, runs[::-1], self.state.sweep), self._open_clone)

    def action_show_runs(self) -> None:
        self.state.history_query = sweep_query(self.state.sweep)
        self.app.switch_mode("history")
