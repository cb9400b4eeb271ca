"""`clarinet plot`: figures of what was recorded, in the terminal or as a file for a paper."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clarinet_tui.cli.completion import metric_names, preset_names, queries
from clarinet_tui.cli.options import Json, RunsDir
from clarinet_tui.cli.output import quiet_pipe
from clarinet_tui.cli.places import RUNS
from clarinet_tui.cli.table import WIDE, archive
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.evidence.figures.figure import Drawing
    from clarinet_tui.evidence.figures.matplotlib_output import Format
    from clarinet_tui.evidence.run_records import Archive
    from clarinet_tui.evidence.training_cost import Axis


class What(StrEnum):
    ACCURACY = "accuracy"
    LOSSES = "losses"
    CONFUSION = "confusion"
    BUDGET = "budget"


class Along(StrEnum):
    EPOCH = "epoch"
    ADAPTATION_EPOCH = "adaptation-epoch"
    SAMPLES = "samples"
    TIME = "time"
    ITERATION = "iteration"


class BandName(StrEnum):
    """The names of `figures.BANDS`, which takes longer to import."""

    STD = "std"
    INTERVAL = "interval"
    RANGE = "range"


class BudgetName(StrEnum):
    """The names of `figures_budget.BUDGETS`."""

    SOURCE_FRACTION = "source_fraction"
    YBARS_PER_SAMPLE = "ybars_per_sample"


AXES: "dict[Along, Axis]" = {
    Along.EPOCH: "epoch",
    Along.ADAPTATION_EPOCH: "adaptation epoch",
    Along.SAMPLES: "samples",
    Along.TIME: "device time",
    Along.ITERATION: "iteration",
}


def plot(
    what: Annotated[What, typer.Argument(help="Which figure.")] = What.ACCURACY,
    query: Annotated[str, typer.Argument(help="Such as: task:U->M -method:gac", autocompletion=queries)] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .png, .svg or .pdf; else it is drawn here.")
    ] = None,
    x: Annotated[
        Along | None, typer.Option("--x", help="Of accuracy: along what; time and samples include stage 1.")
    ] = None,
    band: Annotated[
        BandName, typer.Option(help="± sample std over seeds, 95 % interval of the mean, or least to greatest.")
    ] = BandName.STD,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Of losses: this one; may be repeated.", autocompletion=metric_names),
    ] = None,
    along: Annotated[BudgetName | None, typer.Option(help="Of budget: which; by default the one that varies.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Only runs of this preset; otherwise that of most finished runs.", autocompletion=preset_names
        ),
    ] = None,
    width: Annotated[
        float, typer.Option(min=2, max=30, help="Of a file, in inches: 3.3 is a column, 6.9 a page.")
    ] = 6.9,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Draw accuracy along the training (the paper's Figure 3), losses, confusion, or accuracy against label budget.

    Only runs of one protocol stand in one mean; which are left out, and why, is said below the figure.

    Example: clarinet plot accuracy "task:U->M" --band interval --width 3.3 --out figure3.pdf
    """
    for option, given, its in (
        ("--x", x, What.ACCURACY),
        ("--metric", metric, What.LOSSES),
        ("--along", along, What.BUDGET),
    ):
        if given and what is not its:
            raise InputError(f"{option}: only for `clarinet plot {its}`")
    if json and out:
        raise InputError("--json: prints the numbers, and --out writes a figure: say one of them")
    format = _format(out) if out else None  # noqa: A001
    drawing = _drawing(archive(runs_dir), what, query, x or Along.EPOCH, band, metric or [], along, preset)
    if not drawing.panels:
        raise InputError(f"plot {what}: none of these runs has anything to draw yet")
    with quiet_pipe():
        if json:
            _print(drawing)
        elif out and format:
            _write(drawing, out, format, width)
        else:
            _show(drawing)


def _format(out: Path) -> "Format":
    from clarinet_tui.evidence.figures.matplotlib_output import FORMATS

    for known in FORMATS:
        if out.suffix.lower() == f".{known}":
            return known
    raise InputError(f"--out: expected a name that ends with .{', .'.join(FORMATS)}, got {str(out)!a}")


def _drawing(
    runs: "Archive",
    what: What,
    query: str,
    x: Along,
    band: BandName,
    metrics: list[str],
    along: BudgetName | None,
    preset: str | None,
) -> "Drawing":
    from clarinet_tui.evidence.figures.accuracy import accuracy
    from clarinet_tui.evidence.figures.budget import budget
    from clarinet_tui.evidence.figures.confusion import confusion
    from clarinet_tui.evidence.figures.figure_runs import choose
    from clarinet_tui.evidence.figures.losses import METRICS, losses

    if what is What.BUDGET:
        return budget(runs, query, along=along.value if along else None, preset=preset, band=band.value)
    chosen = choose(runs, query, preset=preset)
    if what is What.LOSSES:
        return losses(runs, chosen, metrics=list(dict.fromkeys(metrics)) or METRICS, band=band.value)
    if what is What.CONFUSION:
        return confusion(runs, chosen)
    return accuracy(runs, chosen, axis=AXES[x], band=band.value)


def _write(drawing: "Drawing", out: Path, format: "Format", width: float) -> None:  # noqa: A002
    from clarinet_tui.evidence.figures.matplotlib_output import paint
    from clarinet_tui.runs.atomic_files import replace_file, told
    from clarinet_tui.text import printable

    painted = paint(drawing, format, width=width)
    with told(out.parent):
        replace_file(out, painted)
    print(f"Written: {out}")
    for note in drawing.notes:
        print(f"· {printable(note)}")


def _show(drawing: "Drawing") -> None:
    from rich.console import Console

    from clarinet_tui.evidence.terminal.dots import dots_for
    from clarinet_tui.evidence.terminal.figure import terminal_view

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    console.print(terminal_view(drawing, console.width, dots=dots_for(os.environ, sys.stdout.encoding)))


def _print(drawing: "Drawing") -> None:
    import json

    from clarinet_tui.evidence.figures.figure import as_object

    print(json.dumps(as_object(drawing)))
