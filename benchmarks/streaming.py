"""The app while eight runs stream: from a key to the screen, and how many bytes a second it sends to the terminal.

python -m benchmarks.streaming [--keys N] [--seconds N] [--pace N]
Eight processes write journals at the pace of small networks on a GPU, and nothing else, as workers on other machines
do: the app ingests all of it. Keys are pressed in the history and in the live view at moments that nothing
is in step with, each until a complete frame shows its effect. Bytes are counted in
the live view of one of the runs, with the usual updates a second and with --fps 1.
"""

import argparse
import multiprocessing
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

from benchmarks.histories import course, many_runs, new_run
from benchmarks.soak_load import started
from benchmarks.terminal import Terminal
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter

GOAL = 100.0
WRITERS = 8
TICK = 0.02
LONG = 1_000_000
"""Iterations that the runs mean to take; nobody waits for their end."""
SHARE = 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=60, help="keys pressed in each view")
    parser.add_argument("--seconds", type=float, default=8.0, help="for which bytes are counted")
    parser.add_argument("--pace", type=int, default=50, help="iterations a second of each run")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many_runs(folder / "runs", 50)
        with streams(folder / "runs", asked.pace) as runs:
            print(
                f"{WRITERS} runs stream {asked.pace} iterations a second each; the screen has 160×48 cells", flush=True
            )
            history = keys_in_history(folder, asked.keys)
            live = keys_in_live(folder, runs[0], asked.keys)
            tell("key to screen in the history", history)
            tell("key to screen in the live view", live)
            for fps in ("4", "1"):
                sent(folder, runs[0], fps, asked.seconds)


@contextmanager
def streams(runs_dir: Path, pace: int) -> Iterator[list[str]]:
    context = multiprocessing.get_context("spawn")
    over = context.Event()
    names = [f"load{number}" for number in range(WRITERS)]
    for number, name in enumerate(names):
        new_run(runs_dir, name, "clarinet", 100 + number)
    writers = [context.Process(target=stream, args=(runs_dir, name, pace, over)) for name in names]
    for writer in writers:
        writer.start()
    try:
        yield names
    finally:
        over.set()
        for writer in writers:
            writer.join()


def stream(runs_dir: Path, name: str, pace: int, over: Event) -> None:
    """Writes at its pace until it is over, an evaluation for each two seconds."""
    run = RunDirectory(runs_dir, name)
    with JournalWriter(run.journal) as journal:
        journal.append(started(LONG))
        events, began, at = course(LONG, LONG // (2 * pace)), time.monotonic(), 0
        while not over.wait(TICK):
            while at < (time.monotonic() - began) * pace:
                journal.append(next(events))
                at += 1


def keys_in_history(folder: Path, keys: int) -> list[float]:
    """The cursor down and up: the detail beside the table is then another run's."""
    with app(folder) as terminal:
        terminal.until(lambda screen: "● target" in screen and "load7" in screen, "the history")
        return [pressed(terminal, key, title) for key in alternating("jk", keys)]


def keys_in_live(folder: Path, run: str, keys: int) -> list[float]:
    """Smoothing on and off: its share stands in the chart's title."""
    with app(folder, run) as terminal:
        terminal.until(lambda screen: "● complementary" in screen and "● target" in screen, "the live view")
        return [pressed(terminal, "m", smoothing) for _ in range(keys)]


def title(screen: str) -> str:
    """Of the run under the cursor."""
    return screen.split("\n")[1].rsplit("│", 1)[-1]


def smoothing(screen: str) -> str:
    return next((row[row.find("smooth") :][:12] for row in screen.split("\n") if "smooth" in row), "")


def alternating(keys: str, count: int) -> Iterator[str]:
    for place in range(count):
        yield keys[place // 5 % len(keys)]


@contextmanager
def app(folder: Path, *words: str) -> Iterator[Terminal]:
    command = [sys.executable, "-m", "clarinet_tui.ui.main", "--runs-dir", str(folder / "runs"), *words]
    with Terminal(command, folder) as terminal:
        yield terminal


def pressed(terminal: Terminal, key: str, effect: Callable[[str], str]) -> float:
    """Milliseconds from the key to a screen on which it has had its effect."""
    terminal.watch(random.uniform(0.1, 0.35))
    before = effect(str(terminal.grid))
    began = terminal.press(key)
    terminal.until(lambda screen: effect(screen) != before, f"the effect of {key}")
    return (time.monotonic() - began) * 1e3


def tell(what: str, found: list[float]) -> None:
    most = statistics.quantiles(found, n=20)[-1]
    kept = "kept" if most < GOAL else "MISSED"
    print(
        f"  {what:<32} median {statistics.median(found):5.1f} ms   {SHARE:.0%} within {most:5.1f} ms"
        f"   goal < {GOAL:g} ms: {kept} ({most / GOAL:.2f} of it)",
        flush=True,
    )


def sent(folder: Path, run: str, fps: str, seconds: float) -> None:
    with app(folder, run, "--fps", fps) as terminal:
        terminal.until(lambda screen: "● complementary" in screen and "● target" in screen, "the live view")
        terminal.watch(2.0)
        before = terminal.cpu()
        rate = terminal.watch(seconds) / seconds
        used = (terminal.cpu() - before) / seconds
    print(f"  live view, --fps {fps:<16}      {rate / 1e3:5.1f} kB a second sent, {used:4.0%} of a core", flush=True)


if __name__ == "__main__":
    main()
