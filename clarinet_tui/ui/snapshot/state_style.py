"""How a run's state looks: a sign that needs no colour, and the role of its colour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow


ROLES = {
    "muted": "$foreground-muted",
    "faint": "$foreground-disabled",
    "live": "$text-primary",
    "good": "$text-success",
    "bad": "$text-error",
    "warn": "$text-warning",
    "tag": "$text-secondary",
    "strong": "bold",
    "chosen": "bold reverse",
}
"""What a piece of text is about, and its colour in the theme."""


@dataclass(frozen=True)
class Look:
    sign: str
    role: str


LOOKS = {
    "queued": Look("◦", "muted"),
    "starting": Look("▹", "live"),
    "running": Look("▸", "live"),
    "finished": Look("✓", "good"),
    "failed": Look("✗", "bad"),
    "stopped": Look("▪", "warn"),
    "lost": Look("?", "bad"),
    "silent": Look("~", "warn"),
}
UNKNOWN = Look("·", "muted")
LIVE = frozenset({"starting", "running"})


def look(state: str) -> Look:
    return LOOKS.get(state, UNKNOWN)


def progress(run: RunRow) -> float | None:
    """The share of a run that is done."""
    if not run.iterations_total or run.iteration is None:
        return None
    return min(run.iteration / run.iterations_total, 1.0)


def at_rest(run: RunRow) -> RunRow:
    """Of a run that goes on only what changes with an epoch: iterations pass too quickly to read it again for each."""
    if run.state not in LIVE:
        return run
    return replace(run, iteration=None, iterations_given=0, seconds=None, seconds_left=None)
