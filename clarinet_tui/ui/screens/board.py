"""Board: the paper's two tables with what was measured here; from each cell one goes to its runs, or fills it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from clarinet_tui.evidence.board import Board
from clarinet_tui.evidence.board_cells import Cell
from clarinet_tui.evidence.selection import RULES, Rule
from clarinet_tui.ui.action_result import Outcome
from clarinet_tui.ui.palette_commands import Choice
from clarinet_tui.ui.screens.dialogs import Ask, Prompt
from clarinet_tui.ui.screens.machine_screen import MachineScreen
from clarinet_tui.ui.snapshot.board import BoardSeen, BoardWanted
from clarinet_tui.ui.snapshot.machine import Machine
from clarinet_tui.ui.snapshot.snapshot import Snapshot, Wanted
from clarinet_tui.ui.text import board_cells as board_lines
from clarinet_tui.ui.text import board_detail as board_words
from clarinet_tui.ui.text.board_command import file_name, query_of, table_command
from clarinet_tui.ui.widgets.board_table import BoardTable
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.text_line import Words
from core.presets import PRESETS

if TYPE_CHECKING:
    from clarinet_tui.ui.board_gaps import Gap

MOST_SEEDS = 100


class BoardScreen(MachineScreen):
    """Tasks × methods, mean ± std over seeds, beside the published numbers."""

    NAME = "board"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "fill(False)", "Fill", id="board.fill", tooltip="Queue the missing seeds of this cell"),
        Binding("p", "preset(1)", "Preset", id="board.preset", tooltip="Show the runs of the next preset"),
        Binding("o", "rule(1)", "Epoch", id="board.rule", tooltip="Which epoch is reported: last, oracle, label-free"),
        Binding("w", "write", "LaTeX", id="board.write", tooltip="Write the tables as LaTeX"),
        Binding("y", "copy_command", "Copy", id="board.copy", tooltip="Copy the command line that shows this board"),
        Binding("Y", "copy_latex", "Copy LaTeX", id="board.copy_latex", show=False, tooltip="Copy the LaTeX tables"),
        Binding("F", "fill(True)", "Fill table", id="board.fill_all", tooltip="Queue all missing seeds of this table"),
        Binding(
            "plus,equals_sign",
            "seeds(1)",
            "More seeds",
            key_display="+",
            id="board.more",
            show=False,
            tooltip="One more seed makes a cell complete",
        ),
        Binding(
            "minus,underscore",
            "seeds(-1)",
            "Fewer seeds",
            key_display="-",
            id="board.fewer",
            show=False,
            tooltip="One seed fewer makes a cell complete",
        ),
        Binding("n", "app.view('launch')", "New", id="board.new", show=False, tooltip="Start new runs"),
        Binding("J", "scroll_detail(2)", "Scroll the words down", id="board.detail_down", show=False),
        Binding("K", "scroll_detail(-2)", "Scroll the words up", id="board.detail_up", show=False),
        Binding("escape", "app.view('history')", "Back", id="board.back", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        yield Words(id="board-head")
        yield BoardTable(id="board")
        with VerticalScroll(id="board-detail", can_focus=False):
            yield Words(id="board-words")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._wanted = BoardWanted()
        self._seen: BoardSeen | None = None
        self._empty = False
        self._coming: dict[tuple[str, str, str], set[int]] = {}
        """Seeds that were queued here and are not on the board yet, by method, task and preset."""
        self._table.focus()

    @property
    def _table(self) -> BoardTable:
        return self.query_one(BoardTable)

    @property
    def _board(self) -> Board | None:
        return self._seen.board if self._seen else None

    @property
    def _cell(self) -> Cell | None:
        """Under the cursor."""
        place = self._table.cell
        return self._board.cells.get(place) if self._board and place else None

    # -- what is shown ---------------------------------------------------------------------------------------------

    def wanted(self) -> Wanted:
        return Wanted(board=self._wanted)

    def show(self, snapshot: Snapshot) -> None:
        empty = snapshot.listing.all_runs == 0 and snapshot.settled
        if snapshot.board is None or (snapshot.board is self._seen and empty == self._empty):
            return
        self._seen, self._empty = snapshot.board, empty
        self._forget_arrived(snapshot.board.board)
        self._draw()

    def see(self, machine: Machine) -> None:
        """Devices, data and durations are told when something is to be queued."""

    def _forget_arrived(self, board: Board) -> None:
        for (method, task, preset), seeds in list(self._coming.items()):
            cell = board.cells.get((method, task))
            if preset == board.preset and cell and not seeds & set(cell.missing):
                del self._coming[method, task, preset]

    def _draw(self) -> None:
        if self._seen is None:
            return
        table = self._table
        self.query_one("#board-head", Words).say(board_words.head(self._seen))
        table.show(board_lines.sheet(self._seen.board, table.content_size.width, table.content_size.height))
        self._tell()

    def _tell(self) -> None:
        if self._seen and self._cell:
            words = board_words.detail(self._seen, self._cell, self._empty)
            self.query_one("#board-words", Words).say(words)

    def on_resize(self) -> None:
        if self._ready:
            self.call_after_refresh(self._draw)

    def on_board_table_cell_highlighted(self) -> None:
        self.query_one("#board-detail").scroll_home(animate=False)
        self._tell()

    # -- another board ---------------------------------------------------------------------------------------------

    def _want(self, preset: str | None, rule: Rule, seeds: int) -> None:
        self._wanted = BoardWanted(preset, rule, seeds)
        self.ask()

    def action_preset(self, step: int) -> None:
        names = list(PRESETS)
        now = self._wanted.preset or (self._board.preset if self._board else None)
        self._use_preset(names[(names.index(now) + step) % len(names)] if now in names else names[0])

    def _use_preset(self, preset: str) -> None:
        self._want(preset, self._wanted.rule, self._wanted.seeds)

    def action_rule(self, step: int) -> None:
        self._use_rule(RULES[(RULES.index(self._wanted.rule) + step) % len(RULES)])

    def _use_rule(self, rule: Rule) -> None:
        self._want(self._wanted.preset, rule, self._wanted.seeds)

    def action_seeds(self, step: int) -> None:
        self._want(self._wanted.preset, self._wanted.rule, min(max(self._wanted.seeds + step, 1), MOST_SEEDS))

    def action_scroll_detail(self, lines: int) -> None:
        self.query_one("#board-detail").scroll_relative(y=lines, animate=False)

    def choices(self) -> Iterable[Choice]:
        for preset in PRESETS:
            yield Choice(f"Preset: {preset}", f"Show the runs of preset {preset}", partial(self._use_preset, preset))
        for rule in RULES:
            words = board_lines.RULES[rule]
            yield Choice(f"Report: {rule}", f"Report the {words}", partial(self._use_rule, rule))

    # -- what is done ----------------------------------------------------------------------------------------------

    def on_board_table_cell_chosen(self, event: BoardTable.CellChosen) -> None:
        board = self._board
        if board is None:
            return
        cell = board.cells[event.method, event.task]
        if not (cell.states or cell.left_out):
            self.notify("There are no runs of this cell yet: f queues its seeds.", timeout=4)
            return
        self.session.sought = query_of(event.method, event.task, board.preset)
        self.app.switch_mode("history")

    def action_fill(self, whole_table: bool) -> None:
        """Asks first: runs cost hours."""
        from clarinet_tui.ui import board_gaps as filling

        board, cell = self._board, self._cell
        if board is None or cell is None or board.preset is None:
            return
        if self._seen and not self._seen.whole:
            self.notify("Runs are still being read: try again in a moment.", timeout=4)
            return
        tasks = dict.fromkeys(task for task in board.tasks if whole_table)
        cells = [board.cells[method, task] for task in tasks for method in self._table.table] or [cell]
        found = filling.gaps(cells, board.preset, self._coming)
        if not found:
            self.notify(filling.nothing(cells), timeout=6, markup=False)
            return
        question = Ask(filling.question(found), "Queue", filling.explanation(found, self.session.machine))
        self.app.push_screen(question, lambda answer: self._fill(found) if answer else None)

    def _fill(self, found: Collection[Gap]) -> None:
        for gap in found:
            self._coming.setdefault((gap.method, gap.task, gap.preset), set()).update(gap.seeds)
        self.work(partial(self.acts.fill, tuple(found)), partial(self._filled, found))

    def _filled(self, found: Collection[Gap], outcome: Outcome) -> None:
        if not outcome.runs:
            for gap in found:
                self._coming.pop((gap.method, gap.task, gap.preset), None)

    def action_copy_command(self) -> None:
        if self._board:
            self.copy(self.acts.addressed(table_command(self._board), data=False))

    def action_copy_latex(self) -> None:
        if self._board:
            self.work(partial(_latex, self._board), self._copy_latex)

    def _copy_latex(self, outcome: Outcome) -> None:
        self.app.copy_to_clipboard(outcome.text)
        self.notify(f"{len(outcome.text.splitlines())} lines of LaTeX", title="Copied", timeout=4)

    def action_write(self) -> None:
        if board := self._board:
            more = "Both tables with booktabs, and in comments the runs behind every number."
            prompt = Prompt("Write LaTeX to", more, file_name(board))
            self.app.push_screen(prompt, lambda name: self._write(board, Path(name)) if name else None)

    def _write(self, board: Board, path: Path, replace: bool = False) -> None:
        def asked(outcome: Outcome) -> None:
            if not (outcome.text or outcome.problems):
                question = Ask(f"Replace {path}?", "Replace", "There is such a file already.")
                self.app.push_screen(question, lambda answer: self._write(board, path, True) if answer else None)

        self.work(partial(self.acts.write, path, lambda: _latex(board).text, replace=replace), asked)


def _latex(board: Board) -> Outcome:
    from clarinet_tui.evidence.board_latex import to_latex

    return Outcome(text=to_latex(board))
