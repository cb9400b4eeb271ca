"""The history under load: `python -m benchmarks.soak`, part of `make soak`.

First several processes record at a fixed rate into one database while two others read it; then many long runs are
ingested into another. Exits with code 1 if anything is lost; times are printed with their limits, but not asserted.
"""

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.soak_load import KINDS, RecorderResult, Timings, record_and_read
from benchmarks.soak_size import SizeResult, ingest_many
from clarinet_tui.history.database import Database

LIST_MS, CHART_MS = 50.0, 20.0
"""Limits for the CPU time of a listing and of a curve."""


@dataclass(frozen=True)
class Measurement:
    name: str
    value: str
    limit: str = ""
    is_met: bool = True
    is_loss: bool = False
    """Whether a missed limit means that something was lost."""


def main() -> None:
    arguments = parse_arguments()
    processes, rate, seconds = arguments.processes, arguments.rate, arguments.seconds
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        print(f"{processes} processes record {rate} iterations a second for {seconds:g} s", flush=True)
        runs_dir = Path(folder) / "load"
        recorded, timings = record_and_read(runs_dir, processes, rate, seconds)
        measurements = load_measurements(runs_dir, recorded, timings)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        runs, iterations = arguments.runs, arguments.iterations
        print(f"{runs} runs of {iterations} iterations are ingested into one database", flush=True)
        measurements += size_measurements(ingest_many(Path(folder) / "size", runs, iterations), runs * iterations)
    report(measurements)
    sys.exit(any(measurement.is_loss and not measurement.is_met for measurement in measurements))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rate", type=int, default=2000, help="iterations a second of each process")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where to write: long runs take 250 bytes an iteration")
    return parser.parse_args()


def load_measurements(runs_dir: Path, recorded: list[RecorderResult], timings: dict[str, Timings]) -> list[Measurement]:
    total = sum(result.iterations for result in recorded)
    with Database.open_read_only(runs_dir) as db:
        ingested = db.tuples("SELECT run, count(*), max(iteration) FROM iterations GROUP BY run")
        finished = len(db.tuples("SELECT 1 FROM runs WHERE state = 'finished'"))
        integrity = db.rows("PRAGMA integrity_check")[0][0]
    missing = total - sum(count for _, count, last in ingested if count == last)
    rate = statistics.mean(result.iterations / result.seconds for result in recorded)
    longest = max(result.longest for result in recorded) * 1e3
    unfinished = len(recorded) - finished
    measurements = [
        Measurement("iterations recorded by all processes", f"{total}"),
        Measurement("rate of each process", f"{rate:.0f}/s"),
        Measurement("iterations missing in the database", f"{missing}", "0", missing == 0, is_loss=True),
        Measurement("runs without their end in the database", f"{unfinished}", "0", unfinished == 0, is_loss=True),
        Measurement("integrity check of the database", integrity, "ok", integrity == "ok", is_loss=True),
        Measurement("longest wait of a recording thread", f"{longest:.1f} ms"),
    ]
    for kind, limit in zip(KINDS, (LIST_MS, CHART_MS), strict=True):
        measurements += timing_measurements(f"{kind}, while recording", timings[kind], limit)
    return measurements


def timing_measurements(name: str, timings: Timings, limit: float) -> list[Measurement]:
    """The limit applies to the 95th percentile: a rare read may meet a full cache."""
    median, most = statistics.median(timings.cpu), statistics.quantiles(timings.cpu, n=20)[-1]
    wall = f"median {statistics.median(timings.wall):.1f} ms, maximum {max(timings.wall):.1f} ms"
    return [
        Measurement(f"{name}: CPU of {len(timings.cpu)} reads", f"median {median:.1f} ms"),
        Measurement(f"{name}: CPU, 95th percentile", f"{most:.1f} ms", f"{limit:g} ms", most <= limit),
        Measurement(f"{name}: wall time", wall),
    ]


def size_measurements(sizes: SizeResult, total: int) -> list[Measurement]:
    missing, database, journals = total - sizes.rows, sizes.database, sizes.journals
    measurements = [
        Measurement("iterations of long runs in the database", f"{sizes.rows}"),
        Measurement("iterations of long runs missing", f"{missing}", "0", missing == 0, is_loss=True),
        Measurement("database", f"{database / 2**20:.0f} MB, {database / total:.0f} bytes an iteration"),
        Measurement("journals", f"{journals / 2**20:.0f} MB, {journals / total:.0f} bytes an iteration"),
        Measurement("ingesting", f"{sizes.seconds:.0f} s, {sizes.seconds / total * 1e6:.1f} µs an iteration"),
    ]
    for name, timings in sizes.timings.items():
        measurements += timing_measurements(name, timings, LIST_MS if name.startswith("list") else CHART_MS)
    return measurements


def report(measurements: list[Measurement]) -> None:
    width = max(len(measurement.name) for measurement in measurements)
    print()
    for measurement in measurements:
        verdict = f": {'met' if measurement.is_met else 'MISSED'}"
        limit = f"   limit {measurement.limit}{verdict}" if measurement.limit else ""
        print(f"{measurement.name:<{width}}   {measurement.value}{limit}")


if __name__ == "__main__":
    main()
