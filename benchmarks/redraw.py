"""CPU time to draw a chart of 4 lines × 5 000 points at 160×48 again, after its lines, its window or its scale changed.

python -m benchmarks.redraw [--rounds N] [--points N]
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable

import numpy as np
from textual.app import App, ComposeResult
from textual.geometry import Region

from clarinet_tui.chart.series import Line
from clarinet_tui.chart.viewport import View
from clarinet_tui.ui.widgets.chart import Chart

GOAL = 20.0
COLUMNS, ROWS, LINES = 160, 48, 4


class Drawing(App[None]):
    """Nothing but a chart."""

    def compose(self) -> ComposeResult:
        yield Chart("Loss")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=40)
    asked = parser.parse_args()
    found = asyncio.run(measure(asked.points, asked.rounds))
    print(f"CPU to draw {LINES} lines × {asked.points} points again at {COLUMNS}×{ROWS}; medians of {asked.rounds}")
    for what, spent in found.items():
        usual = statistics.median(spent)
        print(f"  {what:<24} {usual:6.1f} ms   goal ≤ {GOAL:g} ms: {'kept' if usual <= GOAL else 'MISSED'}")


async def measure(points: int, rounds: int) -> dict[str, list[float]]:
    chance = np.random.default_rng(1)
    app = Drawing()
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        chart = app.query_one(Chart)
        await pilot.pause()
        variants = [noisy(chance, points) for _ in range(3)]

        def lines(turn: int) -> None:
            chart.lines = variants[turn % 3]

        def smooth(turn: int) -> None:
            chart.smoothing, chart.lines = 0.03, variants[turn % 3]

        def zoom(turn: int) -> None:
            chart.view = View(turn, points / 2 + turn)

        def symlog(turn: int) -> None:
            chart.scale, chart.lines = "symlog", variants[turn % 3]

        changes: dict[str, Callable[[int], None]] = {"other values": lines, "smoothed": smooth, "another window": zoom}
        changes["symlog and smoothed"] = symlog
        return {what: [spent(chart, change, turn) for turn in range(rounds)] for what, change in changes.items()}


def noisy(chance: np.random.Generator, points: int) -> tuple[Line, ...]:
    x = np.arange(points)
    return tuple(
        Line.of(f"line {place}", x, 2 * np.exp(-3 * x / points) + place / 4 + chance.normal(0, 0.2, points))
        for place in range(LINES)
    )


def spent(chart: Chart, change: Callable[[int], None], turn: int) -> float:
    change(turn)
    before, drawn = time.thread_time(), chart.axes
    chart.render_lines(Region(0, 0, COLUMNS, ROWS))
    took = (time.thread_time() - before) * 1e3
    if chart.axes is drawn:
        raise SystemExit("the chart was not drawn again")
    return took


if __name__ == "__main__":
    main()
