"""The filter line: a query that is applied and completed while it is typed, with errors marked below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from clarinet_tui.ui.text.styled import Span, styled
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from textual.widgets import Input

    from clarinet_tui.history.query_language import QueryProblem


class FilterLine(GuardedHandlers, Vertical):
    """Hidden until it is opened. Tab completes, enter keeps the filter, escape clears it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete(1)", "Complete", id="filter.complete", tooltip="Insert the next completion"),
        Binding("shift+tab", "complete(-1)", "Complete backwards", id="filter.complete_back", show=False),
        Binding("escape", "clear", "Clear filter", id="filter.clear"),
        Binding("down", "close", "To the runs", id="filter.done", show=False),
    ]

    @dataclass(eq=False, repr=False)
    class FilterChanged(Message):
        query: str

    @dataclass(eq=False, repr=False)
    class FilterClosed(Message):
        """The user stopped typing and kept or cleared the query."""

        line: FilterLine
        kept: bool

    def __init__(self, prompt: str = " / ", *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._prompt = prompt
        self._input: Input | None = None
        """None until the line is opened."""
        self._timer: Timer | None = None
        self.applied = ""
        """The query that is applied."""
        self._field_values: Mapping[str, tuple[str, ...]] = {}
        self._start, self._candidates = 0, tuple[str, ...]()
        """Completions of the text from here to the caret."""
        self._inserted: int | None = None
        """The index of the inserted candidate."""
        self._problem: QueryProblem | None = None
        self.display = False

    async def _ensure_input(self) -> Input:
        """Mount the line when it is first needed, so that the first paint is faster."""
        from textual.widgets import Input

        if self._input:
            return self._input
        line = Input(placeholder="method:clarinet task:U->M acc>80 state:finished tag:icml", compact=True)
        line.cursor_blink = self.app.animation_level != "none"
        prompt = Static(self._prompt, classes="prompt", markup=False)
        await self.mount(
            Horizontal(prompt, line, StyledText(classes="matches"), classes="line"),
            StyledText(classes="candidates"),
            StyledText(classes="problem"),
        )
        self.query_one(".problem").display = self.query_one(".candidates").display = False
        self._input = line
        return line

    @property
    def is_typing(self) -> bool:
        return self.display and self._input is not None and self._input.has_focus

    async def open(self, query: str | None = None) -> None:
        """Open the line for typing; a query is set as the one that is already applied."""
        line = await self._ensure_input()
        if query is not None:
            self.applied = line.value = query
            line.cursor_position = len(query)
        self.display = True
        self.screen.set_focus(line)  # at once: `line.focus()` would do it after keys that have already arrived
        self._update_candidates()

    async def apply_query(self, query: str) -> None:
        """Filter with a query that was not typed here."""
        line = await self._ensure_input()
        line.value = query
        self.display = True
        self._apply()

    def show(self, total: int, problem: QueryProblem | None, field_values: Mapping[str, tuple[str, ...]]) -> None:
        """Show how many runs match, or the problem at its position."""
        if self._input is None:
            return
        matches = "" if problem else f" {total} {'match' if total == 1 else 'matches'} "
        self.query_one(".matches", StyledText).set_content(styled((matches, "muted")))
        self._problem = problem
        if field_values and field_values != self._field_values:
            self._field_values = field_values
            self._update_candidates()
        self._update_hints(self._input)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer:
            self._timer.stop()
        self._timer = self.set_timer(0.15, self._apply)
        if self._inserted is None or event.value != self._insert(event.input, self._candidates[self._inserted])[0]:
            self._update_candidates()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_close()

    def _update_candidates(self) -> None:
        from clarinet_tui.ui.query_completion import complete

        line = self._input
        if line:
            self._start, self._candidates = complete(line.value, line.cursor_position, self._field_values)
            self._inserted = None
            self._update_hints(line)

    def action_complete(self, step: int) -> None:
        """Insert the next candidate; after a single one, complete what follows it."""
        line, candidates = self._input, self._candidates
        if not candidates or line is None:
            return
        first = 0 if step > 0 else len(candidates) - 1
        self._inserted = first if self._inserted is None else (self._inserted + step) % len(candidates)
        line.value, line.cursor_position = self._insert(line, candidates[self._inserted])
        if len(candidates) == 1:
            self._update_candidates()
        self._update_hints(line)

    def _insert(self, line: Input, candidate: str) -> tuple[str, int]:
        """Return the text with the candidate inserted, and the caret's new position."""
        rest = line.value[line.cursor_position :]
        return f"{line.value[: self._start]}{candidate}{rest}", self._start + len(candidate)

    def _update_hints(self, line: Input) -> None:
        """Show the candidates, and the problem unless it is in the text that is being completed."""
        hints = self.query_one(".candidates", StyledText)
        hints.display = bool(self._candidates) and self.is_typing
        hints.set_content(format_candidates(self._candidates, self._inserted, max(self.size.width - 4, 20)))
        problem = self._problem
        is_unfinished = hints.display and problem is not None and problem.position >= self._start
        error = self.query_one(".problem", StyledText)
        error.display = problem is not None and not is_unfinished
        if problem:
            column = cell_len(line.value[: problem.position]) - round(line.scroll_offset.x)
            indent = " " * (len(self._prompt) + max(column, 0) - 1)  # the line is padded by one
            error.set_content(styled((f"{indent}^ ", "bad"), (problem.message, "bad")))

    def on_descendant_blur(self) -> None:
        self.query_one(".candidates").display = False

    def action_clear(self) -> None:
        if self._input:
            self._input.value = ""
        self.action_close(kept=False)

    def action_close(self, *, kept: bool = True) -> None:
        self._apply()
        self.display = bool(self.applied)
        self.post_message(self.FilterClosed(self, kept))

    def _apply(self) -> None:
        query = self._input.value.rstrip() if self._input else ""
        if query != self.applied:
            self.applied = query
            self.post_message(self.FilterChanged(query))


def format_candidates(candidates: tuple[str, ...], chosen: int | None, width: int) -> Content:
    """Format as many candidates as fit on the line, including the chosen one."""
    first, last = 0, chosen or 0
    while first < last and sum(len(candidate) + 2 for candidate in candidates[first : last + 1]) > width:
        first += 1
    spans: list[Span] = [("   ", "")]
    for index, candidate in enumerate(candidates[first:], first):
        if sum(len(text) for text, _ in spans) + len(candidate) > width:
            spans.append(("…", "faint"))
            break
        spans += [(candidate, "chosen" if index == chosen else "muted"), ("  ", "")]
    return styled(*spans)
