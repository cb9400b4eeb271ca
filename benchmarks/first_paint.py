"""Time until the app shows its first frame with a history of 1000 runs, compared with a Textual hello-world.

python -m benchmarks.first_paint [--runs N] [--rounds N] [--varied N]
Both programs start in turn in a pseudo-terminal, which is read until the first complete frame, and for the app also
until the newest runs are listed: they are read from the database after the first frame. CPU time includes all
threads. Ratios are taken within a round, so that other load affects both programs. With --varied, each round also
starts the app with as many runs that differ in N settings, each of which could be a column.
"""

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.histories import make_many_runs
from benchmarks.terminal import Moment, Terminal

GOALS = {"frame": 1.35, "runs": 1.7}
"""Maximum CPU of the first frame and of the list of runs, in multiples of that of hello-world."""
FRAME = ("clarinet", "History", "Help", "Quit", "Palette")
"""Texts in the first and the last row of the app's first frame."""
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
    parser.add_argument("--varied", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        histories = {"runs": 0} | ({"varied": arguments.varied} if arguments.varied else {})
        for history, varied in histories.items():
            make_many_runs(Path(name, history, "runs"), arguments.runs, varied=varied)
        rounds = [
            [measure(Path(name, history), arguments.runs) for history in histories] for _ in range(arguments.rounds + 1)
        ][1:]  # Python writes its bytecode in the first round
    report(arguments.runs, [each[0] for each in rounds])
    if arguments.varied:
        print(f"  with {arguments.varied} settings that differ, compared with none:")
        for label, moment in (("first frame", "frame"), ("list of runs", "runs")):
            for clock in ("cpu", "wall"):
                ratios = [
                    seconds(differing, moment, clock) / seconds(plain, moment, clock) for plain, differing in rounds
                ]
                print(f"    {label + ', ' + clock:<24}{statistics.median(ratios):>8.2f}")


def measure(folder: Path, runs: int) -> Round:
    with Terminal([sys.executable, "-c", HELLO], folder) as terminal:
        hello = terminal.wait_for(lambda screen: "Hello, world" in screen, "the hello-world")
    command = [sys.executable, "-m", "clarinet_tui.ui.main", "--runs-dir", str(folder / "runs")]
    newest = [f"run{runs - 1 - index:05}" for index in range(5)]
    with Terminal(command, folder) as terminal:
        frame = terminal.wait_for(lambda screen: all(text in screen for text in FRAME), "the first frame")
        listed = terminal.wait_for(lambda screen: all(run in screen for run in newest), "the list of runs")
        if terminal.has_loaded("torch"):
            raise SystemExit("the app has imported torch")
    return Round(hello, frame, listed)


def report(runs: int, rounds: list[Round]) -> None:
    print(f"First paint with {runs} runs, compared with a Textual hello-world; medians of {len(rounds)} rounds, in ms")
    print(f"{'':<26}{'CPU':>8}{'ratio':>8}{'wall':>8}{'ratio':>8}")
    for label, name in (("hello-world", "hello"), ("first frame", "frame"), ("list of runs", "runs")):
        cells = "".join(
            f"{milliseconds(rounds, name, clock):>8.0f}{ratio(rounds, name, clock):>8.2f}" for clock in ("cpu", "wall")
        )
        print(f"  {label:<24}{cells}")
    for label, name in (("first frame", "frame"), ("list of runs", "runs")):
        verdict = "met" if ratio(rounds, name, "cpu") <= GOALS[name] else "MISSED"
        print(f"  goal: {label} with at most {GOALS[name]:g} times the CPU of hello-world: {verdict}")
    print("  torch was not loaded")


def milliseconds(rounds: list[Round], name: str, clock: str) -> float:
    return statistics.median(seconds(one, name, clock) for one in rounds) * 1e3


def ratio(rounds: list[Round], name: str, clock: str) -> float:
    return statistics.median(seconds(one, name, clock) / seconds(one, "hello", clock) for one in rounds)


def seconds(one: Round, name: str, clock: str) -> float:
    return float(getattr(getattr(one, name), clock))


if __name__ == "__main__":
    main()
