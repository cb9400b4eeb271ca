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

from clarinet_tui.ui.error_guard import Guarded
from clarinet_tui.ui.text.run_summary import Part, said
from clarinet_tui.ui.widgets.text_line import Words

if TYPE_CHECKING:
    from textual.widgets import Input

    from clarinet_tui.ui.snapshot.snapshot import QueryProblem

PAUSE = 0.15
"""Seconds without a key after which the query is tried."""
PROMPT = " / "


class FilterLine(Guarded, Vertical):
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
    class FilterLeft(Message):
        """The user is done with typing, and has kept the query or taken it away."""

        line: FilterLine
        kept: bool

    def __init__(self, prompt: str = PROMPT, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._prompt = prompt
        self._pause: Timer | None = None
        self._applied = ""
        self._known: Mapping[str, tuple[str, ...]] = {}
        self._start, self._candidates = 0, tuple[str, ...]()
        """What can stand in the place of the text from here to the caret."""
        self._chosen: int | None = None
        """The candidate that stands in the line, once tab was pressed."""
        self._problem: QueryProblem | None = None
        self.display = False

    def compose(self) -> ComposeResult:
        """Nothing yet: the first paint comes sooner without it."""
        yield from ()

    async def _fill(self) -> None:
        from textual.widgets import Input

        line = Input(placeholder="method:clarinet task:U->M acc>80 state:finished tag:icml", compact=True)
        line.cursor_blink = self.app.animation_level != "none"
        prompt = Static(self._prompt, classes="prompt", markup=False)
        await self.mount(
            Horizontal(prompt, line, Words(classes="matches"), classes="line"),
            Words(classes="candidates"),
            Words(classes="problem"),
        )
        self.query_one(".problem").display = self.query_one(".candidates").display = False

    @property
    def _input(self) -> Input | None:
        """Where the query is typed, once the line was opened."""
        from textual.widgets import Input

        return next(iter(self.query(Input)), None)

    @property
    def typing(self) -> bool:
        return self.display and self._input is not None and self._input.has_focus

    async def open(self, query: str | None = None) -> None:
        """For typing; with a query in it, if one is given, which is as if it were applied."""
        if self._input is None:
            await self._fill()
        assert self._input is not None
        if query is not None:
            self.put(query)
        self.display = True
        self._input.focus()
        self._look_ahead()

    async def use(self, query: str) -> None:
        """Filters with a query that nobody has typed here."""
        if self._input is None:
            await self._fill()
        assert self._input is not None
        self._input.value = query
        self.display = True
        self._apply()

    def put(self, query: str) -> None:
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
        self.query_one(".matches", Words).say(said((matches, "muted")))
        self._problem = problem
        if known and known != self._known:
            self._known = known
            self._look_ahead()
        self._tell(self._input)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._pause:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE, self._apply)
        if self._chosen is None or event.value != self._with(event.input, self._candidates[self._chosen])[0]:
            self._look_ahead()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_done()

    def _look_ahead(self) -> None:
        from clarinet_tui.ui.query_completion import complete

        line = self._input
        if line:
            found = complete(line.value, line.cursor_position, self._known)
            self._start, self._candidates, self._chosen = found.start, found.candidates, None
            self._tell(line)

    def action_complete(self, step: int) -> None:
        """Puts the next candidate in; what was the only one opens what comes after it."""
        line, candidates = self._input, self._candidates
        if not candidates or line is None:
            return
        first = 0 if step > 0 else len(candidates) - 1
        self._chosen = first if self._chosen is None else (self._chosen + step) % len(candidates)
        line.value, line.cursor_position = self._with(line, candidates[self._chosen])
        if len(candidates) == 1:
            self._look_ahead()
        self._tell(line)

    def _with(self, line: Input, candidate: str) -> tuple[str, int]:
        """The line with the candidate in its place, and where the caret then is."""
        rest = line.value[line.cursor_position :]
        return f"{line.value[: self._start]}{candidate}{rest}", self._start + len(candidate)

    def _tell(self, line: Input) -> None:
        """The candidates; what is wrong is said only where the user has gone on from."""
        offered = self.query_one(".candidates", Words)
        offered.display = bool(self._candidates) and self.typing
        offered.say(listed(self._candidates, self._chosen, max(self.size.width - 4, 20)))
        problem = self._problem
        unfinished = offered.display and problem is not None and problem.position >= self._start
        trouble = self.query_one(".problem", Words)
        trouble.display = problem is not None and not unfinished
        if problem:
            place = cell_len(line.value[: problem.position]) - round(line.scroll_offset.x)
            trouble.say(said((" " * (len(self._prompt) + max(place, 0)) + "^ ", "bad"), (problem.message, "bad")))

    def on_descendant_blur(self) -> None:
        self.query_one(".candidates").display = False

    def action_done(self) -> None:
        self._leave(kept=True)

    def action_clear(self) -> None:
        if self._input:
            self._input.value = ""
        self._leave(kept=False)

    def _leave(self, *, kept: bool) -> None:
        self._apply()
        self.display = bool(self._applied)
        self.post_message(self.FilterLeft(self, kept))

    def _apply(self) -> None:
        query = self._input.value.rstrip() if self._input else ""
        if query != self._applied:
            self._applied = query
            self.post_message(self.FilterChanged(self, query))


def listed(candidates: tuple[str, ...], chosen: int | None, width: int) -> Content:
    """As many candidates as fit on the line, the chosen one among them."""
    first = 0
    while chosen is not None and first < chosen and sum(len(one) + 2 for one in candidates[first : chosen + 1]) > width:
        first += 1
    parts: list[Part] = [("   ", "")]
    for place, candidate in enumerate(candidates[first:], first):
        if sum(len(text) for text, _ in parts) + len(candidate) > width:
            parts.append(("…", "faint"))
            break
        parts += [(candidate, "chosen" if place == chosen else "muted"), ("  ", "")]
    return said(*parts)
