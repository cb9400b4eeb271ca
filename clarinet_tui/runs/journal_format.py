"""How events become lines: ordinary ones JSON objects, iterations compact arrays under a line of column names."""

import json
import math
from collections.abc import Sequence
from typing import Any

import msgspec

from core.events import Event, Stepped, plain

FIXED = ("iteration", "epoch", "adaptation_epoch", "stage", "seconds")
"""The first columns of every iteration; its metrics follow."""


def event_line(event: Event, now: float) -> bytes:
    """One JSON object, with the time of day."""
    fields = plain(event)
    fields["time"] = round(now, 3)
    return msgspec.json.encode(_speakable(fields)) + b"\n"


def columns_line(names: Sequence[str]) -> bytes:
    return msgspec.json.encode({"event": "columns", "names": names}) + b"\n"


class IterationLines:
    """Formats iterations. What changes once an epoch is baked into a template, the numbers are filled in.

    %.9g gives back every float32 exactly.
    """

    def __init__(self) -> None:
        self._columns: tuple[str, ...] | None = None
        self._stage = ""
        self._epoch: tuple[int, int | None, str] | None = None
        self._names: tuple[str, ...] = ()
        self._template = ""

    def line(self, event: Stepped) -> bytes:
        """The iteration's line, after a line of columns where those in force do not fit."""
        measured = event.measured
        try:
            total = sum(measured.values(), event.seconds)
        except TypeError:
            total = math.nan
        names = tuple(measured)
        if (
            total - total == 0.0
            and names == self._names
            and (event.epoch, event.adaptation_epoch, event.stage) == self._epoch
        ):
            return (self._template % (event.iteration, event.seconds, *measured.values())).encode()
        return self._unusual(event, names)

    def _unusual(self, event: Stepped, names: tuple[str, ...]) -> bytes:
        """A new epoch, other names, or a number that is none."""
        head = b""
        if not self._fits(names, event.stage):
            self._columns = names
            head = columns_line(FIXED + names)
        columns = self._columns or ()
        if columns == names:
            self._stage = event.stage
            self._names, self._epoch = names, (event.epoch, event.adaptation_epoch, event.stage)
            self._template = _template(event, len(names))
        row = [event.iteration, event.epoch, event.adaptation_epoch, event.stage]
        values = [_shown(value) for value in (event.seconds, *(event.measured.get(name) for name in columns))]
        return head + (json.dumps(row, separators=(",", ":"))[:-1] + "," + ",".join(values) + "]\n").encode()

    def _fits(self, names: tuple[str, ...], stage: str) -> bool:
        """A metric that is left out now and then is null in its column; a new one needs new columns."""
        if names == self._columns:
            return True
        return self._columns is not None and stage == self._stage and set(names) <= set(self._columns)


def _template(event: Stepped, metrics: int) -> str:
    fixed = json.dumps([event.epoch, event.adaptation_epoch, event.stage], separators=(",", ":"))[1:-1]
    return "[%d," + fixed.replace("%", "%%") + ",%.9g" * (metrics + 1) + "]\n"


def _shown(value: float | None) -> str:
    if value is None:
        return "null"
    return f"{value:.9g}" if math.isfinite(value) else f'"{_not_finite(value)}"'


def _not_finite(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _speakable(value: Any) -> Any:
    """JSON has no word for what is not finite, so that it becomes one of three texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return _not_finite(value)
    if isinstance(value, dict):
        return {key: _speakable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_speakable(inner) for inner in value]
    return value
