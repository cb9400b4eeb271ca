"""One choice of a form, before a widget shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.ui.text.run_summary import Part


@dataclass(frozen=True)
class Choice:
    """A value and how it looks; `sentence` tells more of it."""

    value: str
    label: str
    sentence: str = ""
    role: str = ""
    more: tuple[Part, ...] = ()
    """What follows the label, where each choice has a line of its own."""
