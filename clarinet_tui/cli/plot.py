"""`clarinet plot`: figures in the terminal or as files for a paper."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from clarinet_tui.analysis.choices import BUDGETS, FORMATS, BandKind
from clarinet_tui.cli.completion import metric_names
from clarinet_tui.cli.lookup import find_run, open_records
from clarinet_tui.cli.options import DATA, RUNS, DataDir, Json, PresetFilter, QueryWords, RunsDir
from clarinet_tui.cli.output import make_console, print_json, quiet_pipe, show_progress, write_file
from clarinet_tui.history.axes import Axis
from clarinet_tui.history.query_language import FIELD
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.text import printable
from core.config import OWN, similar_names
from core.errors import InputError
from core.methods import all_setting_specs

if TYPE_CHECKING:
    from clarinet_tui.analysis.figures.figure import Figure

Projection = Literal["pca", "tsne", "umap"]
TITLES: dict[Projection, str] = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
Kind = Literal["accuracy", "losses", "confusion", "classes", "setting", "budget", "features", "calibration"]


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
    x: Annotated[Axis | None, Option("--x", help="x axis of accuracy; time and samples include stage 1.")] = None,
    band: Annotated[
        BandKind, Option(help="Band over seeds: ± sample std, 95 % interval of the mean, or min to max.")
    ] = "std",
    metric: Annotated[
        list[str] | None, Option(metavar="NAME", help="Metric of losses; repeatable.", autocompletion=metric_names)
    ] = None,
    preset: PresetFilter = None,
    projection: Annotated[
        Projection | None, Option(help="Map of features; umap needs the extra [features]. Default: pca.")
    ] = None,
) -> None:
    """Plot curves, settings, confusion, features or calibration.

    Accuracy is the paper's Figure 3, and classes the accuracy of each class. A curve averages runs that differ only in
    their seed. Setting takes a setting, or two for a heat map, then a query; without one it takes the setting with most
    values, and budget that of the label budget. Features and calibration take a run id and evaluate its model.

    Example: clarinet plot setting classifier_rate "task:U->M"

    Example: clarinet plot accuracy "task:U->M" --band interval --width 3.3 --out figure3.pdf
    """
    only = {"accuracy": ("--x", x), "losses": ("--metric", metric)}
    for other, (option, value) in {**only, "features": ("--projection", projection)}.items():
        if value and kind != other:
            raise InputError(f"{option}: only for `clarinet plot {other}`")
    if json and out:
        raise InputError("--json and --out exclude each other")
    file_format = next((name for name in FORMATS if out and out.suffix.lower() == f".{name}"), None)
    if out and not file_format:
        raise InputError(f"--out: expected a name that ends with .{', .'.join(FORMATS)}, got {str(out)!a}")
    query = " ".join(words or ())
    if kind in ("features", "calibration"):
        if not query:
            raise InputError(f"plot {kind}: expected a run id: clarinet plot {kind} ID")
        figure = _figure_of_model(kind, find_run(runs_dir, query), data_dir, projection or "pca")
    else:
        from clarinet_tui.analysis.figures import kinds

        records = open_records(runs_dir)
        if kind in ("setting", "budget"):
            along, query = _parse_along(words or []) if kind == "setting" else ((), query)
            candidates = BUDGETS if kind == "budget" else ()
            figure = kinds.setting_figure(records, query, along, candidates=candidates, preset=preset, band=band)
        else:
            metrics = list(dict.fromkeys(metric or kinds.LOSSES))
            draw: dict[str, Callable[..., Figure]] = {
                "accuracy": partial(kinds.accuracy_figure, axis=x or "epoch", band=band),
                "losses": partial(kinds.losses_figure, metrics=metrics, band=band),
                "classes": kinds.classes_figure,
                "confusion": kinds.confusion_figure,
            }
            figure = draw[kind](records, kinds.find_figure_runs(records, query, preset=preset))
    if not figure.panels:
        raise InputError(f"plot {kind}: these runs have no data to draw yet")
    with quiet_pipe():
        if json:
            from clarinet_tui.analysis.figures.figure import figure_object

            print_json(figure_object(figure), indent=None)
        elif out and file_format:
            from clarinet_tui.analysis.figures.matplotlib_output import render_figure

            write_file(out, render_figure(figure, file_format, width=width))
            for note in figure.notes:
                print(f"· {printable(note)}")
        else:
            print_figure(figure)


def _parse_along(words: list[str]) -> tuple[tuple[str, ...], str]:
    """Return one or two settings if the first word names them, and the query."""
    first, *others = words or [""]
    if not first or FIELD.match(first):
        return (), " ".join(words)
    known = [spec.name for spec in all_setting_specs()]
    names = tuple(first.split(","))
    if len(names) > 2:
        raise InputError(f"plot setting: expected one or two settings, got {first!a}")
    for name in names:
        if name not in known and not name.startswith(OWN):
            near = similar_names(name, known)
            hint = f"did you mean {near}?" if near else "`clarinet settings` lists them"
            raise InputError(f"plot setting: no setting {name!a}: {hint}")
    return names, " ".join(others)


def _figure_of_model(kind: Kind, run: RunDirectory, data_dir: Path, projection: Projection) -> "Figure":
    """Evaluate the model of a run on its data, and draw its features or its calibration."""
    from clarinet_tui.analysis.figures.figure import calibration_figure, features_figure
    from clarinet_tui.models.inspection import Inspector

    with show_progress() as progress:
        inspector = Inspector(run, data_dir, progress)
        config = inspector.model.info.run_config
        if kind == "calibration":
            return calibration_figure(f"{config.method} {run.id}: ", inspector.calibration())
        maps = tuple(inspector.feature_maps(projection))
    figure = features_figure(run.id, inspector.model.classes, maps, TITLES[projection])
    if len(maps) == 2 and config.warmup_epochs:
        missing = 'Train with checkpoints = "all" to see the features after the warm-up.'
        figure = replace(figure, notes=(*figure.notes, missing))
    return figure


def print_figure(figure: "Figure") -> None:
    from clarinet_tui.analysis.figures.terminal_output import figure_lines
    from clarinet_tui.chart.cells import glyphs_for

    console = make_console(100)
    console.print(*figure_lines(figure, console.width, glyphs_for(os.environ, sys.stdout.encoding)), sep="\n")
