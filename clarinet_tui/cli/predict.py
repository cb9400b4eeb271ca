"""`clarinet predict`: classes of pictures from a trained run."""

import io
import sys
from json import dumps as json_text
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from clarinet_tui.cli.completion import run_ids
from clarinet_tui.cli.options import RUNS, Json, Jsonl, RunsDir
from clarinet_tui.cli.output import check_out, print_table, quiet_pipe, show_progress, warn, write_file
from clarinet_tui.tables.table import Cell, Column, make_table
from clarinet_tui.tables.writers import write_csv
from clarinet_tui.text import format_count
from core.errors import InputError


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
    columns = (
        Column("picture", wraps=True, name="file"),
        Column("class", wraps=True, name="label"),
        Column("%", right=True, name="probability"),
        Column("or", wraps=True, name="second_label"),
        Column("%", right=True, name="second_probability"),
    )
    rows = []
    for item in items:
        if made := item.prediction:
            first, second = (Cell(f"{100 * p:.1f}", value=p) for p in (made.probability, made.second_probability))
            rows.append((item.name, made.label, first, made.second_label, second))
    table = make_table(columns, rows)
    with quiet_pipe():
        if out is not None:
            file = io.StringIO()
            if out.suffix == ".json":
                file.write(json_text(list(table.objects()), indent=2))
            else:
                write_csv(file, table.names, table.objects())
            write_file(out, file.getvalue().encode(errors="surrogateescape"))
        elif csv:
            write_csv(sys.stdout, table.names, table.objects())
        else:
            print_table(table, json=json, jsonl=jsonl, width=120)
    unreadable = [item for item in items if item.prediction is None]
    for item in unreadable:
        warn(item.error)
    if unreadable:
        warn(f"{format_count(len(unreadable), 'picture')} of {len(items)} could not be read")
        raise typer.Exit(1)
