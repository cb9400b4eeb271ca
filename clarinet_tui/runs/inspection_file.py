"""What `clarinet inspect` has found out about a run's model: pictures, calibration and feature maps, as JSON.

The app and reports read it, so that they need neither torch nor the data.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import as_input_error, find_json
from core.files import replace_file

MAX_BYTES = 16 << 20
PictureGroup = Literal["source", "target", "wrong", "unsure"]
GROUP_TITLES: dict[PictureGroup, str] = {
    "source": "Source images with a complementary label",
    "target": "Target images",
    "wrong": "Wrong predictions, the surest first",
    "unsure": "Least certain predictions",
}
Side = Annotated[int, Meta(ge=1, le=256)]
Points = tuple[tuple[float, float], ...]
INSPECTION_PROCESS = "clarinet_tui.models.inspection_process"
"""The module of that process; the app starts it and never imports it."""


class Picture(Struct, frozen=True):
    """A small colour image with what is known about it; texts are empty where it is not known."""

    group: PictureGroup
    height: Side
    width: Side
    pixels: bytes
    true: str = ""
    excluded: str = ""
    """A class that it does not show, by its complementary label."""
    predicted: str = ""
    probability: float | None = None

    def __post_init__(self) -> None:
        if len(self.pixels) != self.height * self.width * 3:
            raise ValueError("a picture has another number of pixels than its size")

    @property
    def captions(self) -> tuple[str, ...]:
        """Return what it shows, or does not show, and what the model takes it for."""
        label = self.true or (f"not {self.excluded}" if self.excluded else "")
        chance = "" if self.probability is None else f"{100 * self.probability:.0f} %"
        return tuple(filter(None, (label, f"→ {self.predicted}" if self.predicted else "", chance)))


class CalibrationBins(Struct, frozen=True):
    """Means over bins of the probability of the predicted class; empty bins are left out."""

    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]
    count: int
    error: float

    def __post_init__(self) -> None:
        if len(self.confidence) != len(self.accuracy):
            raise ValueError("the bins of the calibration differ in number")


class FeatureMap(Struct, frozen=True):
    """The features of both domains at one moment of training, projected to a plane."""

    title: str
    source: Points
    target: Points
    source_y: tuple[int, ...]
    target_y: tuple[int, ...]
    distance: float
    """The proxy A-distance of all features, not of the projection."""

    def __post_init__(self) -> None:
        if len(self.source) != len(self.source_y) or len(self.target) != len(self.target_y):
            raise ValueError("points and labels of a feature map differ in number")


class Inspection(Struct, frozen=True):
    epoch: int
    classes: tuple[str, ...]
    pictures: tuple[Picture, ...] = ()
    calibration: CalibrationBins | None = None
    maps: tuple[FeatureMap, ...] = ()


def read_inspection(run: RunDirectory) -> Inspection | None:
    """Return the inspection of a run; None if there is none, or a damaged one, which is replaced by the next."""
    return find_json(run.inspection, Inspection, MAX_BYTES)


def write_inspection(run: RunDirectory, inspection: Inspection) -> None:
    with as_input_error(run.inspection):
        replace_file(run.inspection, msgspec.json.encode(inspection))


class InspectionReport(Struct, frozen=True, omit_defaults=True):
    """Progress, an error that ended the process, or the result."""

    what: str = ""
    done: int = 0
    total: int = 0
    error: str = ""
    pictures: tuple[Picture, ...] = ()
    """Samples of both domains, if they were requested."""
