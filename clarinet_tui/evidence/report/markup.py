"""HTML from parts: what is not made here is text, and text is always escaped."""

import html
from collections.abc import Iterable, Sequence

from clarinet_tui.text import printable

VOID = frozenset({"meta", "br"})
Value = str | int | bool | None


class Markup(str):
    """HTML already. Anything that is put together from it and other text is text again."""

    __slots__ = ()


Content = str | Markup | None


def text(content: str) -> Markup:
    """Foreign text: no tags, no control characters, no signs that turn the writing around; lines stay lines."""
    return Markup("\n".join(html.escape(printable(line)) for line in content.split("\n")))


def tag(name: str, /, *content: Content, **attributes: Value) -> Markup:
    """`class_` is class, `data_x` is data-x; None and False leave an attribute out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value not in (None, False))
    inside = "".join(part if isinstance(part, Markup) else text(part) for part in content if part is not None)
    return Markup(f"<{name}{written}>" if name in VOID else f"<{name}{written}>{inside}</{name}>")


def _attribute(key: str, value: Value) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'


def joined(parts: Iterable[Markup], between: str = "") -> Markup:
    return Markup(text(between).join(parts))


def row(cells: Iterable[Content], kind: str = "td", **attributes: Value) -> Markup:
    """The first cell is the row's name."""
    named = [tag("th" if place == 0 or kind == "th" else kind, cell) for place, cell in enumerate(cells)]
    return tag("tr", *named, **attributes)


def table(header: Sequence[Content], rows: Iterable[Markup], *, caption: str = "", **attributes: Value) -> Markup:
    """It scrolls by itself where the screen is narrow, also with the keyboard; its caption stays."""
    inside = tag("table", tag("thead", row(header, "th")), tag("tbody", *rows), **attributes)
    scrolling = tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label=caption or "table")
    return tag("div", tag("p", caption, class_="caption") if caption else None, scrolling)


def listed(lines: Iterable[Content], **attributes: Value) -> Markup | None:
    items = [tag("li", line) for line in lines]
    return tag("ul", *items, **attributes) if items else None


def folded(summary: Content, *content: Content, open_: bool = False) -> Markup:
    return tag("details", tag("summary", summary), *content, open_=open_)
