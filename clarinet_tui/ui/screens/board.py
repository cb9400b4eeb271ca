"""Board: the paper's two tables with the results of the local runs; each cell leads to its runs or queues them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace as replace_fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace
from textual import getters
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from clarinet_tui.analysis.board import Board, BoardCell
from clarinet_tui.analysis.choices import RULES
from clarinet_tui.analysis.published import method_title
from clarinet_tui.devices.device import match_devices
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_count, format_duration, format_task
from clarinet_tui.ui.actions import ActionResult
from clarinet_tui.ui.screens.dialogs import TextDialog
from clarinet_tui.ui.screens.view_screen import ViewScreen, next_value
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from clarinet_tui.ui.snapshot.snapshot import BoardRequest, BoardSnapshot, HistorySnapshot, ViewRequest
from clarinet_tui.ui.text import board as board_text
from clarinet_tui.ui.text.board import cell_query, format_seeds, latex_file_name, table_command
from clarinet_tui.ui.text.launch import missing_domains
from clarinet_tui.ui.widgets.board_table import BoardTable
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.styled_text import StyledText
from core.presets import PRESETS

MAX_NAMED = 4
"""Maximum number of cells named in the question before queueing."""


class BoardScreen(ViewScreen):
    """Tasks × methods, mean ± std over seeds, beside the published numbers.

    Devices and data are shown only in the question before queueing.
    """

    NAME = "board"
    READS_MACHINE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "fill(False)", "Fill", id="board.fill", tooltip="Queue the missing seeds of this cell"),
        Binding("p", "preset", "Preset", id="board.preset", tooltip="Show the runs of the next preset"),
        Binding("o", "rule", "Epoch", id="board.rule", tooltip="Reported epoch: last, oracle or label-free"),
        Binding("w", "write", "LaTeX", id="board.write", tooltip="Write the tables as LaTeX"),
        Binding("y", "copy_command", "Copy", id="board.copy", tooltip="Copy the command line that shows this board"),
        Binding("Y", "copy_latex", "Copy LaTeX", id="board.copy_latex", show=False, tooltip="Copy the LaTeX tables"),
        Binding("F", "fill(True)", "Fill table", id="board.fill_all", tooltip="Queue all missing seeds of this table"),
        Binding("plus,equals_sign", "seeds(1)", "Require more seeds", key_display="+", id="board.more", show=False),
        Binding("minus,underscore", "seeds(-1)", "Require fewer seeds", key_display="-", id="board.fewer", show=False),
        Binding("n", "app.view('launch')", "New", id="board.new", show=False, tooltip="Start new runs"),
        Binding("J", "scroll_detail(2)", "Scroll the text down", id="board.detail_down", show=False),
        Binding("K", "scroll_detail(-2)", "Scroll the text up", id="board.detail_up", show=False),
        Binding("escape", "app.view('history')", "Back", id="board.back", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        yield StyledText(id="board-head")
        yield BoardTable(id="board")
        with VerticalScroll(id="board-detail", can_focus=False):
            yield StyledText(id="cell-detail")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._request = BoardRequest()
        self._snapshot: BoardSnapshot | None = None
        self._is_empty = False
        self._submitted: dict[tuple[str, str, str], set[int]] = {}
        """Seeds queued in this view that are not on the board yet, by method, task and preset."""
        self._table.focus()

    _table = getters.query_one(BoardTable)

    @property
    def _board(self) -> Board | None:
        return self._snapshot.board if self._snapshot else None

    @property
    def _cell(self) -> BoardCell | None:
        """The cell under the cursor."""
        method_task = self._table.cell
        return self._board.cells.get(method_task) if self._board and method_task else None

    def make_request(self) -> ViewRequest:
        return ViewRequest(board=self._request)

    def show(self, snapshot: HistorySnapshot) -> None:
        empty = snapshot.listing.all_runs == 0 and snapshot.is_ingested
        if snapshot.board is None or (snapshot.board is self._snapshot and empty == self._is_empty):
            return
        self._snapshot, self._is_empty = snapshot.board, empty
        board = snapshot.board.board
        for (method, task, preset), seeds in list(self._submitted.items()):
            cell = board.cells.get((method, task))
            if preset == board.preset and cell and not seeds & set(cell.missing):
                del self._submitted[method, task, preset]
        self._draw()

    def _draw(self) -> None:
        if self._snapshot is None:
            return
        table = self._table
        self.set_text("#board-head", board_text.format_board_header(self._snapshot))
        table.show(board_text.layout_board(self._snapshot.board, table.content_size.width, table.content_size.height))
        self._draw_detail()

    def _draw_detail(self) -> None:
        if self._snapshot and self._cell:
            text = board_text.format_cell_detail(self._snapshot, self._cell, self._is_empty)
            self.set_text("#cell-detail", text)

    def on_resize(self) -> None:
        if self._is_ready:
            self.call_after_refresh(self._draw)

    def on_board_table_cell_highlighted(self) -> None:
        self.query_one("#board-detail").scroll_home(animate=False)
        self._draw_detail()

    def _change_request(self, **changes: Any) -> None:
        self._request = replace(self._request, **changes)
        self.send_request()

    def action_preset(self) -> None:
        current = self._request.preset or (self._board.preset if self._board else None)
        self._change_request(preset=next_value(list(PRESETS), current))

    def action_rule(self) -> None:
        self._change_request(rule=next_value(RULES, self._request.rule))

    def action_seeds(self, step: int) -> None:
        self._change_request(seeds=min(max(self._request.seeds + step, 1), 100))

    def action_scroll_detail(self, lines: int) -> None:
        self.query_one("#board-detail").scroll_relative(y=lines, animate=False)

    def palette_commands(self) -> Iterable[SystemCommand]:
        for preset in PRESETS:
            show = partial(self._change_request, preset=preset)
            yield SystemCommand(f"Preset: {preset}", f"Show the runs of preset {preset}", show)
        for rule in RULES:
            show = partial(self._change_request, rule=rule)
            yield SystemCommand(f"Report: {rule}", f"Report the {board_text.RULES[rule]}", show)

    def on_board_table_cell_selected(self) -> None:
        board, cell = self._board, self._cell
        if board is None or cell is None:
            return
        if not (cell.states or cell.excluded):
            self.notify("This cell has no runs yet: f queues its seeds.", timeout=4)
            return
        self.state.history_query = cell_query(cell.method, cell.task, board.preset)
        self.app.switch_mode("history")

    def action_fill(self, whole_table: bool) -> None:
        """Queue missing seeds of the cell or the table, after a question."""
        board, cell = self._board, self._cell
        if board is None or cell is None or board.preset is None:
            return
        if self._snapshot and not self._snapshot.is_complete:
            self.notify("Runs are still being read: try again in a moment.", timeout=4)
            return
        tasks = dict.fromkeys(board.tasks) if whole_table else ()
        cells = [board.cells[method, task] for task in tasks for method in self._table.table_methods] or [cell]
        missing = []  # without the seeds that were queued, but are not in the history yet
        for cell in cells:
            queued = self._submitted.get((cell.method, cell.task, board.preset), set())
            if seeds := tuple(seed for seed in cell.missing if seed not in queued):
                missing.append(replace_fields(cell, missing=seeds))
        if not missing:
            self.notify(_format_none_missing(cells), timeout=6, markup=False)
            return
        runs = format_count(sum(len(cell.missing) for cell in missing), "run")
        details = _format_explanation(missing, board.preset, self.state.machine)
        self.confirm(f"Queue {runs}?", "Queue", details, partial(self._queue_seeds, missing, board.preset))

    def _queue_seeds(self, missing: Sequence[BoardCell], preset: str) -> None:
        for cell in missing:
            self._submitted.setdefault((cell.method, cell.task, preset), set()).update(cell.missing)

        def forget_if_failed(result: ActionResult) -> None:
            if not result.runs:
                for cell in missing:
                    self._submitted.pop((cell.method, cell.task, preset), None)

        self.start_action(partial(self.actions.queue_missing_seeds, missing, preset), forget_if_failed)

    def action_copy_command(self) -> None:
        if self._board:
            self.copy(self.actions.add_directories(table_command(self._board), data=False))

    def action_copy_latex(self) -> None:
        if self._board:
            self.start_action(partial(_latex, self._board), self._copy_latex)

    def _copy_latex(self, result: ActionResult) -> None:
        if result.text:
            self.app.copy_to_clipboard(result.text)
            self.notify(f"{len(result.text.splitlines())} lines of LaTeX", title="Copied", timeout=4)

    def action_write(self) -> None:
        if board := self._board:
            details = "Both tables with booktabs; comments list the runs of every number."
            prompt = TextDialog("Write LaTeX to", details, latex_file_name(board))
            self.app.push_screen(prompt, lambda name: self._write(board, Path(name)) if name else None)

    def _write(self, board: Board, path: Path, replace: bool = False) -> None:
        def ask_to_replace(result: ActionResult) -> None:
            if not (result.text or result.errors):
                replace_file = partial(self._write, board, path, replace=True)
                self.confirm(f"Replace {path}?", "Replace", "The file exists.", replace_file)

        write = partial(self.actions.write_file, path, lambda: _latex(board).text, replace=replace)
        self.start_action(write, ask_to_replace)


def _latex(board: Board) -> ActionResult:
    from clarinet_tui.analysis.board_table import to_latex

    return ActionResult(text=to_latex(board))


def _format_none_missing(cells: Collection[BoardCell]) -> str:
    """Explain why there is nothing to queue."""
    if len(cells) != 1:
        return "No seed is missing in this table."
    (cell,) = cells
    resumable = sum(cell.states.get(state, 0) for state in RunState if state.is_resumable)
    advice = f"; {resumable} failed, stopped or lost: enter shows them, r in History resumes them" if resumable else ""
    return f"No seed of {method_title(cell.method)} on {format_task(cell.task)} is missing{advice}."


def _format_explanation(cells: Sequence[BoardCell], preset: str, machine: MachineSnapshot | None) -> str:
    """Name the runs of the missing seeds, their settings, duration and devices, and the data that is missing."""
    sentences = []
    for cell in cells[:MAX_NAMED]:
        seeds = f"{'seed' if len(cell.missing) == 1 else 'seeds'} {format_seeds(cell.missing)}"
        sentences.append(f"{method_title(cell.method)} on {format_task(cell.task)}, {seeds}.")
    if len(cells) > MAX_NAMED:
        sentences.append(f"And {len(cells) - MAX_NAMED} more cells.")
    changes = next((cell.changes for cell in cells if cell.changes), ())
    with_changes = f" with {', '.join(changes)}, as in the existing runs" if changes and len(cells) == 1 else ""
    sentences.append(f"Preset {preset}{with_changes}.")
    seconds = [cell.seconds * len(cell.missing) for cell in cells if cell.seconds is not None]
    if len(seconds) < len(cells):
        sentences.append("Duration unknown: no such run has finished yet.")
    else:
        sentences.append(f"About {format_duration(sum(seconds))} of device time.")
    if machine and machine.devices:
        devices = ", ".join(device.label for device in match_devices("auto", machine.devices))
        sentences.append(f"On the first free device of {devices}.")
        letters = [letter for cell in cells for letter in cell.task.split("->")]
        missing = [f"{domain.title} is missing: {domain.advice}." for domain in missing_domains(letters, machine)]
        sentences += [*missing, "Runs without their data fail."] if missing else []
    return " ".join(sentences)
