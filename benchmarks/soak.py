"""The history under load: `python -m benchmarks.soak` (part of `make soak`) prints a table of figures at its end.

First several processes record at a given pace into one database while two others read it; then many long runs are
read into another. Anything lost ends it with exit code 1; times are told beside their limits, and never asserted.
"""

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.soak_load import Sitting, Watch, record_and_watch
from benchmarks.soak_size import Sizes, read_many
from clarinet_tui.history.database import Database

LIST_MS, CHART_MS = 50.0, 20.0
"""CPU time that a listing and a curve may take."""


@dataclass(frozen=True)
class Figure:
    what: str
    measured: str
    limit: str = ""
    kept: bool = True


def main() -> None:
    wishes = parse()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(dir=wishes.folder) as folder:
        print(
            f"{wishes.processes} processes record {wishes.pace} iterations a second for {wishes.seconds:g} s",
            flush=True,
        )
        runs_dir = Path(folder) / "load"
        sittings, watches = record_and_watch(runs_dir, wishes.processes, wishes.pace, wishes.seconds)
        figures += of_load(runs_dir, sittings, watches)
    with tempfile.TemporaryDirectory(dir=wishes.folder) as folder:
        print(f"{wishes.runs} runs of {wishes.iterations} iterations are read into one database", flush=True)
        figures += of_size(read_many(Path(folder) / "size", wishes.runs, wishes.iterations), wishes)
    tell(figures)
    sys.exit(any(figure.limit in ("0", "ok") and not figure.kept for figure in figures))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--pace", type=int, default=2000, help="iterations a second of each")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="a disk with room: long runs take 250 bytes an iteration")
    return parser.parse_args()


def of_load(runs_dir: Path, sittings: list[Sitting], watches: dict[str, Watch]) -> list[Figure]:
    said = sum(sitting.iterations for sitting in sittings)
    with Database.open_read_only(runs_dir) as db:
        there = db.tuples("SELECT run, count(*), max(iteration) FROM iterations GROUP BY run")
        ends = len(db.tuples("SELECT 1 FROM runs WHERE state = 'finished'"))
        whole = db.rows("PRAGMA integrity_check")[0][0]
    missing = said - sum(count for _, count, last in there if count == last)
    pace = statistics.mean(sitting.iterations / sitting.seconds for sitting in sittings)
    figures = [
        Figure("iterations recorded by all", f"{said}"),
        Figure("pace of each process", f"{pace:.0f}/s"),
        Figure("iterations that are not in the database", f"{missing}", "0", missing == 0),
        Figure("runs whose end is not in the database", f"{len(sittings) - ends}", "0", ends == len(sittings)),
        Figure("integrity check of the database", whole, "ok", whole == "ok"),
        Figure(
            "longest that a recording thread waited", f"{max(sitting.longest for sitting in sittings) * 1e3:.1f} ms"
        ),
    ]
    for what, limit in (("list", LIST_MS), ("chart", CHART_MS)):
        figures += of_watch(f"{what}, while they record", watches[what], limit)
    return figures


def of_watch(what: str, watch: Watch, limit: float) -> list[Figure]:
    """The limit holds for nineteen of twenty: the one beside them may have met a full cache."""
    usual, most = statistics.median(watch.cpu), statistics.quantiles(watch.cpu, n=20)[-1]
    clock = f"{statistics.median(watch.wall):.1f}, at most {max(watch.wall):.1f} ms"
    return [
        Figure(f"{what}: CPU of {len(watch.cpu)}", f"median {usual:.1f} ms"),
        Figure(f"{what}: CPU of 19 in 20", f"{most:.1f} ms", f"{limit:g} ms", most <= limit),
        Figure(f"{what}: by the clock", f"median {clock}"),
    ]


def of_size(sizes: Sizes, wishes: argparse.Namespace) -> list[Figure]:
    total = wishes.runs * wishes.iterations
    figures = [
        Figure("iterations of long runs in the database", f"{sizes.rows}"),
        Figure("iterations of long runs that are missing", f"{total - sizes.rows}", "0", sizes.rows == total),
        Figure("database", f"{sizes.database / 2**20:.0f} MB, {sizes.database / total:.0f} bytes an iteration"),
        Figure("journals", f"{sizes.journals / 2**20:.0f} MB, {sizes.journals / total:.0f} bytes an iteration"),
        Figure("reading them in", f"{sizes.seconds:.0f} s, {sizes.seconds / total * 1e6:.1f} µs an iteration"),
    ]
    for what, watch in sizes.watches.items():
        figures += of_watch(what, watch, LIST_MS if what.startswith("list") else CHART_MS)
    return figures


def tell(figures: list[Figure]) -> None:
    width = max(len(figure.what) for figure in figures)
    print()
    for figure in figures:
        beside = f"   limit {figure.limit}{'' if figure.kept else '   NOT KEPT'}" if figure.limit else ""
        print(f"{figure.what:<{width}}   {figure.measured}{beside}")


if __name__ == "__main__":
    main()
