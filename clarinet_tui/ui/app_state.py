"""The state that all screens share: the last snapshots, the user's selection, and the way to the feeds."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.analysis.choices import COMPARED_FAMILIES

if TYPE_CHECKING:
    from clarinet_tui.chart.cells import GlyphSet
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.actions import RunActions
    from clarinet_tui.ui.feed.child_process import InspectionFeed
    from clarinet_tui.ui.feed.history_feed import HistoryFeed
    from clarinet_tui.ui.feed.machine_feed import MachineFeed
    from clarinet_tui.ui.launch_form import LaunchForm
    from clarinet_tui.ui.preferences import PreferenceStore
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot
    from clarinet_tui.ui.snapshot.snapshot import HistorySnapshot, InspectionProgress

MAX_OVERLAID = 8
"""Overlaid runs: the palette has this many colours."""


@dataclass(eq=False, repr=False)
class AppState:
    """Screens read and change it; only the app sets `snapshot`, `machine` and `inspections`."""

    runs_dir: Path
    data_dir: Path
    database: Path | None
    history_feed: HistoryFeed
    machine_feed: MachineFeed
    on_inspection: Callable[[InspectionProgress], object]
    """Called by a thread with each step of an inspection."""
    preferences: PreferenceStore
    now: Callable[[], float]
    glyphs: str = ""
    """The name of the charts' glyph set, or "" to choose by the terminal."""
    snapshot: HistorySnapshot | None = None
    live_run: str | None = None
    """The run in the Live view; None is the newest."""
    overlaid_runs: tuple[str, ...] = ()
    """Two or more runs that the Live view overlays; without them it shows `live_run`."""
    compared_runs: tuple[str, ...] = ()
    """The runs in the Compare view, if they were selected by id."""
    compared_queries: tuple[str, str] | None = None
    """The queries of the Compare view; without ids and queries it selects runs itself."""
    machine: MachineSnapshot | None = None
    inspections: dict[str, InspectionProgress] = field(default_factory=dict)
    """Runs that this app inspects now, or will."""
    deletions: list[tuple[str, ...]] = field(default_factory=list)
    """Runs deleted in this session, one tuple for each deletion, oldest first."""
    new_runs: tuple[str, ...] = ()
    """Runs just started in the Launch view, for the History view to show."""
    history_query: str = ""
    """A filter that another view sets for the History view."""
    sweep: str = ""
    """The sweep of the Sweep view."""
    cloned_form: LaunchForm | None = None
    """The form of a cloned run, for the Launch view."""

    @cached_property
    def actions(self) -> RunActions:
        """Created on first use: its imports take too long for the first paint."""
        from clarinet_tui.ui.actions import RunActions

        return RunActions(self.runs_dir, self.data_dir, self.database)

    @cached_property
    def inspection_feed(self) -> InspectionFeed:
        """Created for the first inspection, for the same reason."""
        from clarinet_tui.ui.feed.child_process import InspectionFeed

        return InspectionFeed(self.runs_dir, self.data_dir, self.on_inspection)

    def known_runs(self) -> list[RunRow]:
        """Return the runs of the last snapshot: the listed ones, and those with curves."""
        snapshot = self.snapshot
        return [*snapshot.listing.rows, *(curves.run for curves in snapshot.curves.values())] if snapshot else []

    def compare(self, runs: tuple[str, ...]) -> None:
        """Select runs for the Compare view by id; one-step runs come first, as they are its left side."""
        two_step = {row.id for row in self.known_runs() if row.family == COMPARED_FAMILIES[1]}
        self.compared_runs, self.compared_queries = tuple(sorted(runs, key=two_step.__contains__)), None

    def chart_glyphs(self) -> GlyphSet:
        from clarinet_tui.chart.cells import glyphs_for

        name = self.glyphs or os.environ.get("CLARINET_GLYPHS") or self.preferences.values.glyphs
        return glyphs_for({**os.environ, "CLARINET_GLYPHS": name})
