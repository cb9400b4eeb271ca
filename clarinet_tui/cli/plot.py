"""`clarinet plot`: figures in the terminal or as files for a paper."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from clarinet_tui.cli.completion import metric_names
from clarinet_tui.cli.lookup import open_records
from clarinet_tui.cli.options import DATA, RUNS, DataDir, Json, PresetFilter, QueryArgument, RunsDir
from clarinet_tui.cli.output import make_console, print_json, quiet_pipe, write_file
from clarinet_tui.cli.plot_models import Projection, calibration_figure, features_figure
from clarinet_tui.evidence.choices import FORMATS, Axis, BandKind, Budget, Format
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.evidence.figures.figure import Figure
    from clarinet_tui.evidence.run_records import RunRecords

Kind = Literal["accuracy", "losses", "confusion", "classes", "budget", "features", "calibration"]
AxisOption = Literal["epoch", "adaptation-epoch", "samples", "time", "iteration"]
AXES: dict[AxisOption, Axis] = {
    "epoch": "epoch",
    "adaptation-epoch": "adaptation epoch",
    "samples": "samples",
    "time": "device time",
    "iteration": "iteration",
}


def plot(
    kind: Annotated[Kind, Argument(metavar="KIND", help="Figure to draw.")] = "accuracy",
    query: QueryArgument = "",
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Write a .png, .svg or .pdf; default: draw in the terminal.")
    ] = None,
    x: Annotated[AxisOption | None, Option("--x", help="x axis of accuracy; time and samples include stage 1.")] = None,
    band: Annotated[
        BandKind, Option(help="Band over seeds: ± sample std, 95 % interval of the mean, or min to max.")
    ] = "std",
    metric: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Metric of losses; repeatable.", autocompletion=metric_names),
    ] = None,
    along: Annotated[Budget | None, Option(help="x axis of budget; default: the setting that varies.")] = None,
    preset: PresetFilter = None,
    width: Annotated[
        float, Option(min=2, max=30, help="Width of the file in inches: 3.3 is a column, 6.9 a page.")
    ] = 6.9,
    projection: Annotated[
        Projection | None, Option(help="Map of features; umap needs the extra [features]. Default: pca.")
    ] = None,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Plot curves, confusion, label budget, features or calibration.

    Accuracy is the paper's Figure 3, and classes the accuracy of each class. A curve averages runs of one protocol
    only; runs that are left out are listed below the figure. Features and calibration take a run id and evaluate its
    model on its data.

    Example: clarinet plot accuracy "task:U->M" --band interval --width 3.3 --out figure3.pdf
    """
    from clarinet_tui.evidence.figures.figure import figure_object

    kind_options: dict[Kind, tuple[str, object]] = {
        "accuracy": ("--x", x),
        "losses": ("--metric", metric),
        "budget": ("--along", along),
        "features": ("--projection", projection),
    }
    for option_kind, (option, value) in kind_options.items():
        if value and kind != option_kind:
            raise InputError(f"{option}: only for `clarinet plot {option_kind}`")
    if json and out:
        raise InputError("--json and --out exclude each other")
    file_format = _file_format(out) if out else None
    if kind == "features":
        figure = features_figure(query, projection or "pca", runs_dir, data_dir)
    elif kind == "calibration":
        figure = calibration_figure(query, runs_dir, data_dir)
    else:
        records = open_records(runs_dir)
        figure = _make_figure(records, kind, query, AXES[x or "epoch"], band, metric or [], along, preset)
    if not figure.panels:
        raise InputError(f"plot {kind}: these runs have no data to draw yet")
    with quiet_pipe():
        if json:
            print_json(figure_object(figure), indent=None)
        elif out and file_format:
            _write(figure, out, file_format, width)
        else:
            _draw(figure)


def _file_format(out: Path) -> Format:
    for name in FORMATS:
        if out.suffix.lower() == f".{name}":
            return name
    raise InputError(f"--out: expected a name that ends with .{', .'.join(FORMATS)}, got {str(out)!a}")


def _make_figure(
    records: "RunRecords",
    kind: Kind,
    query: str,
    axis: Axis,
    band: BandKind,
    metrics: list[str],
    along: Budget | None,
    preset: str | None,
) -> "Figure":
    from clarinet_tui.evidence.figures.accuracy import accuracy_figure
    from clarinet_tui.evidence.figures.budget import budget_figure
    from clarinet_tui.evidence.figures.classes import classes_figure
    from clarinet_tui.evidence.figures.confusion import confusion_figure
    from clarinet_tui.evidence.figures.figure_runs import find_figure_runs
    from clarinet_tui.evidence.figures.losses import METRICS, losses_figure

    if kind == "budget":
        return budget_figure(records, query, along=along, preset=preset, band=band)
    runs = find_figure_runs(records, query, preset=preset)
    if kind == "losses":
        return losses_figure(records, runs, metrics=list(dict.fromkeys(metrics)) or METRICS, band=band)
    if kind == "classes":
        return classes_figure(records, runs)
    if kind == "confusion":
        return confusion_figure(records, runs)
    return accuracy_figure(records, runs, axis=axis, band=band)


def _write(figure: "Figure", out: Path, file_format: Format, width: float) -> None:
    from clarinet_tui.evidence.figures.matplotlib_output import render_figure
    from clarinet_tui.text import printable

    write_file(out, render_figure(figure, file_format, width=width))
    for note in figure.notes:
        print(f"· {printable(note)}")


def _draw(figure: "Figure") -> None:
    from clarinet_tui.chart.glyphs import glyphs_for
    from clarinet_tui.evidence.terminal.figure import figure_view

    console = make_console(100)
    console.print(figure_view(figure, console.width, glyphs_for(os.environ, sys.stdout.encoding)))
