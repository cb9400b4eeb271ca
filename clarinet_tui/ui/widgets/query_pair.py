"""Two query lines, one for each compared family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.filter_line import FilterLine

if TYPE_CHECKING:
    from clarinet_tui.history.query_language import QueryProblem

Queries = tuple[str, str]


class QueryPair(GuardedHandlers, Vertical):
    """Hidden until it is opened. Enter moves to the second line, then keeps both queries; escape clears both."""

    @dataclass
    class QueriesChanged(Message):
        """One of the queries changed."""

        queries: Queries

    @dataclass
    class QueriesClosed(Message):
        """The user stopped typing and kept or cleared the queries."""

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
        """Open both lines with the queries that are applied."""
        self._queries = queries
        await self.second.open(queries[1])
        await self.first.open(queries[0])

    def show(
        self,
        matches: tuple[int, ...],
        problems: tuple[QueryProblem | None, ...],
        field_values: Mapping[str, tuple[str, ...]],
    ) -> None:
        """Show for each query how many runs match, or its problem."""
        for line, count, problem in zip((self.first, self.second), matches, problems, strict=False):
            line.show(count, problem, field_values)

    def on_filter_line_filter_changed(self, event: FilterLine.FilterChanged) -> None:
        event.stop()
        first, second = self._queries
        self._queries = (event.query, second) if event.line is self.first else (first, event.query)
        self.post_message(self.QueriesChanged(self._queries))

    def on_filter_line_filter_closed(self, event: FilterLine.FilterClosed) -> None:
        event.stop()
        if event.kept and event.line is self.first:
            self.first.display = True
            self.call_after_refresh(self.second.open)
            return
        self.first.display = self.second.display = False
        self.post_message(self.QueriesClosed(event.kept))
