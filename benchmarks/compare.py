"""Time from the key that opens the Compare view to its complete charts: two methods, five seeds each, long runs."""

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from benchmarks.histories import random_step, started, steady_evaluation
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Event, Finished, PseudoLabelled, StageStarted
from core.methods import find_method
from core.resolve import resolve

METHODS, SEEDS, EVALUATIONS = ("clarinet", "gac+dann"), 5, 100
GOAL = 0.5
TIMEOUT = 30.0
IDLE = 4.0
"""Seconds in the History view before the key is pressed."""
SIZE = (160, 48)


def make_runs(runs_dir: Path, iterations: int) -> None:
    """Write one journal for each method, and give each seed a copy with another accuracy."""
    rng = random.Random(1)
    with Database.open(runs_dir) as db:
        for method in METHODS:
            journal = b""
            for seed in range(1, SEEDS + 1):
                config = resolve(preset="smoke", task="U->M", method=method, seed=seed)
                run = RunDirectory.create(runs_dir, config, id=f"{method.removeprefix('gac+')}{seed}")
                journal = journal or write_journal(run, method, iterations)
                accuracy = f'"target_accuracy":{len(method) + rng.gauss(70, 2)}'.encode()
                copy = journal.replace(b'"seed":1,', f'"seed":{seed},'.encode(), 1)
                run.journal.write_bytes(copy.replace(b'"target_accuracy":83,', accuracy + b","))
                ingest_run(db, run)
        db.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def write_journal(run: RunDirectory, method: str, iterations: int) -> bytes:
    stages = [stage.name for stage in find_method(method).stages]
    rng = random.Random(method)
    stage1_end = iterations // 2 if len(stages) > 1 else 0
    with JournalWriter(run.journal) as journal:
        journal.append(replace(started(iterations), method=method, stages=stages))
        journal.append(StageStarted(stage=stages[0], index=1, iteration=0, epoch=0))
        for iteration in range(1, iterations + 1):
            stage = stages[0] if iteration <= stage1_end else stages[-1]
            journal.append(replace(random_step(iteration, rng), stage=stage))
            if iteration % max(1, iterations // EVALUATIONS) == 0:
                epoch = iteration * EVALUATIONS // iterations
                fields = {"stage": stage, "epoch": epoch, "adaptation_epoch": epoch, "target_accuracy": 50 + epoch // 3}
                journal.append(replace(steady_evaluation(iteration), **fields))
            if iteration == stage1_end:
                for event in stage_change(stages[-1], iteration):
                    journal.append(event)
        journal.append(Finished(iteration=iterations, epoch=EVALUATIONS, target_accuracy=83, source_accuracy=None))
    return run.journal.read_bytes()


def stage_change(stage: str, iteration: int) -> list[Event]:
    labels = PseudoLabelled(iteration=iteration, label_hash="pseudo", accuracy=70.0, given=False, labels=[])
    return [labels, StageStarted(stage=stage, index=2, iteration=iteration, epoch=EVALUATIONS // 2)]


async def measure(runs_dir: Path) -> None:
    """Print wall and CPU milliseconds of opening the view, of changing its layout, and of changing its metric."""
    from clarinet_tui.ui.app import ClarinetApp
    from clarinet_tui.ui.widgets.chart import Chart

    app = ClarinetApp(runs_dir, preferences=runs_dir / "tui.json")
    async with app.run_test(size=SIZE) as pilot:
        while not (app.state.snapshot and app.state.snapshot.is_ingested):
            await pilot.pause(0.05)
        await pilot.pause(IDLE)

        async def time_key(key: str, title: str) -> str:
            wall, cpu = time.perf_counter(), time.process_time()
            app.simulate_key(key)
            # Rendering the screen to check it would slow down what is measured, so it is done once, at the end.
            while not any(chart.title == title and chart.lines and chart.axes for chart in app.screen.query(Chart)):
                if time.perf_counter() - wall > TIMEOUT:
                    sys.exit(f"the chart {title!r} did not appear within {TIMEOUT:g} s")
                await asyncio.sleep(0.004)
            assert title in "\n".join(strip.text for strip in app.screen._compositor.render_strips())
            return f"{(time.perf_counter() - wall) * 1e3:6.0f} {(time.process_time() - cpu) * 1e3:6.0f}"

        first = await time_key("4", "One-step: target accuracy %")
        overlay = await time_key("v", "Target accuracy %")
        await time_key("v", "One-step: target accuracy %")
        loss = await time_key("M", "One-step: complementary loss")
    print(first, overlay, loss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=100_000)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        asyncio.run(measure(arguments.measure))
        return
    with tempfile.TemporaryDirectory() as folder:
        runs_dir = Path(folder) / "runs"
        runs_dir.mkdir()
        make_runs(runs_dir, arguments.iterations)
        # In a new process, which has not imported anything yet.
        command = [sys.executable, "-m", "benchmarks.compare", "--measure", str(runs_dir)]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    print(f"Compare view, {len(METHODS)} × {SEEDS} runs of {arguments.iterations} iterations, from key to charts")
    print(f"{'':<36}{'wall':>11}{'CPU':>12}")
    labels = ("opened the first time", "one chart instead of two", "a loss, from the rollups")
    for label, wall, cpu in zip(labels, output[::2], output[1::2], strict=True):
        print(f"  {label:<32} {wall:>9} ms {cpu:>8} ms")
    verdict = "met" if float(output[0]) <= GOAL * 1e3 else "MISSED"
    print(f"  goal: opened the first time within {GOAL * 1e3:.0f} ms on an idle machine: {verdict}")


if __name__ == "__main__":
    main()
