"""Format events as lines: a JSON object each, but iterations as compact arrays under a line of column names."""

import json
import math
from typing import Any

import msgspec

from core.events import Event, Stepped, flatten_event

FIXED_COLUMNS = ("iteration", "epoch", "adaptation_epoch", "stage", "seconds")
"""The first columns of every iteration; the metrics follow."""
Epoch = tuple[int, int | None, str]
"""Epoch, adaptation epoch and stage: what a template is made for."""


def format_event(event: Event, now: float, attempt: str = "") -> bytes:
    """Return one JSON object, with the Unix time added, and the attempt's id if it is the first."""
    fields = flatten_event(event)
    fields["time"] = round(now, 3)
    if attempt:
        fields["attempt"] = attempt
    return msgspec.json.encode(encode_non_finite(fields)) + b"\n"


class IterationFormatter:
    """Format iterations with a template that changes once an epoch; its %.9g reproduces every float32 exactly."""

    def __init__(self) -> None:
        self._columns: tuple[str, ...] | None = None
        self._epoch: Epoch | None = None
        self._template = ""

    def format(self, event: Stepped) -> bytes:
        """Return the iteration's line, preceded by a line of columns if the current ones do not fit."""
        measured = event.measured
        try:
            total = sum(measured.values(), event.seconds)
        except TypeError:
            total = math.nan
        names = tuple(measured)
        epoch = (event.epoch, event.adaptation_epoch, event.stage)
        if total - total == 0.0 and names == self._columns and epoch == self._epoch:  # the total is finite
            return (self._template % (event.iteration, event.seconds, *measured.values())).encode()
        return self._format_without_template(event, names, epoch)

    def _format_without_template(self, event: Stepped, names: tuple[str, ...], epoch: Epoch) -> bytes:
        """Used for a new epoch, other metrics, or a number that is not finite."""
        header, fixed = b"", json.dumps(epoch, separators=(",", ":"))[1:-1]
        # Within a stage a missing metric is written as null; any other change of metrics needs new columns.
        fits = self._epoch is not None and event.stage == self._epoch[2] and set(names) <= set(self._columns or ())
        if names != self._columns and not fits:
            self._columns = names
            header = msgspec.json.encode({"event": "columns", "names": FIXED_COLUMNS + names}) + b"\n"
        columns = self._columns or ()
        if columns == names:
            self._epoch = epoch
            self._template = "[%d," + fixed.replace("%", "%%") + ",%.9g" * (len(names) + 1) + "]\n"
        values = [_format_number(value) for value in (event.seconds, *(event.measured.get(name) for name in columns))]
        return header + f"[{event.iteration},{fixed},{','.join(values)}]\n".encode()


def _format_number(value: float | None) -> str:
    if value is None:
        return "null"
    return f"{value:.9g}" if math.isfinite(value) else f'"{_non_finite_name(value)}"'


def _non_finite_name(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def encode_non_finite(value: Any) -> Any:
    """Replace NaN and the infinities, which JSON does not have, by "nan", "inf" and "-inf"."""
    if isinstance(value, float) and not math.isfinite(value):
        return _non_finite_name(value)
    if isinstance(value, dict):
        return {key: encode_non_finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [encode_non_finite(inner) for inner in value]
    return value
