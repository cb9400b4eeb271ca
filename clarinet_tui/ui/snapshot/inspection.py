"""How far the inspection of a run is. Immutable, for use by several threads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InspectionProgress:
    """A step of an inspection that the app has started; the last one is its end."""

    run: str
    what: str = "Waiting"
    done: int = 0
    total: int = 0
    error: str = ""
    has_ended: bool = False
