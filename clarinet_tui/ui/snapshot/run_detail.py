"""What is known of one run beside its charts: frozen, so that threads can hand it over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Part = Literal["about", "settings", "confusion", "log", "memory"]
"""What of a run's papers is wanted: each costs a look at a file or a table."""

KEPT = 500
"""Lines of a run's log that are shown."""


@dataclass(frozen=True)
class DetailWanted:
    run: str
    parts: frozenset[Part] = frozenset()


@dataclass(frozen=True)
class Setting:
    """One setting of the run; `usual` is what its preset has, where the run has something else."""

    name: str
    value: str
    usual: str | None = None
    sentence: str = ""


@dataclass(frozen=True)
class Confusion:
    """Target test images at the last evaluation: a row for each true class, a column for each predicted one."""

    counts: tuple[tuple[int, ...], ...]
    classes: tuple[str, ...]
    epoch: int


@dataclass(frozen=True)
class Failure:
    """Why a run failed: where in the program, and the losses of its last step."""

    message: str
    frames: tuple[str, ...] = ()
    terms: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Lines:
    """The last lines of a log; `first` is the number of the first one that is kept."""

    first: int = 0
    text: tuple[str, ...] = ()


@dataclass(frozen=True)
class Detail:
    """The parts that were wanted; the others are empty."""

    wanted: DetailWanted
    settings: tuple[Setting, ...] = ()
    surroundings: tuple[tuple[str, str], ...] = ()
    """Name and text, in the order in which they are read."""
    confusion: Confusion | None = None
    failure: Failure | None = None
    log: Lines = field(default_factory=Lines)
    memory: int | None = None
    """Bytes that the run's process holds, if it lives on this machine."""
    problem: str = ""
    """A sentence, if a paper could not be read."""
