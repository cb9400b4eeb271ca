"""How long the Compare view takes from its key to its picture: two methods, five seeds each, long runs."""

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from benchmarks.soak_load import evaluated, started, stepped
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Event, Finished, PseudoLabelled, StageStarted
from core.methods import find_method
from core.resolve import resolve

METHODS, SEEDS, EVALUATIONS = ("clarinet", "gac+dann"), 5, 100
GOAL = 0.5
PATIENCE = 30.0
SETTLE = 4.0
"""Seconds that a person has looked at the history before."""
SIZE = (160, 48)


def build(runs_dir: Path, iterations: int) -> None:
    """One journal is written for each method, and every seed has its copy."""
    chance = random.Random(1)
    with Database.open(runs_dir) as db:
        for method in METHODS:
            journal = b""
            for seed in range(1, SEEDS + 1):
                config = resolve(preset="smoke", task="U->M", method=method, seed=seed)
                run = RunDirectory.create(runs_dir, config, id=f"{method.removeprefix('gac+')}{seed}")
                journal = journal or written(run, method, iterations)
                reached = f'"target_accuracy":{len(method) + chance.gauss(70, 2)}'.encode()
                copy = journal.replace(b'"seed":1,', f'"seed":{seed},'.encode(), 1)
                run.journal.write_bytes(copy.replace(b'"target_accuracy":83,', reached + b","))
                ingest_run(db, run)
        db.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def written(run: RunDirectory, method: str, iterations: int) -> bytes:
    stages = [stage.name for stage in find_method(method).stages]
    chance = random.Random(method)
    change = iterations // 2 if len(stages) > 1 else 0
    with JournalWriter(run.journal) as journal:
        journal.append(replace(started(iterations), method=method, stages=stages))
        journal.append(StageStarted(stage=stages[0], index=1, iteration=0, epoch=0))
        for at in range(1, iterations + 1):
            stage = stages[0] if at <= change else stages[-1]
            journal.append(replace(stepped(at, chance), stage=stage))
            if at % max(1, iterations // EVALUATIONS) == 0:
                epoch = at * EVALUATIONS // iterations
                seen = {"stage": stage, "epoch": epoch, "adaptation_epoch": epoch, "target_accuracy": 50 + epoch // 3}
                journal.append(replace(evaluated(at), **seen))
            if at == change:
                for event in between(stages[-1], at):
                    journal.append(event)
        journal.append(Finished(iteration=iterations, epoch=EVALUATIONS, target_accuracy=83, source_accuracy=None))
    return run.journal.read_bytes()


def between(stage: str, at: int) -> list[Event]:
    labels = PseudoLabelled(iteration=at, label_hash="pseudo", accuracy=70.0, given=False, labels=[])
    return [labels, StageStarted(stage=stage, index=2, iteration=at, epoch=EVALUATIONS // 2)]


async def look(runs_dir: Path) -> None:
    """Prints the seconds of the first opening, of another layout, and of a measure that is read from the rollups."""
    from clarinet_tui.ui.app import ClarinetApp
    from clarinet_tui.ui.widgets.chart import Chart

    app = ClarinetApp(runs_dir, preferences=runs_dir / "tui.json")
    async with app.run_test(size=SIZE) as pilot:
        while not (app.session.snapshot and app.session.snapshot.settled):
            await pilot.pause(0.05)
        await pilot.pause(SETTLE)

        async def drawn(key: str, title: str) -> str:
            began, worked = time.perf_counter(), time.process_time()
            app.simulate_key(key)
            # The picture itself is looked at once: looking often would slow down what is measured.
            while not any(chart.title == title and chart.lines and chart.axes for chart in app.screen.query(Chart)):
                if time.perf_counter() - began > PATIENCE:
                    sys.exit(f"{title!r} did not come")
                await asyncio.sleep(0.004)
            assert title in "\n".join(strip.text for strip in app.screen._compositor.render_strips())
            return f"{(time.perf_counter() - began) * 1e3:6.0f} {(time.process_time() - worked) * 1e3:6.0f}"

        first = await drawn("4", "One-step: target accuracy %")
        overlaid = await drawn("v", "Target accuracy %")
        await drawn("v", "One-step: target accuracy %")
        loss = await drawn("M", "One-step: complementary loss")
    print(first, overlaid, loss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=100_000)
    parser.add_argument("--look", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.look:
        asyncio.run(look(asked.look))
        return
    with tempfile.TemporaryDirectory() as place:
        runs_dir = Path(place) / "runs"
        runs_dir.mkdir()
        build(runs_dir, asked.iterations)
        # In a process of its own: what building has imported does not help the first opening.
        command = [sys.executable, "-m", "benchmarks.compare", "--look", str(runs_dir)]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    print(f"Compare view, {len(METHODS)} × {SEEDS} runs of {asked.iterations} iterations, from key to picture")
    print("                                     by the clock      of CPU")
    what = ("opened the first time", "in one chart instead of two", "a loss, from the rollups")
    for name, wall, cpu in zip(what, said[::2], said[1::2], strict=True):
        print(f"  {name:<32} {wall:>9} ms {cpu:>8} ms")
    print(f"  goal for the first: {GOAL * 1e3:.0f} ms on a machine that has nothing else to do")


if __name__ == "__main__":
    main()
