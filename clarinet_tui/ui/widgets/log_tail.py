"""The last lines of a run's log, with a search."""

from __future__ import annotations

import re
import textwrap
from collections import deque
from collections.abc import Iterable
from typing import ClassVar

from rich.cells import cell_len, chop_cells
from rich.highlighter import Highlighter
from rich.style import Style
from rich.text import Text
from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive
from textual.strip import Strip
from textual.widgets import Input, Log, Static

from clarinet_tui.ui.snapshot.snapshot import MAX_LOG_LINES, LogExcerpt
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.styled_text import StyledText

INDENT = "    "


class MatchHighlighter(Highlighter):
    """Draws what matches the pattern in the style."""

    pattern: re.Pattern[str] | None = None
    style = Style()

    def highlight(self, text: Text) -> None:
        if self.pattern:
            text.highlight_regex(self.pattern, self.style)


class LogLines(Log):
    """Lines, with what is searched for in another colour."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"log--match", "log--current-match"}
    DEFAULT_CSS = """
    LogLines { background: transparent; color: $foreground 85%; overflow: auto; scrollbar-size: 0 1; }
    LogLines > .log--match { background: $warning 40%; color: $foreground; text-style: bold; }
    LogLines > .log--current-match { background: $warning; color: $background; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", id="log.down", show=False),
        Binding("k", "scroll_up", "Up", id="log.up", show=False),
        Binding("g", "scroll_home", "First line", id="log.first", show=False),
        Binding("G", "scroll_end", "Last line", id="log.last", show=False),
    ]

    search_text: reactive[str] = reactive("")
    match_line: reactive[int | None] = reactive[int | None](None)
    """The line of the current match."""

    is_following = True
    """Whether the newest line stays visible: until the user scrolls back, and again at the end."""

    def __init__(self) -> None:
        super().__init__(highlight=True, max_lines=MAX_LOG_LINES)
        self.highlighter = self._matches = MatchHighlighter()

    def on_resize(self) -> None:
        self.scroll_to_newest()

    def scroll_to_newest(self) -> None:
        if self.is_following and self.match_line is None:
            self.scroll_end(animate=False, x_axis=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.is_following = self.is_vertical_scroll_end or (self.is_following and new_value > old_value)

    def matching_lines(self) -> list[int]:
        pattern = self._matches.pattern
        return [number for number, line in enumerate(self.lines) if pattern and pattern.search(line)]

    def watch_search_text(self, text: str) -> None:
        """The search ignores case unless it contains a capital letter."""
        flags = re.IGNORECASE if text.islower() else 0
        self._matches.pattern = re.compile(re.escape(text), flags) if text else None

    def render_line(self, y: int) -> Strip:
        is_current = self.scroll_offset.y + y == self.match_line
        self._matches.style = self.get_component_rich_style("log--current-match" if is_current else "log--match")
        return super().render_line(y)

    def watch_match_line(self, line: int | None) -> None:
        if line is not None:
            self.scroll_to(y=max(0, line - self.size.height // 2), animate=False)


def wrap_line(text: str, width: int) -> list[str]:
    """Wrap a line between words, with its later rows indented; characters of two columns are cut anywhere."""
    if width <= len(INDENT) or cell_len(text) <= width:
        return [text]
    if text.isascii():
        return textwrap.wrap(text, width, subsequent_indent=INDENT, break_on_hyphens=False) or [""]
    return chop_cells(text, width)


class LogTail(GuardedHandlers, Vertical):
    """Follows the newest line unless the user has scrolled away from it."""

    DEFAULT_CSS = """
    LogTail .search { height: 1; display: none; background: $surface; }
    LogTail .prompt { width: 3; color: $text-accent; text-style: bold; }
    LogTail Input { width: 1fr; background: $surface; }
    LogTail .count { width: auto; }
    LogTail LogLines { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", key_display="/", id="log.search", tooltip="Search in the log"),
        Binding("up", "find(-1)", "Previous match", id="log.before", show=False),
        Binding("down", "find(1)", "Next match", id="log.after", show=False),
        Binding("escape", "close", "Close", id="log.close", tooltip="Close the search"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._run = ""
        self._end = 0
        self._texts: deque[str] = deque(maxlen=MAX_LOG_LINES)
        self._width = 0
        """The lines before they were wrapped, and the width that they are wrapped to."""

    def compose(self) -> ComposeResult:
        yield LogLines()
        with Horizontal(classes="search"):
            yield Static(" / ", classes="prompt", markup=False)
            field = Input(placeholder="search; enter and arrows move between matches", compact=True)
            field.cursor_blink = self.app.animation_level != "none"
            yield field
            yield StyledText(classes="count")

    lines = getters.query_one(LogLines)

    def show(self, run: str, lines: LogExcerpt) -> None:
        """Append the new lines of the same run, or show all lines of another one."""
        end = lines.first + len(lines.text)
        if run != self._run or end < self._end:
            self.lines.clear()
            self._texts.clear()
            self.lines.match_line, self.lines.is_following = None, True
            self._run, self._end = run, lines.first
        new = lines.text[max(0, self._end - lines.first) :]
        self._end = end
        if new:
            self._texts.extend(new)
            self._write(new)

    def on_resize(self) -> None:
        """Wrap all lines again if the width has changed."""
        width = self.lines.scrollable_content_region.width
        if width and width != self._width:
            self._width = width
            self.lines.clear()
            self._write(self._texts)

    def _write(self, texts: Iterable[str]) -> None:
        self.lines.write_lines([row for text in texts for row in wrap_line(text, self._width)], scroll_end=False)
        self.call_after_refresh(self.lines.scroll_to_newest)

    def action_search(self) -> None:
        self.query_one(".search").display = True
        self.query_one(Input).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.query_one(".search").display if action in ("find", "close") else True

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search backwards from the newest line."""
        event.stop()
        self.lines.search_text, self.lines.match_line = event.value, None
        self.action_find(-1)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_find(-1)

    def action_find(self, step: int) -> None:
        """Go to the previous or next match; wrap around at the ends."""
        matches = self.lines.matching_lines()
        current = self.lines.match_line
        if not matches:
            self.lines.match_line = None
        elif current is None:
            self.lines.match_line = matches[-1]
        else:
            beyond = [line for line in matches if (line > current if step > 0 else line < current)]
            self.lines.match_line = (beyond or matches)[0 if step > 0 else -1]
        current = self.lines.match_line
        count = "" if not self.lines.search_text else " none "
        if current in matches:
            count = f" {matches.index(current) + 1} of {len(matches)} "
        self.query_one(".count", StyledText).set_content(styled((count, "muted")))

    def action_close(self) -> None:
        self.query_one(".search").display = False
        self.lines.search_text, self.lines.match_line = "", None
        self.query_one(Input).value = ""
        self.lines.focus()
