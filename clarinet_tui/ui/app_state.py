"""What the screens share: the feed's ear, the last snapshot, and what the user has picked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.ui.preferences import Preferences
from clarinet_tui.ui.snapshot.snapshot import Snapshot, Wanted

if TYPE_CHECKING:
    from clarinet_tui.chart.glyphs import Glyphs
    from clarinet_tui.ui.actions import Acts
    from clarinet_tui.ui.launch_form import Form
    from clarinet_tui.ui.snapshot.machine import Machine

MOST_OVERLAID = 8
"""Runs over each other: so many colours there are."""


@dataclass
class Session:
    """One sitting at the terminal. Screens read and change it; only the app puts snapshots in."""

    runs_dir: Path
    want: Callable[[Wanted], None]
    now: Callable[[], float]
    glyphs: str = ""
    """The name of the chart's glyphs, or "" to guess from the terminal."""
    left: Preferences = field(default_factory=Preferences)
    """How the views were left the last time."""
    remember: Callable[..., None] = lambda **changes: None
    """Keeps how they are left now."""
    snapshot: Snapshot | None = None
    watched: str | None = None
    """The run in the Live view; None is the newest."""
    overlaid: tuple[str, ...] = ()
    """Runs that the Live view shows over each other; with fewer than two, it shows the watched one."""
    compared: tuple[str, ...] = field(default_factory=tuple)
    """The runs in the Compare view, if they were chosen by hand."""
    compared_queries: tuple[str, str] | None = None
    """What is compared, if it was said in queries; with neither, the view chooses itself."""
    data_dir: Path = Path("data")
    database: Path | None = None
    watch: Callable[[str, bool], None] = lambda view, wanted: None
    """Whether a view shows the machine."""
    look_again: Callable[[], None] = lambda: None
    """Something was changed on the machine."""
    machine: Machine | None = None
    removed: list[tuple[str, ...]] = field(default_factory=list)
    """Runs that were deleted together, in order."""
    arrived: tuple[str, ...] = ()
    """Runs that were started in the Launch view and are to be looked at."""
    sought: str = ""
    """A query that the History view is to be filtered with."""
    cloned: Form | None = None
    """What the Launch view is to be filled with."""

    @cached_property
    def acts(self) -> Acts:
        """Made when it is needed: what it imports is not for the first paint."""
        from clarinet_tui.ui.actions import Acts

        return Acts(self.runs_dir, self.data_dir, self.database)

    def chart_glyphs(self) -> Glyphs:
        import os

        from clarinet_tui.chart.glyphs import glyphs_for

        asked = self.glyphs or os.environ.get("CLARINET_GLYPHS") or self.left.glyphs
        return glyphs_for({**os.environ, "CLARINET_GLYPHS": asked})
