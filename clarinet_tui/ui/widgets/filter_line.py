"""The filter line: a query, applied and completed while it is typed, with what is wrong under its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from clarinet_tui.ui.error_guard import GuardedHandlers
from clarinet_tui.ui.text.styled import Span, styled
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from textual.widgets import Input

    from clarinet_tui.ui.snapshot.snapshot import QueryProblem

DEBOUNCE = 0.15
"""Seconds without a key after which the query is tried."""
PROMPT = " / "


class FilterLine(GuardedHandlers, Vertical):
    """Hidden until it is needed; tab completes, enter keeps the filter, esc takes it away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete(1)", "Complete", id="filter.complete", tooltip="The next that fits here"),
        Binding("shift+tab", "complete(-1)", "Complete backwards", id="filter.complete_back", show=False),
        Binding("escape", "clear", "Clear filter", id="filter.clear"),
        Binding("down", "done", "To the runs", id="filter.done", show=False),
    ]

    @dataclass
    class FilterChanged(Message):
        """Another query is to be shown."""

        line: FilterLine
        query: str

    @dataclass
    class FilterClosed(Message):
        """The user is done with typing, and has kept the query or taken it away."""

        line: FilterLine
        kept: bool

    def __init__(self, prompt: str = PROMPT, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._prompt = prompt
        self._timer: Timer | None = None
        self._applied = ""
        self._field_values: Mapping[str, tuple[str, ...]] = {}
        self._start, self._candidates = 0, tuple[str, ...]()
        """What can stand in the place of the text from here to the caret."""
        self._chosen: int | None = None
        """The candidate that stands in the line, once tab was pressed."""
        self._problem: QueryProblem | None = None
        self.display = False

    def compose(self) -> ComposeResult:
        """Nothing yet: the first paint comes sooner without it."""
        yield from ()

    async def _mount_input(self) -> None:
        from textual.widgets import Input

        line = Input(placeholder="method:clarinet task:U->M acc>80 state:finished tag:icml", compact=True)
        line.cursor_blink = self.app.animation_level != "none"
        prompt = Static(self._prompt, classes="prompt", markup=False)
        await self.mount(
            Horizontal(prompt, line, StyledText(classes="matches"), classes="line"),
            StyledText(classes="candidates"),
            StyledText(classes="problem"),
        )
        self.query_one(".problem").display = self.query_one(".candidates").display = False

    @property
    def _input(self) -> Input | None:
        """Where the query is typed, once the line was opened."""
        from textual.widgets import Input

        return next(iter(self.query(Input)), None)

    @property
    def is_typing(self) -> bool:
        return self.display and self._input is not None and self._input.has_focus

    async def open(self, query: str | None = None) -> None:
        """For typing; with a query in it, if one is given, which is as if it were applied."""
        if self._input is None:
            await self._mount_input()
        assert self._input is not None
        if query is not None:
            self.set_query(query)
        self.display = True
        self._input.focus()
        self._update_candidates()

    async def apply(self, query: str) -> None:
        """Filters with a query that nobody has typed here."""
        if self._input is None:
            await self._mount_input()
        assert self._input is not None
        self._input.value = query
        self.display = True
        self._apply()

    def set_query(self, query: str) -> None:
        """A query that is in use already: nothing is announced."""
        self._applied = query
        if self._input:
            self._input.value = query
            self._input.cursor_position = len(query)

    def show(self, total: int, problem: QueryProblem | None, known: Mapping[str, tuple[str, ...]]) -> None:
        """How many runs match, or what is wrong and where."""
        if self._input is None:
            return
        matches = "" if problem else f" {total} {'match' if total != 1 else 'matches'} "
        self.query_one(".matches", StyledText).set_content(styled((matches, "muted")))
        self._problem = problem
        if known and known != self._field_values:
            self._field_values = known
            self._update_candidates()
        self._update_hints(self._input)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE, self._apply)
        if self._chosen is None or event.value != self._insert(event.input, self._candidates[self._chosen])[0]:
            self._update_candidates()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_done()

    def _update_candidates(self) -> None:
        from clarinet_tui.ui.query_completion import complete

        line = self._input
        if line:
            found = complete(line.value, line.cursor_position, self._field_values)
            self._start, self._candidates, self._chosen = found.start, found.candidates, None
            self._update_hints(line)

    def action_complete(self, step: int) -> None:
        """Puts the next candidate in; what was the only one opens what comes after it."""
        line, candidates = self._input, self._candidates
        if not candidates or line is None:
            return
        first = 0 if step > 0 else len(candidates) - 1
        self._chosen = first if self._chosen is None else (self._chosen + step) % len(candidates)
        line.value, line.cursor_position = self._insert(line, candidates[self._chosen])
        if len(candidates) == 1:
            self._update_candidates()
        self._update_hints(line)

    def _insert(self, line: Input, candidate: str) -> tuple[str, int]:
        """The line with the candidate in its place, and where the caret then is."""
        rest = line.value[line.cursor_position :]
        return f"{line.value[: self._start]}{candidate}{rest}", self._start + len(candidate)

    def _update_hints(self, line: Input) -> None:
        """The candidates; what is wrong is said only where the user has gone on from."""
        offered = self.query_one(".candidates", StyledText)
        offered.display = bool(self._candidates) and self.is_typing
        offered.set_content(format_candidates(self._candidates, self._chosen, max(self.size.width - 4, 20)))
        problem = self._problem
        unfinished = offered.display and problem is not None and problem.position >= self._start
        trouble = self.query_one(".problem", StyledText)
        trouble.display = problem is not None and not unfinished
        if problem:
            place = cell_len(line.value[: problem.position]) - round(line.scroll_offset.x)
            trouble.set_content(
                styled((" " * (len(self._prompt) + max(place, 0)) + "^ ", "bad"), (problem.message, "bad"))
            )

    def on_descendant_blur(self) -> None:
        self.query_one(".candidates").display = False

    def action_done(self) -> None:
        self._close(kept=True)

    def action_clear(self) -> None:
        if self._input:
            self._input.value = ""
        self._close(kept=False)

    def _close(self, *, kept: bool) -> None:
        self._apply()
        self.display = bool(self._applied)
        self.post_message(self.FilterClosed(self, kept))

    def _apply(self) -> None:
        query = self._input.value.rstrip() if self._input else ""
        if query != self._applied:
            self._applied = query
            self.post_message(self.FilterChanged(self, query))


def format_candidates(candidates: tuple[str, ...], chosen: int | None, width: int) -> Content:
    """As many candidates as fit on the line, the chosen one among them."""
    first = 0
    while chosen is not None and first < chosen and sum(len(one) + 2 for one in candidates[first : chosen + 1]) > width:
        first += 1
    parts: list[Span] = [("   ", "")]
    for place, candidate in enumerate(candidates[first:], first):
        if sum(len(text) for text, _ in parts) + len(candidate) > width:
            parts.append(("…", "faint"))
            break
        parts += [(candidate, "chosen" if place == chosen else "muted"), ("  ", "")]
    return styled(*parts)
