"""`clarinet predict`: the classes of new pictures."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from clarinet_tui.cli.completion import run_ids
from clarinet_tui.cli.options import RUNS, Json, Jsonl, RunsDir
from clarinet_tui.cli.output import (
    check_out,
    make_console,
    print_json_rows,
    quiet_pipe,
    show_progress,
    warn,
    write_file,
)
from clarinet_tui.tables.data import write_csv
from clarinet_tui.text import format_count, printable
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.models.predict import Item

COLUMNS = ["file", "label", "probability", "second_label", "second_probability"]


def predict(
    model: Annotated[
        str, Argument(metavar="ID|FILE", help="Run, or .safetensors file of a model.", autocompletion=run_ids)
    ],
    paths: Annotated[list[Path], Argument(metavar="PATH…", help="Pictures, folders of pictures, or .npz files.")],
    epoch: Annotated[int | None, Option(min=1, help="Use the weights of this epoch, if the run kept them.")] = None,
    device: Annotated[str, Option(help="cpu, cuda:0 or auto.")] = "cpu",
    csv: Annotated[bool, Option("--csv", help="Print CSV.")] = False,
    json: Json = False,
    jsonl: Jsonl = False,
    out: Annotated[Path | None, Option("--out", "-o", metavar="FILE", help="Write a .csv or .json file.")] = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Predict the classes of pictures with a trained run.

    Pictures are resized and scaled as in training. A method with an averaged teacher predicts with it. Unreadable
    pictures are named on standard error, and the exit code is then 1.

    Example: clarinet predict 6e3 photos/ --out predictions.csv
    """
    from clarinet_tui.models.predict import find_inputs, predict_all
    from clarinet_tui.models.run_models import find_model

    if csv + json + jsonl + (out is not None) > 1:
        raise InputError("--csv, --json, --jsonl and --out exclude each other")
    if out is not None:
        check_out(out, ".csv", ".json")
    inputs = find_inputs(paths)
    loaded = find_model(model, runs_dir, epoch, device)
    with show_progress() as progress:
        items = list(predict_all(loaded, inputs, progress))
    rows = [_row(item) for item in items if item.prediction]
    with quiet_pipe():
        _output(rows, "csv" if csv else "json" if json else "jsonl" if jsonl else "", out)
    unreadable = [item for item in items if item.prediction is None]
    for item in unreadable:
        warn(item.error)
    if unreadable:
        warn(f"{format_count(len(unreadable), 'picture')} of {len(items)} could not be read")
        raise typer.Exit(1)


def _row(item: "Item") -> dict[str, Any]:
    prediction = item.prediction
    assert prediction is not None
    values = (item.name, prediction.label, prediction.probability)
    return dict(zip(COLUMNS, (*values, prediction.second_label, prediction.second_probability), strict=True))


def _output(rows: list[dict[str, Any]], form: str, out: Path | None) -> None:
    if out is not None:
        write_file(out, _encode(rows, out.suffix))
    elif form.startswith("json"):
        print_json_rows(rows, lines=form == "jsonl")
    elif form == "csv":
        write_csv(sys.stdout, COLUMNS, rows)
    else:
        _print_table(rows)


def _encode(rows: list[dict[str, Any]], suffix: str) -> bytes:
    import io
    import json

    text = io.StringIO()
    if suffix == ".csv":
        write_csv(text, COLUMNS, rows)
    else:
        json.dump(rows, text, indent=2)
    return text.getvalue().encode(errors="surrogateescape")


def _print_table(rows: Iterable[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("picture", "class", "%", "or", "%"):
        table.add_column(name, justify="right" if name == "%" else "left", overflow="fold")
    for row in rows:
        cells = (row["file"], row["label"], f"{100 * row['probability']:.1f}", row["second_label"])
        table.add_row(*(Text(printable(cell)) for cell in (*cells, f"{100 * row['second_probability']:.1f}")))
    make_console(120).print(table)
