"""How long it takes from opening a long finished run of four metrics to its complete charts, in the app itself.

python -m benchmarks.long_run [--iterations N ...] [--rounds N]
Opened from the history: from the key that opens it until the last cell of its charts has changed. From the shell: the
same from the start of the program, Python and all. Not ingested: from the shell, when only the journal is there, so
that the app has to read all of it first. For comparison: W&B LEET, a terminal viewer, was measured on the same 100 000
iterations at 1.2 s to its first paint and 20.9 s to complete charts.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.histories import long_run, many_runs
from benchmarks.terminal import Terminal
from clarinet_tui.history.database import NAME

GOALS = {100_000: 0.5, 1_000_000: 1.0}
COMPLETE = ("● complementary", "◆ adversarial", "● target 78.9", "■ source 94.85", "λ")
"""What the charts and readings say when all four metrics and the accuracies are drawn to their end."""
QUIET = 0.7
"""Seconds without a change after which charts are complete."""
CHARTS = 100
"""Columns of the screen that belong to the charts: log and readings beside them have their own pace."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, nargs="+", default=list(GOALS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", type=int, default=100_000, help="the longest run to open before it is ingested, too")
    asked = parser.parse_args()
    print(f"From opening a finished run of four metrics to its complete charts; medians of {asked.rounds} rounds")
    for iterations in asked.iterations:
        measure(iterations, asked.rounds, cold=iterations <= asked.cold)


def measure(iterations: int, rounds: int, *, cold: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = long_run(folder / "runs", iterations, ingested=not cold)
        first = from_the_shell(folder, run.id) if cold else None
        many_runs(folder / "runs", 1)
        opened = [from_the_history(folder, run.id) for _ in range(rounds)]
        shell = [from_the_shell(folder, run.id) for _ in range(rounds)]
        size = (folder / "runs" / NAME).stat().st_size / 2**20
    found, goal = statistics.median(opened), GOALS.get(iterations)
    beside = f"   goal < {goal:g} s: {'kept' if found < goal else 'MISSED'} ({found / goal:.2f} of it)" if goal else ""
    print(f"  {iterations:>9} iterations, opened from the history   {found:6.2f} s{beside}", flush=True)
    print(f"  {'':>9}             opened from the shell     {statistics.median(shell):6.2f} s", flush=True)
    if first is not None:
        print(
            f"  {'':>9}             not ingested before       {first:6.2f} s   ({size:.0f} MB of database)", flush=True
        )


def from_the_history(folder: Path, run: str) -> float:
    """The cursor is on another, newer run, so that nothing of the long one was read before."""
    words = [sys.executable, "-m", "clarinet_tui.ui.main", "--runs-dir", str(folder / "runs")]
    with Terminal(words, folder) as terminal:
        terminal.until(lambda screen: "● target" in screen and run in screen, "the history")
        terminal.watch(QUIET)
        return complete(terminal, run, terminal.press("j\r"))


def from_the_shell(folder: Path, run: str) -> float:
    words = [sys.executable, "-m", "clarinet_tui.ui.main", "--runs-dir", str(folder / "runs"), run]
    began = time.monotonic()
    with Terminal(words, folder) as terminal:
        return complete(terminal, run, began)


def complete(terminal: Terminal, run: str, began: float) -> float:
    """Seconds until the charts have all values and do not change any more."""
    terminal.until(lambda screen: "Follow" in screen and all(word in screen for word in (run, *COMPLETE)), "charts")
    last, shown = time.monotonic(), charts(terminal)
    while (left := last + QUIET - time.monotonic()) > 0:
        if terminal.read(left) and charts(terminal) != shown:
            last, shown = time.monotonic(), charts(terminal)
    return last - began


def charts(terminal: Terminal) -> list[str]:
    return [row[:CHARTS] for row in str(terminal.grid).split("\n")[4:-1]]


if __name__ == "__main__":
    main()
