"""The section on inspected models of a report: calibration, feature space and pictures, as HTML."""

import base64
import io
from collections.abc import Iterator

from clarinet_tui.analysis.published import method_title
from clarinet_tui.analysis.report.content import Report
from clarinet_tui.analysis.report.figures import figure_markup
from clarinet_tui.analysis.report.markup import Markup, join, tag
from clarinet_tui.runs.inspection_file import GROUP_TITLES, Inspection, Picture
from clarinet_tui.text import format_task


def inspections_section(report: Report) -> Iterator[Markup]:
    """Show each inspected run: figures of its model first, then pictures."""
    from clarinet_tui.analysis.figures.figure import calibration_figure, features_figure

    rows = {record.row.id: record.row for record in report.records}
    for number, (run, inspection) in enumerate(report.inspections.items()):
        row = rows[run]
        title = f"{format_task(row.task or '?')} {method_title(row.method or '?')} {run}"
        yield tag("h3", f"{title}, epoch {inspection.epoch}")
        if inspection.calibration:
            yield figure_markup(calibration_figure("", inspection.calibration), f"inspected{number}")
        if inspection.maps:
            figure = features_figure(run, inspection.classes, inspection.maps, "PCA")
            yield figure_markup(figure, f"inspected{number}")
        yield from _groups(inspection)


def _groups(inspection: Inspection) -> Iterator[Markup]:
    for group, title in GROUP_TITLES.items():
        pictures = [_picture(picture) for picture in inspection.pictures if picture.group == group]
        if pictures:
            yield tag("h4", title)
            yield tag("div", *pictures, class_="pictures")


def _picture(picture: Picture) -> Markup:
    from PIL import Image

    buffer = io.BytesIO()
    Image.frombytes("RGB", (picture.width, picture.height), picture.pixels).save(buffer, "PNG")
    source = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
    captions = join([tag("span", caption) for caption in picture.captions], " ")
    image = tag("img", src=source, alt=" ".join(picture.captions) or "image", width=picture.width)
    return tag("figure", image, tag("figcaption", captions))
