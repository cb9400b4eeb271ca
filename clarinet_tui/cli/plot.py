"""`clarinet plot`: figures in the terminal or as files for a paper."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from clarinet_tui.analysis.choices import FORMATS, BandKind, Budget
from clarinet_tui.cli.completion import metric_names
from clarinet_tui.cli.lookup import open_records
from clarinet_tui.cli.options import DATA, RUNS, DataDir, Json, PresetFilter, QueryWords, RunsDir, join_query
from clarinet_tui.cli.output import make_console, print_json, quiet_pipe, show_progress, write_file
from clarinet_tui.history.axes import Axis
from clarinet_tui.runs.directory import find_run
from clarinet_tui.text import printable
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.analysis.figures.figure import Figure
    from clarinet_tui.analysis.run_records import RunRecords
    from clarinet_tui.models.inspection import Inspector

Projection = Literal["pca", "tsne", "umap"]
TITLES: dict[Projection, str] = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
Kind = Literal["accuracy", "losses", "confusion", "classes", "budget", "features", "calibration"]


@dataclass(frozen=True)
class FigureOptions:
    """What a figure shows; each field is an option."""

    x: Annotated[Axis | None, Option("--x", help="x axis of accuracy; time and samples include stage 1.")] = None
    band: Annotated[
        BandKind, Option(help="Band over seeds: ± sample std, 95 % interval of the mean, or min to max.")
    ] = "std"
    metric: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Metric of losses; repeatable.", autocompletion=metric_names),
    ] = None
    along: Annotated[Budget | None, Option(help="x axis of budget; default: the setting that varies.")] = None
    preset: PresetFilter = None
    projection: Annotated[
        Projection | None, Option(help="Map of features; umap needs the extra [features]. Default: pca.")
    ] = None

    def check(self, kind: Kind) -> None:
        """Raise InputError for an option of another kind of figure."""
        kinds: dict[Kind, tuple[str, object]] = {
            "accuracy": ("--x", self.x),
            "losses": ("--metric", self.metric),
            "budget": ("--along", self.along),
            "features": ("--projection", self.projection),
        }
        for option_kind, (option, value) in kinds.items():
            if value and kind != option_kind:
                raise InputError(f"{option}: only for `clarinet plot {option_kind}`")


def plot(
    kind: Annotated[Kind, Argument(metavar="KIND", help="Figure to draw.")] = "accuracy",
    words: QueryWords = None,
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Write a .png, .svg or .pdf; default: draw in the terminal.")
    ] = None,
    width: Annotated[
        float, Option(min=2, max=30, help="Width of the file in inches: 3.3 is a column, 6.9 a page.")
    ] = 6.9,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
    *,
    options: FigureOptions,
) -> None:
    """Plot curves, confusion, label budget, features or calibration.

    Accuracy is the paper's Figure 3, and classes the accuracy of each class. A curve averages runs of one protocol
    only; runs that are left out are listed below the figure. Features and calibration take a run id and evaluate its
    model on its data.

    Example: clarinet plot accuracy "task:U->M" --band interval --width 3.3 --out figure3.pdf
    """
    from clarinet_tui.analysis.figures.figure import calibration_figure, features_figure

    options.check(kind)
    if json and out:
        raise InputError("--json and --out exclude each other")
    file_format = next((name for name in FORMATS if out and out.suffix.lower() == f".{name}"), None)
    if out and not file_format:
        raise InputError(f"--out: expected a name that ends with .{', .'.join(FORMATS)}, got {str(out)!a}")
    query = join_query(words)
    if kind == "features":
        projection = options.projection or "pca"
        with _open_inspector(query, kind, runs_dir, data_dir) as inspector:
            maps = tuple(inspector.feature_maps(projection))
        figure = features_figure(inspector.run.id, inspector.model.classes, maps, TITLES[projection])
        if len(maps) == 2 and inspector.model.info.run_config.warmup_epochs:
            missing = 'Train with checkpoints = "all" to see the features after the warm-up.'
            figure = replace(figure, notes=(*figure.notes, missing))
    elif kind == "calibration":
        with _open_inspector(query, kind, runs_dir, data_dir) as inspector:
            bins = inspector.calibration()
        figure = calibration_figure(f"{inspector.model.info.run_config.method} {inspector.run.id}: ", bins)
    else:
        figure = figure_of_history(open_records(runs_dir), kind, query, options)
    if not figure.panels:
        raise InputError(f"plot {kind}: these runs have no data to draw yet")
    with quiet_pipe():
        if out and file_format:
            from clarinet_tui.analysis.figures.matplotlib_output import render_figure

            write_file(out, render_figure(figure, file_format, width=width))
            for note in figure.notes:
                print(f"· {printable(note)}")
        else:
            print_figure(figure, json=json)


@contextmanager
def _open_inspector(prefix: str, kind: str, runs_dir: Path, data_dir: Path) -> "Iterator[Inspector]":
    from clarinet_tui.models.inspection import Inspector

    if not prefix:
        raise InputError(f"plot {kind}: expected a run id: clarinet plot {kind} ID")
    with show_progress() as progress:
        yield Inspector.open(find_run(runs_dir, prefix), data_dir, progress)


def figure_of_history(records: "RunRecords", kind: Kind, query: str, options: FigureOptions) -> "Figure":
    from clarinet_tui.analysis.figures.kinds import (
        LOSSES,
        accuracy_figure,
        budget_figure,
        classes_figure,
        confusion_figure,
        find_figure_runs,
        losses_figure,
    )

    if kind == "budget":
        return budget_figure(records, query, along=options.along, preset=options.preset, band=options.band)
    runs = find_figure_runs(records, query, preset=options.preset)
    if kind == "losses":
        metrics = list(dict.fromkeys(options.metric or LOSSES))
        return losses_figure(records, runs, metrics=metrics, band=options.band)
    if kind == "classes":
        return classes_figure(records, runs)
    if kind == "confusion":
        return confusion_figure(records, runs)
    return accuracy_figure(records, runs, axis=options.x or "epoch", band=options.band)


def print_figure(figure: "Figure", *, json: bool = False) -> None:
    from clarinet_tui.analysis.figures.figure import figure_object
    from clarinet_tui.analysis.figures.terminal_output import figure_view
    from clarinet_tui.chart.cells import glyphs_for

    if json:
        print_json(figure_object(figure), indent=None)
        return
    console = make_console(100)
    console.print(figure_view(figure, console.width, glyphs_for(os.environ, sys.stdout.encoding)))
