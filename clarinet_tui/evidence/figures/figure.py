"""What a figure shows, before it is painted for paper or drawn in a terminal."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Curve, Floats

Band = Literal["std", "interval", "range"]
BANDS: tuple[Band, ...] = get_args(Band)
MEANINGS: dict[Band, str] = {
    "std": "mean ± sample standard deviation over seeds",
    "interval": "the 95 % t interval of the mean",
    "range": "from the least to the greatest seed",
}
SLOTS = ("clarinet", "gac+cdan-e", "gac+dann", "gac+dan", "clarinet-no-t", "clarinet-ce", "cdan-e", "gac")
"""Methods that have the same colour in every figure."""


@dataclass(frozen=True, eq=False)
class Line:
    """One method in a panel: its mean, the band around it, and its runs behind it."""

    label: str
    slot: int
    """Which colour and which marker."""
    x: "Floats"
    y: "Floats"
    low: "Floats | None" = None
    high: "Floats | None" = None
    members: "tuple[Curve, ...]" = ()
    level: float | None = None
    """The published mean."""


@dataclass(frozen=True, eq=False)
class Panel:
    title: str
    x_name: str
    y_name: str
    lines: tuple[Line, ...]
    bars: bool = False
    """Points with bars instead of curves with bands."""


@dataclass(frozen=True)
class Matrix:
    """Who was taken for whom: a row for each true class, a column for each predicted one."""

    title: str
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def shares(self) -> list[list[float]]:
        """Of each true class."""
        return [[count / max(sum(row), 1) for count in row] for row in self.counts]


@dataclass(frozen=True, eq=False)
class Drawing:
    name: str
    title: str
    panels: tuple[Panel | Matrix, ...]
    notes: tuple[str, ...] = ()
    """What must be said with it."""
    columns: int = 3
    """At most so many panels beside each other."""


def slots(methods: Iterable[str]) -> dict[str, int]:
    """Known methods have their own; others come after them, in order."""
    given = list(dict.fromkeys(methods))
    others = [method for method in given if method not in SLOTS]
    return {method: SLOTS.index(method) if method in SLOTS else len(SLOTS) + others.index(method) for method in given}


def as_object(drawing: Drawing) -> dict[str, Any]:
    """All numbers of a drawing, for those who would rather draw it themselves; None is a gap."""
    panels = [_panel(panel) if isinstance(panel, Panel) else vars(panel) for panel in drawing.panels]
    return {"figure": drawing.name, "title": drawing.title, "notes": list(drawing.notes), "panels": panels}


def _panel(panel: Panel) -> dict[str, Any]:
    return {"title": panel.title, "x": panel.x_name, "y": panel.y_name, "lines": [_line(line) for line in panel.lines]}


def _line(line: Line) -> dict[str, Any]:
    return {
        "label": line.label,
        "x": _plain(line.x),
        "y": _plain(line.y),
        "low": None if line.low is None else _plain(line.low),
        "high": None if line.high is None else _plain(line.high),
        "runs": [{"x": _plain(x), "y": _plain(y)} for x, y in line.members],
        "published": line.level,
    }


def _plain(values: "Floats") -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]
