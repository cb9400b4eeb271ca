"""Details of one run beside its charts. Immutable, for use by several threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from clarinet_tui.history.alarms import Alarm
    from clarinet_tui.history.curves import Series
    from clarinet_tui.runs.inspection_file import Inspection

DetailPart = Literal["about", "settings", "confusion", "inspection", "log", "hardware"]
"""Parts that can be requested separately: each reads a file or a table."""

MAX_LOG_LINES = 500
"""Maximum number of shown lines of a run's log."""


@dataclass(frozen=True)
class DetailRequest:
    run: str
    parts: frozenset[DetailPart] = frozenset()


@dataclass(frozen=True)
class Setting:
    """One setting of the run; `default` is the preset's value, if the run has another one."""

    name: str
    value: str
    default: str | None = None
    description: str = ""


@dataclass(frozen=True)
class Confusion:
    """Target test images at the last evaluation: a row per true class, a column per predicted class."""

    counts: tuple[tuple[int, ...], ...]
    classes: tuple[str, ...]
    epoch: int
    epochs: tuple[int, ...] = ()
    """Epochs of all evaluations of its stage."""
    accuracies: tuple[tuple[float, ...], ...] = ()
    """Of each class in percent, at each of these epochs; NaN for a class without images."""


@dataclass(frozen=True)
class Failure:
    """Why a run failed: the message, the traceback, and the losses of its last iteration."""

    message: str
    frames: tuple[str, ...] = ()
    terms: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class LogExcerpt:
    """The last lines of a log; `first` is the line number of the first one."""

    first: int = 0
    text: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunDetails:
    """The requested parts; the others are empty."""

    request: DetailRequest
    settings: tuple[Setting, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    """Name and text of each line."""
    confusion: Confusion | None = None
    inspection: Inspection | None = None
    failure: Failure | None = None
    log: LogExcerpt = field(default_factory=LogExcerpt)
    hardware: Mapping[str, Series] = field(default_factory=dict, compare=False)
    """What was sampled of the hardware, over the seconds since the first sample."""
    alarms: tuple[Alarm, ...] = ()
    problem: str = ""
    """An error message, if something could not be read."""
