"""`clarinet predict`, `inspect` and `save`: what a trained run predicts and sees, and its model as a file."""

import io
import os
import sys
from json import dumps as json_text
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from clarinet_tui.cli.completion import run_ids
from clarinet_tui.cli.lookup import find_run, find_runs
from clarinet_tui.cli.options import DATA, RUNS, Blocks, DataDir, Json, Jsonl, Pictures, RunId, RunIds, RunsDir
from clarinet_tui.cli.output import check_out, make_console, print_table, quiet_pipe, show_progress, warn, write_file
from clarinet_tui.runs.inspection_file import GROUP_TITLES, Inspection, write_inspection
from clarinet_tui.tables.table import Cell, Column, make_table
from clarinet_tui.tables.writers import write_csv
from clarinet_tui.text import format_bytes, format_count
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
    loaded = find_model(model, runs_dir, epoch, device, find=find_run)
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


def inspect(
    ids: RunIds,
    pictures: Pictures = True,
    blocks: Blocks = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Show samples, mistakes and uncertain pictures of a run.

    Evaluates the model of each run on its data and keeps the result in the run's directory, with calibration and
    feature maps; the app and `clarinet report` then show it.

    Example: clarinet inspect 6e3
    """
    from clarinet_tui.models.inspection import Inspector

    runs = find_runs(runs_dir, ids)
    for run in runs:
        with show_progress() as progress:
            inspection = Inspector(run, data_dir, progress).inspect()
        write_inspection(run, inspection)
        with quiet_pipe():
            if len(runs) > 1:
                print(run.id)
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


def save(
    id: RunId,  # noqa: A002
    out: Annotated[
        Path, Option("--out", "-o", metavar="FILE", help="A .safetensors, .onnx or .pt2 (torch.export) file.")
    ],
    epoch: Annotated[int | None, Option(min=1, help="Save the weights of this epoch, if the run kept them.")] = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Save a run's model for other programs, with a model card.

    The file has the classes, the input's size and scaling, all settings, the run's id, the commit and the accuracy.
    ONNX and torch.export take bytes (N, H, W, C) of any number of images; ONNX is checked against our own network.

    Example: clarinet save 6e3 --out digits.onnx
    """
    from clarinet_tui.models.model_card import model_card
    from clarinet_tui.models.run_models import load_run_model
    from core.models.exported import export_onnx, export_program
    from core.models.model import encode_weights

    check_out(out, ".safetensors", ".onnx", ".pt2")
    model = load_run_model(find_run(runs_dir, id), epoch)
    if out.suffix == ".onnx":
        content = export_onnx(model)
    elif out.suffix == ".pt2":
        content = export_program(model)
    else:
        content = encode_weights(model.network, model.info)
    write_file(out, content)
    write_file(out.with_name(f"{out.name}.md"), model_card(model.info, out).encode())
    print(f"{format_bytes(len(content))}, {len(model.classes)} classes, epoch {model.info.epoch}")
