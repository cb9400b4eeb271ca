"""`clarinet demo`: one-step against two-step on the offline task, in about two minutes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import typer

from clarinet_tui.cli.options import DATA, RUNS, DataDir, RunsDir
from clarinet_tui.cli.settings import make_config

COMMON = ("batch_size=64", "ybars_per_sample=4", "epochs=3", "lambda_horizon=500")
"""A short training, with four complementary labels per image instead of one so that two minutes suffice."""
METHODS = {
    "clarinet": ("warmup_epochs=7",),
    "gac+cdan-e": (
        *("stage1.epochs=7", "stage1.batch_size=64", "stage1.rate=1e-3"),
        *("optimizer=adamw", "classifier_rate=1e-3", "discriminator_rate=1e-3"),
    ),
}


def demo(runs_dir: RunsDir = RUNS, data_dir: DataDir = DATA) -> None:
    """Train and compare two methods offline in about two minutes.

    The methods are CLARINET and GAC+CDAN-E; nothing is downloaded.

    Example: clarinet demo
    """
    from clarinet_tui.cli.compare import compare
    from clarinet_tui.runs.directory import RunDirectory
    from clarinet_tui.runs.worker_command import worker_arguments

    print("Source: rendered digits (SYN-DIGITS recipe), complementary labels only. Target: UCI handwritten digits.\n")
    ids = []
    for method, settings in METHODS.items():
        config = make_config(None, {"method": method, "preset": "quick"}, [*COMMON, *settings])
        run = RunDirectory.create(runs_dir, config)
        code = subprocess.call([sys.executable, "-P", *worker_arguments(run, data_dir, fresh=True)])
        if code:
            raise typer.Exit(code)
        ids.append(run.id)
        print()
    compare(ids, runs_dir=runs_dir)
    print(_next_steps(runs_dir, ids))


def _next_steps(runs_dir: Path, ids: list[str]) -> str:
    option = "" if runs_dir == RUNS else f" --runs-dir {runs_dir}"
    commands = {
        f"clarinet-tui{option}": "watch and compare these runs",
        f"clarinet show {ids[0]}{option}": "show one run in detail",
        "clarinet data list": "list the data sets and how to get the missing ones",
        'clarinet run --headless --task "M->U" --preset quick': "train on real digits, minutes on a CPU",
    }
    if not shutil.which("clarinet"):
        activate = Path(sys.executable).parent / "activate"
        commands = {f". {os.path.relpath(activate)}": "put the commands on your PATH", **commands}
    width = max(map(len, commands))
    lines = "\n".join(f"  {command:<{width}}  {purpose}" for command, purpose in commands.items())
    caution = "These runs are too short to rank the methods: the paper trains for hours."
    return f"\n{caution}\n\nNext:\n{lines}"
