"""What the screens share: the feed's ear, the last snapshot, and what the user has picked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.ui.snapshot import Snapshot, Wanted

if TYPE_CHECKING:
    from clarinet_tui.ui.widgets.chart import Glyphs


@dataclass
class Session:
    """One sitting at the terminal. Screens read and change it; only the app puts snapshots in."""

    runs_dir: Path
    want: Callable[[Wanted], None]
    now: Callable[[], float]
    glyphs: str = ""
    """The name of the chart's glyphs, or "" to guess from the terminal."""
    snapshot: Snapshot | None = None
    watched: str | None = None
    """The run in the Live view; None is the newest."""
    compared: tuple[str, ...] = field(default_factory=tuple)
    """The runs in the Compare view."""

    def chart_glyphs(self) -> Glyphs:
        import os

        from clarinet_tui.ui.widgets.chart import glyphs_for

        return glyphs_for({**os.environ, "CLARINET_GLYPHS": self.glyphs} if self.glyphs else os.environ)
