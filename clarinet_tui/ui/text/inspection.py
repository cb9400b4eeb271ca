"""The panes Model and Pictures of an inspected run: figures of its model, and pictures as half blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.chart.picture import CELL_COLUMNS, GAP, picture_grid
from clarinet_tui.runs.inspection_file import GROUP_TITLES
from clarinet_tui.text import format_task
from clarinet_tui.ui.text.styled import styled

if TYPE_CHECKING:
    from rich.text import Text

    from clarinet_tui.chart.cells import GlyphSet
    from clarinet_tui.runs.inspection_file import Inspection, Picture
    from clarinet_tui.ui.snapshot.inspection import InspectionProgress
    from clarinet_tui.ui.snapshot.run_detail import RunDetails
    from clarinet_tui.ui.snapshot.samples import TaskSamples

BAR = 20
"""Width of the progress bar."""


def format_inspection_state(run: str, details: RunDetails | None, progress: InspectionProgress | None) -> Content:
    """Format how far an inspection is, or how to start one; empty if there is a result."""
    if progress:
        share = progress.done / progress.total if progress.total else 0.0
        full = round(BAR * min(share, 1.0))
        bar = (("━" * full, "live"), ("─" * (BAR - full), "faint"), ("  ", ""))
        return styled(("Inspecting: ", "muted"), *(bar if progress.total else ()), (progress.what, ""))
    if details is None or details.inspection:
        return Content()
    return styled(
        ("Not inspected yet: ", "muted"), ("i", "strong"), (" evaluates its model, as ", "muted"),
        (f"clarinet inspect {run}", ""), (" does.", "muted"),
    )  # fmt: skip


def format_pictures(inspection: Inspection, width: int) -> Content:
    """Format mistakes first, then uncertain pictures and samples."""
    parts = [styled((f"Epoch {inspection.epoch}", "muted"))]
    for group in ("wrong", "unsure", "source", "target"):
        pictures = [picture for picture in inspection.pictures if picture.group == group]
        if pictures:
            parts += [styled((GROUP_TITLES[group], "strong")), format_picture_grid(pictures, width)]
    return Content("\n").join(parts)


def format_picture_grid(pictures: Sequence[Picture], width: int, columns: int = CELL_COLUMNS) -> Content:
    import numpy as np

    images = [(np.frombuffer(one.pixels, np.uint8).reshape(one.height, one.width, 3), one.captions) for one in pictures]
    return Content.from_rich_text(picture_grid(images, width, colour=True, columns=columns, rows=columns // 2))


def format_samples(samples: TaskSamples, width: int, columns: int) -> Content:
    """Format one line of pictures, each `columns` wide, for each domain, or why there are none."""
    if samples.is_reading or samples.error:
        text, role = (samples.error, "warn") if samples.error else (f"Reading {format_task(samples.task)} …", "muted")
        return styled((text, role))
    parts = []
    for group in ("source", "target"):
        pictures = [picture for picture in samples.pictures if picture.group == group]
        shown = pictures[: max(1, width // (columns + GAP))]
        parts += [styled((GROUP_TITLES[group], "muted")), format_picture_grid(shown, width, columns)] if shown else []
    return Content("\n").join(parts)


def format_model(run: str, inspection: Inspection, width: int, glyphs: GlyphSet, palette: str) -> Content:
    """Format both domains in feature space and the reliability diagram, as `clarinet plot` draws them."""
    from clarinet_tui.analysis.figures.inspection import calibration_figure, features_figure
    from clarinet_tui.analysis.terminal.figure import figure_lines

    figures = [features_figure(run, inspection.classes, inspection.maps, "PCA")] if inspection.maps else []
    figures += [calibration_figure("Calibration: ", inspection.calibration)] if inspection.calibration else []
    parts = [_as_content(figure_lines(figure, width, glyphs, palette)) for figure in figures]
    return Content("\n\n").join(parts)


def _as_content(lines: Iterable[Text]) -> Content:
    return Content("\n").join(map(Content.from_rich_text, lines))
