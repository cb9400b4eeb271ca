"""HTML builders that escape every string that is not Markup."""

import html
from collections.abc import Iterable, Sequence

from clarinet_tui.text import printable

VOID = frozenset({"meta", "br", "img"})
Value = str | int | bool | None


class Markup(str):
    """Finished HTML. Concatenation with str gives str, which is escaped again."""

    __slots__ = ()


Content = str | Markup | None


def escape(content: str) -> Markup:
    """Escape text and remove control and bidirectional characters; line breaks stay."""
    return Markup("\n".join(html.escape(printable(line)) for line in content.split("\n")))


def tag(name: str, /, *content: Content, **attributes: Value) -> Markup:
    """Build an element; `class_` becomes class, `data_x` data-x; None and False omit an attribute."""
    pairs = {
        key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value not in (None, False)
    }
    written = "".join(f" {key}" if value is True else f' {key}="{escape(str(value))}"' for key, value in pairs.items())
    inside = "".join(part if isinstance(part, Markup) else escape(part) for part in content if part is not None)
    return Markup(f"<{name}{written}>" if name in VOID else f"<{name}{written}>{inside}</{name}>")


def join(parts: Iterable[Markup], between: str = "") -> Markup:
    return Markup(escape(between).join(parts))


def row(cells: Iterable[Content], kind: str = "td", **attributes: Value) -> Markup:
    """Build a table row; the first cell is its header."""
    elements = [tag("th" if index == 0 or kind == "th" else kind, cell) for index, cell in enumerate(cells)]
    return tag("tr", *elements, **attributes)


def table(header: Sequence[Content], rows: Iterable[Markup], *, caption: str = "", **attributes: Value) -> Markup:
    """Build a table that scrolls horizontally on narrow screens, also by keyboard, under a fixed caption."""
    inside = tag("table", tag("thead", row(header, "th")), tag("tbody", *rows), **attributes)
    scrolling = tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label=caption or "table")
    return tag("div", tag("p", caption, class_="caption") if caption else None, scrolling)


def bullet_list(lines: Iterable[Content], **attributes: Value) -> Markup | None:
    items = [tag("li", line) for line in lines]
    return tag("ul", *items, **attributes) if items else None


def collapsible(summary: Content, *content: Content, open_: bool = False) -> Markup:
    return tag("details", tag("summary", summary), *content, open_=open_)
