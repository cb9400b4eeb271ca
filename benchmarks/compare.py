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
from clarinet_tui.journal.directory import RunDirectory
from clarinet_tui.journal.writer import JournalWriter
from core.events import Event, Finished, PseudoLabelled, StageStarted
from core.methods import find_method
from core.resolve import resolve

METHODS, SEEDS, EVALUATIONS = ("clarinet", "gac+dann"), 5, 100
GOAL = 0.5
SIZE = (160, 48)
AGAIN = 5
"""Openings after the first one, in an app that is already warm."""


def build(runs_dir: Path, iterations: int) -> None:
    """One journal is written for each method, and every seed has its copy."""
    with Database.open(runs_dir) as db:
        for method in METHODS:
            journal = b""
            for seed in range(1, SEEDS + 1):
                config = resolve(preset="smoke", task="U->M", method=method, seed=seed)
                run = RunDirectory.create(runs_dir, config, id=f"{method.removeprefix('gac+')}{seed}")
                journal = journal or written(run, method, iterations)
                run.journal.write_bytes(journal.replace(b'"seed":1,', f'"seed":{seed},'.encode(), 1))
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
                seen = {"stage": stage, "epoch": epoch, "adaptation_epoch": epoch, "target_accuracy": 50 + epoch / 3}
                journal.append(replace(evaluated(at), **seen))
            if at == change:
                for event in between(stages[-1], at):
                    journal.append(event)
        journal.append(Finished(iteration=iterations, epoch=EVALUATIONS, target_accuracy=83.0, source_accuracy=None))
    return run.journal.read_bytes()


def between(stage: str, at: int) -> list[Event]:
    labels = PseudoLabelled(iteration=at, label_hash="pseudo", accuracy=70.0, given=False, labels=[])
    return [labels, StageStarted(stage=stage, index=2, iteration=at, epoch=EVALUATIONS // 2)]


async def look(runs_dir: Path) -> None:
    """Prints the seconds of the first opening, of the next ones, and of another measure, which is read from rollups."""
    from clarinet_tui.ui.app import ClarinetApp

    app = ClarinetApp(runs_dir, preferences=runs_dir / "tui.json")
    async with app.run_test(size=SIZE) as pilot:
        while not (app.session.snapshot and app.session.snapshot.settled):
            await pilot.pause(0.05)
        await pilot.pause(0.5)

        async def opened(key: str, title: str) -> float:
            began = time.perf_counter()
            app.simulate_key(key)
            while title not in "\n".join(strip.text for strip in app.screen._compositor.render_strips()):
                await asyncio.sleep(0.002)
            return time.perf_counter() - began

        first = await opened("4", "One-step: target accuracy %")
        again = []
        for _ in range(AGAIN):
            await opened("1", "created")
            again.append(await opened("4", "p/Holm"))
        for _ in range(2):
            await pilot.press("M")
        loss = await opened("M", "One-step: complementary loss")
    print(f"{first:.3f} {sorted(again)[AGAIN // 2]:.3f} {loss:.3f}")


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
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    first, again, loss = map(float, said)
    print(f"Compare view, {len(METHODS)} × {SEEDS} runs of {asked.iterations} iterations, from key to picture")
    print(f"  first opening, imports included  {first * 1e3:6.0f} ms   goal {GOAL * 1e3:.0f} ms")
    print(f"  opened again (median of {AGAIN})        {again * 1e3:6.0f} ms")
    print(f"  a loss, read from the rollups    {loss * 1e3:6.0f} ms")


if __name__ == "__main__":
    main()
