"""The panes Model and Pictures of an inspected run: figures of its model, and pictures as half blocks."""

from collections.abc import Iterator, Sequence

import numpy as np
from textual.content import Content

from clarinet_tui.chart.cells import GlyphSet
from clarinet_tui.chart.picture import CELL_COLUMNS, GAP, picture_grid
from clarinet_tui.runs.inspection_file import GROUP_TITLES, Inspection, Picture
from clarinet_tui.text import format_percent, format_task, printable, progress_bar
from clarinet_tui.ui.snapshot.snapshot import Confusion, InspectionProgress, RunDetails, TaskSamples
from clarinet_tui.ui.text.styled import styled


def format_inspection_state(run: str, details: RunDetails | None, progress: InspectionProgress | None) -> Content:
    """Format how far an inspection is, or how to start one; empty if there is a result."""
    if progress:
        done, rest = progress_bar(progress.done / progress.total, 20) if progress.total else ("", "")
        gap = "  " if progress.total else ""
        return styled(("Inspecting: ", "muted"), (done, "live"), (rest, "faint"), (f"{gap}{progress.what}", ""))
    if details is None or details.inspection:
        return Content()
    return styled(
        ("Not inspected yet: ", "muted"), ("i", "strong"), (" evaluates its model, as ", "muted"),
        (f"clarinet inspect {run}", ""), (" does.", "muted"),
    )  # fmt: skip


def format_pictures(run: str, inspection: Inspection, width: int, *_: object) -> Content:
    """Format mistakes first, then uncertain pictures and samples."""
    parts = [styled((f"Epoch {inspection.epoch}", "muted"))]
    for group in ("wrong", "unsure", "source", "target"):
        pictures = [picture for picture in inspection.pictures if picture.group == group]
        if pictures:
            parts += [styled((GROUP_TITLES[group], "strong")), format_picture_grid(pictures, width)]
    return Content("\n").join(parts)


def format_picture_grid(pictures: Sequence[Picture], width: int, columns: int = CELL_COLUMNS) -> Content:
    images = [(np.frombuffer(one.pixels, np.uint8).reshape(one.height, one.width, 3), one.captions) for one in pictures]
    return Content.from_rich_text(picture_grid(images, width, colour=True, columns=columns))


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
    from clarinet_tui.analysis.figures.figure import calibration_figure, features_figure
    from clarinet_tui.analysis.figures.terminal_output import figure_lines

    figures = [features_figure(run, inspection.classes, inspection.maps, "PCA")] if inspection.maps else []
    figures += [calibration_figure("Calibration: ", inspection.calibration)] if inspection.calibration else []
    drawn = [map(Content.from_rich_text, figure_lines(figure, width, glyphs, palette)) for figure in figures]
    return Content("\n\n").join(Content("\n").join(lines) for lines in drawn)


def format_confusion(confusion: Confusion, width: int, glyphs: GlyphSet, palette: str) -> Content:
    """Format the matrix, if the classes fit, the most frequent confusions, and a curve for each class."""
    counts = confusion.counts
    total, correct = sum(map(sum, counts)), sum(row[index] for index, row in enumerate(counts) if index < len(row))
    title = f"rows true, columns predicted, in %: {total} target images, epoch {confusion.epoch}, "
    title += f"{format_percent(100 * correct / max(total, 1))} % correct"
    matrix, confusions = _format_matrix(confusion, width), _format_confusions(confusion)
    curves = _format_curves(confusion, width, glyphs, palette)
    return Content("\n").join([*matrix, styled((title, "muted")), *confusions, *curves])


def _format_matrix(confusion: Confusion, width: int) -> Iterator[Content]:
    names = [printable(name)[:10] for name in confusion.classes]
    margin = max(map(len, names), default=0) + 2
    size = min(6, (width - margin) // max(len(names), 1))
    if size < 1:
        yield styled((f"{len(names)} classes are too many to show here", "muted"))
        return
    titles = "".join(name[: size - 1].rjust(size) if size > 1 else name[:1] for name in names)
    yield styled((" " * margin + titles, "muted"))
    for name, row in zip(names, confusion.counts, strict=True):
        cells = [_format_cell(count / max(sum(row), 1), size) for count in row]
        yield Content.assemble(styled((f" {name:>{margin - 2}} ", "muted")), *cells)


def _format_cell(share: float, size: int) -> Content:
    """The share of the true class that was predicted as this class."""
    if size < 3:  # too narrow for a number
        return styled((" ░▒▓█"[min(4, round(share * 4 + 0.4 * (share > 0)))] * size, "live"))
    if share < 0.005:
        return styled(("·".rjust(size), "faint"))
    weight = "bold " if share >= 0.5 else ""
    return Content.styled(f"{share * 100:.0f}".rjust(size), f"{weight}auto on $primary {round(12 + 76 * share)}%")


def _format_confusions(confusion: Confusion) -> Iterator[Content]:
    confusions = [
        (count, true, predicted)
        for true, row in enumerate(confusion.counts)
        for predicted, count in enumerate(row)
        if count and true != predicted
    ]
    confusions.sort(key=lambda confusion: -confusion[0])
    yield from (styled(), styled(("Most often confused", "strong"))) if confusions else ()
    for count, true, predicted in confusions[:5]:
        names, total = confusion.classes, sum(confusion.counts[true])
        share = f"  {count} of {total}, {100 * count / total:.0f} %"
        yield styled((f"{names[true]} predicted as {names[predicted]}", ""), (share, "muted"))


def _format_curves(confusion: Confusion, width: int, glyphs: GlyphSet, palette: str) -> list[Content]:
    if len(confusion.curves) > 12 or all(curve.x.size < 2 for curve in confusion.curves):  # too many to distinguish
        return []
    from clarinet_tui.analysis.figures.figure import Figure, Panel
    from clarinet_tui.analysis.figures.terminal_output import figure_lines

    figure = Figure("classes", "", (Panel("Accuracy of each class, %", "epoch", "", confusion.curves),))
    return [styled(), *map(Content.from_rich_text, figure_lines(figure, width, glyphs, palette))]
