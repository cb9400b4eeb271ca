"""`clarinet demo`: one-step against two-step on the offline task, in about two minutes."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import typer

from clarinet_tui.cli.lookup import find_row, open_records
from clarinet_tui.cli.options import DATA, RUNS, DataDir, RunsDir
from clarinet_tui.cli.plot import print_figure
from clarinet_tui.queue.demo import demo_configs
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.worker_command import worker_arguments
from clarinet_tui.text import format_duration
from core.methods import MethodSpec, find_method


def demo(runs_dir: RunsDir = RUNS, data_dir: DataDir = DATA) -> None:
    """Train and compare three methods offline in about two minutes.

    BASSET and CLARINET train in one step, GAC+CDAN_E in two. Nothing is downloaded.

    Example: clarinet demo
    """
    print("Source: rendered digits, each with four labels that are wrong. Target: handwritten digits without labels.\n")
    methods: dict[str, MethodSpec] = {}
    for config in demo_configs():
        run = RunDirectory.create(runs_dir, config)
        code = wait_for_worker([sys.executable, "-P", *worker_arguments(run, data_dir, fresh=True)])
        if code:
            raise typer.Exit(code)
        methods[run.id] = find_method(config.method)
        print()
    print_results(runs_dir, methods)


def wait_for_worker(arguments: list[str]) -> int:
    """Run a worker and return its exit code. It receives Ctrl+C from the terminal too, and saves a checkpoint."""
    workers: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _: object) -> None:
        if number == signal.SIGTERM and not workers:
            early.append(number)
        elif number == signal.SIGTERM:
            workers[0].send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)}
    try:
        workers.append(subprocess.Popen(arguments))
        for number in early[:1]:
            workers[0].send_signal(number)
        return workers[0].wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def print_results(runs_dir: Path, methods: dict[str, MethodSpec]) -> None:
    """Print a chart and the accuracies of these runs, and what to do next."""
    from clarinet_tui.analysis.figures.kinds import accuracy_figure, find_figure_runs

    records = open_records(runs_dir)
    runs = find_figure_runs(records, " or ".join(f"id:{run}" for run in methods))
    print_figure(accuracy_figure(records, runs, axis="time"))
    rows = sorted((find_row(records.db, runs_dir, run) for run in methods), key=lambda row: row.target_accuracy or 0.0)
    print("\nTarget accuracy after the last epoch, and training time")
    for row in reversed(rows):
        accuracy, spec = row.target_accuracy or 0.0, methods[row.id]
        print(f"  {spec.title:<11} {spec.family:<9} {accuracy:5.1f} %  {format_duration(row.seconds or 0.0):>6}")
    best, percent = methods[rows[-1].id], f"{rows[-1].target_accuracy or 0.0:.1f} %"
    print(f"\n{best.title} ({best.family}) recognises {percent} of the handwritten digits, whose labels it never saw.")
    print("This is one seed of short runs; `clarinet sweep --seeds 1..5 --preset quick` gives means and intervals.")
    option = "" if runs_dir == RUNS else f" --runs-dir {runs_dir}"
    ids = list(methods)
    commands = {
        f"clarinet-tui{option}": "watch and compare these runs",
        f"clarinet compare {' '.join(ids)}{option}": "compare them in numbers",
        f"clarinet show {ids[0]}{option}": "show one run in detail",
        "clarinet data list": "list the data sets and how to get the missing ones",
        'clarinet run --headless --method basset --task "M->U" --preset quick': "train on MNIST, minutes on a CPU",
    }
    if not shutil.which("clarinet"):
        activate = Path(sys.executable).parent / "activate"
        commands = {f". {os.path.relpath(activate)}": "put the commands on your PATH", **commands}
    width = max(map(len, commands))
    print("\nNext:", *(f"  {command:<{width}}  {purpose}" for command, purpose in commands.items()), sep="\n")
