"""`clarinet inspect`: pictures and calibration of a run's model."""

import os

from clarinet_tui.cli.options import DATA, RUNS, Blocks, DataDir, Pictures, RunId, RunsDir
from clarinet_tui.cli.output import make_console, quiet_pipe, show_progress
from clarinet_tui.runs.directory import find_run
from clarinet_tui.runs.inspection_file import GROUP_TITLES, Inspection, write_inspection


def inspect(
    id: RunId,  # noqa: A002
    pictures: Pictures = True,
    blocks: Blocks = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Show samples, mistakes and uncertain pictures of a run.

    Evaluates the model on the run's data and keeps the result in the run's directory, with calibration and feature
    maps; the app and `clarinet report` then show it.

    Example: clarinet inspect 6e3
    """
    from clarinet_tui.models.inspection import Inspector

    run = find_run(runs_dir, id)
    with show_progress() as progress:
        inspection = Inspector.open(run, data_dir, progress).inspect()
    write_inspection(run, inspection)
    with quiet_pipe():
        print_inspection(inspection, pictures, blocks)


def print_inspection(inspection: Inspection, pictures: bool, blocks: bool) -> None:
    """Print pictures, in the terminal's own pixels where it has them, and the numbers of the figures."""
    import numpy as np

    from clarinet_tui.chart.picture import picture_grid, pixel_lines

    console = make_console(100)
    colour = console.color_system is not None and "NO_COLOR" not in os.environ
    for group, title in GROUP_TITLES.items():
        chosen = [picture for picture in inspection.pictures if picture.group == group]
        if chosen and pictures:
            console.print(title, style="bold")
            grid = [(np.frombuffer(p.pixels, np.uint8).reshape(p.height, p.width, 3), p.captions) for p in chosen]
            lines = pixel_lines(grid, console.width) if colour and not blocks else []
            for line in lines or [picture_grid(grid, console.width, colour=colour)]:
                console.print(line, no_wrap=True, crop=True)
            console.print()
    for one in inspection.maps:
        console.print(f"{one.title}: proxy A-distance {one.distance:.2f}")
    if inspection.calibration:
        console.print(f"expected calibration error {100 * inspection.calibration.error:.1f} %")
