"""`clarinet demo`: one step against two on the offline task, in about two minutes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import typer

from clarinet_tui.cli.options import DataDir, RunsDir
from clarinet_tui.cli.places import DATA, RUNS
from clarinet_tui.cli.run import configure

COMMON = ("batch_size=64", "ybars_per_sample=4", "epochs=3", "lambda_horizon=500")
"""Short, and with four complementary labels an image instead of one, so that two minutes are enough to learn."""
METHODS = {
    "clarinet": ("warmup_epochs=7",),
    "gac+cdan-e": (
        *("stage1.epochs=7", "stage1.batch_size=64", "stage1.rate=1e-3"),
        *("optimizer=adamw", "classifier_rate=1e-3", "discriminator_rate=1e-3"),
    ),
}


def demo(runs_dir: RunsDir = RUNS, data_dir: DataDir = DATA) -> None:
    """Train CLARINET and GAC+CDAN-E for a short while with nothing downloaded, and compare them.

    Example: clarinet demo
    """
    from clarinet_tui.cli.compare import compare
    from clarinet_tui.queue.executor import worker_words
    from clarinet_tui.runs.directory import RunDirectory

    print("From synthetic rendered digits (SYN-DIGITS' recipe) to UCI handwriting, from complementary labels only.\n")
    ids = []
    for method, own in METHODS.items():
        config = configure(None, {"method": method, "preset": "quick"}, [*COMMON, *own])
        run = RunDirectory.create(runs_dir, config)
        words = worker_words(run, data_dir, fresh=True)
        code = subprocess.call([sys.executable, "-P", *words])
        if code:
            raise typer.Exit(code)
        ids.append(run.id)
        print()
    compare(ids, runs_dir=runs_dir)
    print(_next(runs_dir, ids))


def _next(runs_dir: Path, ids: list[str]) -> str:
    where = "" if runs_dir == RUNS else f" --runs-dir {runs_dir}"
    steps = {
        f"clarinet-tui{where}": "watch and compare these runs",
        f"clarinet show {ids[0]}{where}": "one run in detail",
        "clarinet data list": "which digits are here, and how to get the others",
        'clarinet run --headless --task "M->U" --preset quick': "real digits, minutes on a CPU",
    }
    if not shutil.which("clarinet"):
        activate = Path(sys.executable).parent / "activate"
        steps = {f". {os.path.relpath(activate)}": "put the commands on your path", **steps}
    width = max(map(len, steps))
    listed = "\n".join(f"  {step:<{width}}  {why}" for step, why in steps.items())
    caution = "The numbers say how far each method came in a minute, not which is better: the paper trains for hours."
    return f"\n{caution}\n\nNext:\n{listed}"
