"""Time from opening a long finished run with four metrics to its complete charts, in the app.

python -m benchmarks.long_run [--iterations N ...] [--rounds N]
Opened from the History view: from the key until the last cell of its charts has changed. From the shell: the same
from the start of the program. Not ingested: from the shell, when only the journal exists and the app has to ingest it
first. For comparison, W&B LEET, a terminal viewer, took 1.2 s to its first paint and 20.9 s to complete charts on the
same 100 000 iterations.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.histories import make_long_run, make_many_runs
from benchmarks.terminal import Terminal
from clarinet_tui.history.database import DATABASE_NAME

GOALS = {100_000: 0.5, 1_000_000: 1.0}
COMPLETE = ("● complementary", "◆ adversarial", "● target 78.9", "■ source 94.85", "λ")
"""Texts on the screen when all four metrics and the accuracies are drawn to their end."""
UNCHANGED = 0.7
"""Seconds without a change after which the charts count as complete."""
CHART_COLUMNS = 100
"""Columns of the screen with charts; the panes beside them are updated separately."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, nargs="+", default=list(GOALS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", type=int, default=100_000, help="the longest run to open before it is ingested")
    arguments = parser.parse_args()
    print(f"From opening a finished run with four metrics to complete charts; medians of {arguments.rounds} rounds")
    for iterations in arguments.iterations:
        measure(iterations, arguments.rounds, cold=iterations <= arguments.cold)


def measure(iterations: int, rounds: int, *, cold: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = make_long_run(folder / "runs", iterations, ingest=not cold)
        not_ingested = open_from_shell(folder, run.id) if cold else None
        make_many_runs(folder / "runs", 1)
        history = statistics.median(open_from_history(folder, run.id) for _ in range(rounds))
        shell = statistics.median(open_from_shell(folder, run.id) for _ in range(rounds))
        size = (folder / "runs" / DATABASE_NAME).stat().st_size / 2**20
    goal, verdict = GOALS.get(iterations), ""
    if goal:
        verdict = f"   goal < {goal:g} s: {'met' if history < goal else 'MISSED'} ({history / goal:.2f} of it)"
    print(f"  {iterations:>9} iterations, from the History view   {history:6.2f} s{verdict}", flush=True)
    print(f"  {'':>9}             from the shell          {shell:6.2f} s", flush=True)
    if not_ingested is not None:
        database = f"({size:.0f} MB of database)"
        print(f"  {'':>9}             not ingested before     {not_ingested:6.2f} s   {database}", flush=True)


def open_from_history(folder: Path, run: str) -> float:
    """Open the run while the cursor is on another one, so that nothing of it was read before."""
    command = [sys.executable, "-m", "clarinet_tui.ui.main", "--runs-dir", str(folder / "runs")]
    with Terminal(command, folder) as terminal:
        terminal.wait_for(lambda screen: "● target" in screen and run in screen, "the History view")
        terminal.read_for(UNCHANGED)
        return wait_for_charts(terminal, run, terminal.press("j\r"))


def open_from_shell(folder: Path, run: str) -> float:
    command = [sys.executable, "-m", "clarinet_tui.ui.main", "--runs-dir", str(folder / "runs"), run]
    start = time.monotonic()
    with Terminal(command, folder) as terminal:
        return wait_for_charts(terminal, run, start)


def wait_for_charts(terminal: Terminal, run: str, start: float) -> float:
    """Return the seconds from `start` until the charts show all values and do not change any more."""
    texts = ("Follow", run, *COMPLETE)
    terminal.wait_for(lambda screen: all(text in screen for text in texts), "the complete charts")
    last_change, shown = time.monotonic(), read_charts(terminal)
    while (remaining := last_change + UNCHANGED - time.monotonic()) > 0:
        if terminal.read(remaining) and read_charts(terminal) != shown:
            last_change, shown = time.monotonic(), read_charts(terminal)
    return last_change - start


def read_charts(terminal: Terminal) -> list[str]:
    return [row[:CHART_COLUMNS] for row in str(terminal.grid).split("\n")[4:-1]]


if __name__ == "__main__":
    main()
