"""How long until the app shows a history of a thousand runs, beside the smallest Textual app there is.

python -m benchmarks.first_paint [--runs N] [--rounds N]
Both are started in turns in a pseudo-terminal, and read until their first complete frame: for ours, the one in which
the newest runs are listed. CPU time is that of all threads; its ratio does not depend on other load.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.histories import many_runs
from benchmarks.terminal import Moment, Terminal

GOAL = 1.5
HELLO = """
from textual.app import App
from textual.widgets import Static
class Hello(App):
    def compose(self):
        yield Static("Hello, world")
Hello().run()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many_runs(folder / "runs", asked.runs)
        hello(folder), ours(folder, asked.runs)  # what Python compiles once
        rounds = [(hello(folder), ours(folder, asked.runs)) for _ in range(asked.rounds)]
    report(asked.runs, rounds)


def hello(folder: Path) -> Moment:
    with Terminal([sys.executable, "-c", HELLO], folder) as terminal:
        return terminal.until(lambda screen: "Hello, world" in screen, "the greeting")


def ours(folder: Path, runs: int) -> Moment:
    words = [sys.executable, "-m", "clarinet_tui.ui.main", "--runs-dir", str(folder / "runs")]
    with Terminal(words, folder) as terminal:
        seen = terminal.until(lambda screen: all(f"run{runs - 1 - back:05}" in screen for back in range(5)), "the runs")
        if terminal.maps("torch"):
            raise SystemExit("torch was imported for the first paint")
        return seen


def report(runs: int, rounds: list[tuple[Moment, Moment]]) -> None:
    print(f"First paint of {runs} runs, beside a Textual hello-world; medians of {len(rounds)} rounds")
    for what in ("cpu", "wall"):
        theirs, ours = ([getattr(one, what) for one in side] for side in zip(*rounds, strict=True))
        ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
        goal = f"   goal ≤ {GOAL:g}: {'kept' if ratio <= GOAL else 'MISSED'}" if what == "cpu" else ""
        print(
            f"  {what:<5} {statistics.median(ours) * 1e3:6.0f} ms   hello-world {statistics.median(theirs) * 1e3:6.0f} ms"
            f"   ratio {ratio:.2f}{goal}"
        )
    print("  torch was loaded in none of them")


if __name__ == "__main__":
    main()
