"""Two query lines, one for each family: what is typed in either is announced with what the other holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from clarinet_tui.ui.error_guard import Guarded
from clarinet_tui.ui.widgets.filter_line import FilterLine

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.snapshot import QueryProblem

Queries = tuple[str, str]


class QueryPair(Guarded, Vertical):
    """Hidden until it is opened; enter goes from the first to the second line and then keeps both, esc takes both."""

    @dataclass
    class QueriesChanged(Message):
        """Other runs are asked for."""

        queries: Queries

    @dataclass
    class QueriesLeft(Message):
        """The user is done with typing, and has kept the queries or taken them away."""

        kept: bool

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.one, self.two = FilterLine(" one-step / "), FilterLine(" two-step / ")
        self._queries: Queries = ("", "")

    def compose(self) -> ComposeResult:
        yield self.one
        yield self.two

    @property
    def typing(self) -> bool:
        return self.one.typing or self.two.typing

    async def open(self, queries: Queries) -> None:
        """With the queries that are in use."""
        self._queries = queries
        await self.two.open(queries[1])
        await self.one.open(queries[0])

    def show(
        self, matches: tuple[int, ...], problems: tuple[QueryProblem | None, ...], words: Mapping[str, tuple[str, ...]]
    ) -> None:
        """How many runs each finds, or what is wrong with it."""
        for line, count, problem in zip((self.one, self.two), matches, problems, strict=False):
            line.show(count, problem, words)

    def on_filter_line_filter_changed(self, event: FilterLine.FilterChanged) -> None:
        event.stop()
        one, two = self._queries
        self._queries = (event.query, two) if event.line is self.one else (one, event.query)
        self.post_message(self.QueriesChanged(self._queries))

    def on_filter_line_filter_left(self, event: FilterLine.FilterLeft) -> None:
        event.stop()
        if event.kept and event.line is self.one:
            self.one.display = True
            self.call_after_refresh(self.two.open)
            return
        self.one.display = self.two.display = False
        self.post_message(self.QueriesLeft(event.kept))
