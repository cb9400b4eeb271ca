"""How long until the app is on the screen, with a history of a thousand runs, beside the smallest Textual app there is.

python -m benchmarks.first_paint [--runs N] [--rounds N]
They are started in turns in a pseudo-terminal and read until their first complete frame; for ours also until the
newest runs are listed, which are read from the database after the first frame. CPU time is that of all threads. Each
ratio is taken within a round, so that other load falls on both.
"""

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.histories import many_runs
from benchmarks.terminal import Moment, Terminal

GOAL = 1.5
FRAME = ("clarinet", "History", "Help", "Quit", "Palette")
"""What the first and the last row of our first frame say: everything between them is drawn, too."""
HELLO = """
from textual.app import App
from textual.widgets import Static
class Hello(App):
    def compose(self):
        yield Static("Hello, world")
Hello().run()
"""


@dataclass(frozen=True)
class Round:
    hello: Moment
    frame: Moment
    runs: Moment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many_runs(folder / "runs", asked.runs)
        rounds = [measure(folder, asked.runs) for _ in range(asked.rounds + 1)]
    report(asked.runs, rounds[1:])  # in the first one Python compiles


def measure(folder: Path, runs: int) -> Round:
    with Terminal([sys.executable, "-c", HELLO], folder) as terminal:
        hello = terminal.until(lambda screen: "Hello, world" in screen, "the greeting")
    words = [sys.executable, "-m", "clarinet_tui.ui.main", "--runs-dir", str(folder / "runs")]
    newest = [f"run{runs - 1 - back:05}" for back in range(5)]
    with Terminal(words, folder) as terminal:
        frame = terminal.until(lambda screen: all(word in screen for word in FRAME), "the first frame")
        listed = terminal.until(lambda screen: all(run in screen for run in newest), "the runs")
        if terminal.maps("torch"):
            raise SystemExit("torch was imported for the first paint")
    return Round(hello, frame, listed)


def report(runs: int, rounds: list[Round]) -> None:
    print(f"First paint with {runs} runs, beside a Textual hello-world; medians of {len(rounds)} rounds, in ms")
    print(f"{'':<26}{'CPU':>8}{'ratio':>8}{'wall':>8}{'ratio':>8}")
    for name, what in (("hello-world", "hello"), ("first frame", "frame"), ("the runs are listed", "runs")):
        cells = "".join(
            f"{figure(rounds, what, kind):>8.0f}{ratio(rounds, what, kind):>8.2f}" for kind in ("cpu", "wall")
        )
        print(f"  {name:<24}{cells}")
    found = ratio(rounds, "frame", "cpu")
    print(f"  goal: first frame at most {GOAL:g} times the CPU: {'kept' if found <= GOAL else 'MISSED'}")
    print("  torch was loaded in none of them")


def figure(rounds: list[Round], what: str, kind: str) -> float:
    return statistics.median(seconds(one, what, kind) for one in rounds) * 1e3


def ratio(rounds: list[Round], what: str, kind: str) -> float:
    return statistics.median(seconds(one, what, kind) / seconds(one, "hello", kind) for one in rounds)


def seconds(one: Round, what: str, kind: str) -> float:
    return float(getattr(getattr(one, what), kind))


if __name__ == "__main__":
    main()
