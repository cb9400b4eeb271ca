"""The app while eight runs train: time from a key to the screen, and bytes a second sent to the terminal.

python -m benchmarks.streaming [--keys N] [--seconds N] [--rate N]
Eight processes write journals at the rate of small networks on a GPU, and do not ingest them, like workers on other
machines: the app ingests everything. Keys are pressed in the History and the Live view at random moments, and timed
until a complete frame shows their effect. Bytes are counted in the Live view of one run, with the default number of
updates a second and with --fps 1.
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

from benchmarks.histories import make_many_runs, make_run, started, training_events
from benchmarks.terminal import Terminal
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter

GOAL = 100.0
WRITERS = 8
TICK = 0.02
ITERATIONS = 1_000_000
"""Planned iterations of the runs, which are killed long before."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=60, help="keys pressed in each view")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long bytes are counted")
    parser.add_argument("--rate", type=int, default=50, help="iterations a second of each run")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_many_runs(folder / "runs", 50)
        with training_runs(folder / "runs", arguments.rate) as runs:
            print(f"{WRITERS} runs at {arguments.rate} iterations a second each; a screen of 160×48 cells", flush=True)
            report_latency("key to screen, History view", time_keys_in_history(folder, arguments.keys))
            report_latency("key to screen, Live view", time_keys_in_live(folder, runs[0], arguments.keys))
            for fps in ("4", "1"):
                measure_bytes(folder, runs[0], fps, arguments.seconds)


@contextmanager
def training_runs(runs_dir: Path, rate: int) -> Iterator[list[str]]:
    context = multiprocessing.get_context("spawn")
    finished = context.Event()
    names = [f"load{number}" for number in range(WRITERS)]
    for number, name in enumerate(names):
        make_run(runs_dir, name, "clarinet", 100 + number)
    writers = [context.Process(target=write_events, args=(runs_dir, name, rate, finished)) for name in names]
    for writer in writers:
        writer.start()
    try:
        yield names
    finally:
        finished.set()
        for writer in writers:
            writer.join()


def write_events(runs_dir: Path, name: str, rate: int, finished: Event) -> None:
    """Write steps at a fixed rate, and an evaluation every two seconds."""
    run = RunDirectory(runs_dir, name)
    with JournalWriter(run.journal) as journal:
        journal.append(started(ITERATIONS))
        events, start, written = training_events(ITERATIONS, ITERATIONS // (2 * rate)), time.monotonic(), 0
        while not finished.wait(TICK):
            while written < (time.monotonic() - start) * rate:
                journal.append(next(events))
                written += 1


def time_keys_in_history(folder: Path, keys: int) -> list[float]:
    """Move the cursor down and up, until the pane beside the table shows another run."""
    with open_app(folder) as terminal:
        terminal.wait_for(lambda screen: "● target" in screen and "load7" in screen, "the History view")
        return [time_key(terminal, "jk"[number // 5 % 2], read_pane_title) for number in range(keys)]


def time_keys_in_live(folder: Path, run: str, keys: int) -> list[float]:
    """Change the smoothing, until the title of the chart shows its new value."""
    with open_app(folder, run) as terminal:
        terminal.wait_for(has_charts, "the Live view")
        return [time_key(terminal, "m", read_smoothing) for _ in range(keys)]


def has_charts(screen: str) -> bool:
    return "● complementary" in screen and "● target" in screen


def read_pane_title(screen: str) -> str:
    return screen.split("\n")[1].rsplit("│", 1)[-1]


def read_smoothing(screen: str) -> str:
    return next((row[row.find("smooth") :][:12] for row in screen.split("\n") if "smooth" in row), "")


@contextmanager
def open_app(folder: Path, *arguments: str) -> Iterator[Terminal]:
    command = [sys.executable, "-m", "clarinet_tui.ui.main", "--runs-dir", str(folder / "runs"), *arguments]
    with Terminal(command, folder) as terminal:
        yield terminal


def time_key(terminal: Terminal, key: str, read_effect: Callable[[str], str]) -> float:
    """Return the milliseconds from a key to the first frame with its effect."""
    terminal.read_for(random.uniform(0.1, 0.35))
    before = read_effect(str(terminal.grid))
    start = terminal.press(key)
    terminal.wait_for(lambda screen: read_effect(screen) != before, f"the effect of {key}")
    return (time.monotonic() - start) * 1e3


def report_latency(name: str, latencies: list[float]) -> None:
    most = statistics.quantiles(latencies, n=20)[-1]
    verdict = "met" if most < GOAL else "MISSED"
    print(
        f"  {name:<32} median {statistics.median(latencies):5.1f} ms   95 % within {most:5.1f} ms"
        f"   goal < {GOAL:g} ms: {verdict} ({most / GOAL:.2f} of it)",
        flush=True,
    )


def measure_bytes(folder: Path, run: str, fps: str, seconds: float) -> None:
    with open_app(folder, run, "--fps", fps) as terminal:
        terminal.wait_for(has_charts, "the Live view")
        terminal.read_for(2.0)
        before = terminal.cpu_seconds()
        rate = terminal.read_for(seconds) / seconds
        cpu = (terminal.cpu_seconds() - before) / seconds
    print(f"  Live view, --fps {fps:<16}      {rate / 1e3:5.1f} kB a second sent, {cpu:4.0%} of a core", flush=True)


if __name__ == "__main__":
    main()
