"""The pictures of an inspected run, as half blocks in the colours of their pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.runs.inspection_file import GROUP_TITLES
from clarinet_tui.ui.text.styled import styled

if TYPE_CHECKING:
    from clarinet_tui.runs.inspection_file import Inspection, Picture
    from clarinet_tui.ui.snapshot.run_detail import RunDetails


def format_pictures(run: str, details: RunDetails | None, width: int) -> Content:
    """Format mistakes first, then uncertain pictures and samples; without an inspection, how to make one."""
    if details is None:
        return Content()
    if details.inspection is None:
        return styled(
            ("Not inspected yet: ", "muted"), (f"clarinet inspect {run}", ""), (" evaluates its model.", "muted")
        )
    inspection = details.inspection
    parts = [styled((_measures(inspection), "muted"))]
    for group in ("wrong", "unsure", "source", "target"):
        pictures = [picture for picture in inspection.pictures if picture.group == group]
        if pictures:
            parts += [styled((GROUP_TITLES[group], "strong")), _grid(pictures, width)]
    return Content("\n").join(parts)


def _measures(inspection: Inspection) -> str:
    """Return the numbers of the model's figures."""
    distances = [f"A-distance {one.distance:.2f} at the {one.title}" for one in inspection.maps]
    calibration = inspection.calibration
    error = [f"calibration error {100 * calibration.error:.1f} %"] if calibration else []
    return ", ".join([f"epoch {inspection.epoch}", *error, *distances])


def _grid(pictures: list[Picture], width: int) -> Content:
    import numpy as np

    from clarinet_tui.chart.picture import picture_grid

    images = [(np.frombuffer(one.pixels, np.uint8).reshape(one.height, one.width, 3), one.captions) for one in pictures]
    return Content.from_rich_text(picture_grid(images, width, colour=True))
