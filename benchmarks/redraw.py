"""CPU time to redraw a chart of 4 lines × 5000 points at 160×48 after its values, its range or its scale change.

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

from clarinet_tui.chart.curve import Curve
from clarinet_tui.chart.scales import Viewport
from clarinet_tui.ui.widgets.chart import Chart

GOAL = 20.0
COLUMNS, ROWS, LINES = 160, 48, 4


class ChartApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Chart("Loss")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    points, rounds = arguments.points, arguments.rounds
    times = asyncio.run(measure(points, rounds))
    print(f"CPU time to redraw {LINES} lines × {points} points at {COLUMNS}×{ROWS}; medians of {rounds} redraws")
    for name, values in times.items():
        median = statistics.median(values)
        print(f"  {name:<24} {median:6.1f} ms   goal ≤ {GOAL:g} ms: {'met' if median <= GOAL else 'MISSED'}")


async def measure(points: int, rounds: int) -> dict[str, list[float]]:
    rng = np.random.default_rng(1)
    app = ChartApp()
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        chart = app.query_one(Chart)
        await pilot.pause()
        variants = [noisy_lines(rng, points) for _ in range(3)]

        def set_values(number: int) -> None:
            chart.lines = variants[number % 3]

        def smooth(number: int) -> None:
            chart.smoothing, chart.lines = 0.03, variants[number % 3]

        def zoom(number: int) -> None:
            chart.view = Viewport((number, points / 2 + number))

        def use_symlog(number: int) -> None:
            chart.scale, chart.lines = "symlog", variants[number % 3]

        changes: dict[str, Callable[[int], None]] = {"other values": set_values, "smoothed": smooth}
        changes |= {"another range": zoom, "symlog and smoothed": use_symlog}
        return {
            name: [time_redraw(chart, change, number) for number in range(rounds)] for name, change in changes.items()
        }


def noisy_lines(rng: np.random.Generator, points: int) -> tuple[Curve, ...]:
    x = np.arange(points)
    return tuple(
        Curve.through(x, 2 * np.exp(-3 * x / points) + number / 4 + rng.normal(0, 0.2, points))
        for number in range(LINES)
    )


def time_redraw(chart: Chart, change: Callable[[int], None], number: int) -> float:
    """Return the milliseconds of CPU time to render the chart after a change."""
    change(number)
    start, axes = time.thread_time(), chart.axes
    chart.render_lines(Region(0, 0, COLUMNS, ROWS))
    milliseconds = (time.thread_time() - start) * 1e3
    if chart.axes is axes:
        raise SystemExit("the chart was not redrawn")
    return milliseconds


if __name__ == "__main__":
    main()
