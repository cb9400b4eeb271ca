"""`clarinet save`: a run's model as a file."""

from pathlib import Path
from typing import Annotated

from typer import Option

from clarinet_tui.cli.options import RUNS, RunId, RunsDir
from clarinet_tui.cli.output import check_out, write_file
from clarinet_tui.runs.directory import find_run
from clarinet_tui.text import format_bytes


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
