"""What the view of a sweep requests, and what was read for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from clarinet_tui.analysis.figures.figure import Figure
    from clarinet_tui.history.queries import RunRow


class SweepLine(Struct, frozen=True, eq=False):
    """A variant of the sweep: a combination of what it varies, with the newest run of each seed."""

    labels: tuple[str, ...]
    """The value of each varied setting."""
    runs: Mapping[int | None, RunRow]
    mean: float | None
    """The mean and the std of the `measured` seeds; std needs two."""
    std: float | None
    measured: int


class SweepSnapshot(Struct, frozen=True, eq=False):
    name: str
    runs: tuple[RunRow, ...]
    """All runs, newest first."""
    common: tuple[str, ...]
    """The method, the task and the preset, as far as all runs have the same."""
    titles: tuple[str, ...]
    """The names of the varied settings."""
    seeds: tuple[int | None, ...]
    lines: tuple[SweepLine, ...]
    figure: Figure | None
    """The accuracy against the setting with most values, if finished runs differ in one."""
