"""Two query lines, one for each family: what is typed in either is announced with what the other holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from clarinet_tui.ui.error_guard import GuardedHandlers
from clarinet_tui.ui.widgets.filter_line import FilterLine

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.snapshot import QueryProblem

Queries = tuple[str, str]


class QueryPair(GuardedHandlers, Vertical):
    """Hidden until it is opened; enter goes from the first to the second line and then keeps both, esc takes both."""

    @dataclass
    class QueriesChanged(Message):
        """Other runs are asked for."""

        queries: Queries

    @dataclass
    class QueriesClosed(Message):
        """The user is done with typing, and has kept the queries or taken them away."""

        kept: bool

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.first, self.second = FilterLine(" one-step / "), FilterLine(" two-step / ")
        self._queries: Queries = ("", "")

    def compose(self) -> ComposeResult:
        yield self.first
        yield self.second

    @property
    def is_typing(self) -> bool:
        return self.first.is_typing or self.second.is_typing

    async def open(self, queries: Queries) -> None:
        """With the queries that are in use."""
        self._queries = queries
        await self.second.open(queries[1])
        await self.first.open(queries[0])

    def show(
        self, matches: tuple[int, ...], problems: tuple[QueryProblem | None, ...], words: Mapping[str, tuple[str, ...]]
    ) -> None:
        """How many runs each finds, or what is wrong with it."""
        for line, count, problem in zip((self.first, self.second), matches, problems, strict=False):
            line.show(count, problem, words)

    def on_filter_line_filter_changed(self, event: FilterLine.FilterChanged) -> None:
        event.stop()
        one, two = self._queries
        self._queries = (event.query, two) if event.line is self.first else (one, event.query)
        self.post_message(self.QueriesChanged(self._queries))

    def on_filter_line_filter_closed(self, event: FilterLine.FilterClosed) -> None:
        event.stop()
        if event.kept and event.line is self.first:
            self.first.display = True
            self.call_after_refresh(self.second.open)
            return
        self.first.display = self.second.display = False
        self.post_message(self.QueriesClosed(event.kept))
