"""`clarinet verify`: retrain the first iterations of a run and compare them with the journal."""

import math
import subprocess
import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from typer import Option

from clarinet_tui.cli.lookup import find_row, open_history
from clarinet_tui.cli.options import DATA, RUNS, DataDir, Json, RunId, RunsDir
from clarinet_tui.cli.output import print_json
from clarinet_tui.history.queries import read_events, read_iterations
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.journal import encode_non_finite
from clarinet_tui.text import format_number, printable
from clarinet_tui.verify.comparison import Replay, ReplayComparison, compare_iterations, environment_differences
from core.errors import InputError

Pairs = dict[str, tuple[str, str]]
"""The recorded value and that of the replay, by name."""


def verify(
    id: RunId,  # noqa: A002
    iterations: Annotated[int, Option(min=1, help="Number of iterations to retrain.")] = 20,
    device: Annotated[str | None, Option(help="cpu or cuda:0; default: the kind of device of the run.")] = None,
    tolerance: Annotated[
        float, Option(min=0, help="Allowed difference: relative, or absolute for values below 1.")
    ] = 0.0,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Retrain the first iterations of a run and compare them.

    Every number is compared with the recorded one. The exit code is 0 if all agree, 1 if numbers or labels differ, and
    2 if the run cannot be retrained here.

    Example: clarinet verify 6e3 --iterations 50 --tolerance 1e-5
    """
    with open_history(runs_dir) as database:
        row = find_row(database, runs_dir, id)
        recorded = list(islice(read_iterations(database, row.id), iterations))
        events = read_events(database, row.id)
    if not recorded:
        raise InputError(f"run {row.id}: has no iterations yet")
    labelled = [event for event in events if event["event"] == "pseudo-labels" and not event["superseded"]]
    last = labelled[-1] if labelled else {}
    run = RunDirectory(runs_dir, row.id)
    device = device or (row.device or "auto").partition(":")[0]
    replay = _replay(run, device, len(recorded), data_dir, labels=last.get("given") is True)
    hashes = {"labels": (row.label_hash or "", replay.label_hash)}
    if replay.pseudo_label_hash:  # the replay reached stage 2
        hashes["pseudo-labels"] = (str(last.get("label_hash", "")), replay.pseudo_label_hash)
    environment = environment_differences(read_environment(run), run.read_config().threads, replay.environment)
    comparison = compare_iterations(recorded, replay.iterations)
    agrees = all(first == second for first, second in hashes.values()) and comparison.is_within(tolerance)
    if json:
        largest = comparison.largest
        print_json(
            {
                "run": run.id,
                "agrees": agrees,
                "exactly": not comparison.differences,
                "tolerance": tolerance,
                "first_iteration": comparison.first_iteration,
                "last_iteration": comparison.last_iteration,
                "numbers": comparison.value_count,
                "different": len(comparison.differences),
                "largest": largest and encode_non_finite(asdict(largest) | {"size": largest.size}),
                "labels": _pair_objects(hashes),
                "environment": _pair_objects(environment),
            }
        )
    else:
        for line in _format_result(comparison, tolerance, hashes, environment):
            print(printable(line))
    raise typer.Exit(0 if agrees else 1)


def _replay(run: RunDirectory, device: str, count: int, data_dir: Path, *, labels: bool) -> Replay:
    """Retrain in a process of its own, since only workers import torch."""
    command = [sys.executable, "-P", "-m", "clarinet_tui.verify.replay", run.id, "--device", device]
    command += ["--runs-dir", str(run.runs_dir), "--data-dir", str(data_dir), "--iterations", str(count)]
    if sys.stderr.isatty():
        print(f"Retraining the first {count} iterations …", file=sys.stderr)
    replay = subprocess.run([*command, *(["--labels"] if labels else [])], capture_output=True, text=True, check=False)
    if replay.returncode:
        reason = (replay.stderr.strip().splitlines() or [f"exit code {replay.returncode}"])[-1]
        raise InputError(f"run {run.id}: cannot be retrained here: {reason}")
    return msgspec.json.decode(replay.stdout, type=Replay)


def _pair_objects(pairs: Pairs) -> dict[str, dict[str, str]]:
    return {name: {"recorded": recorded, "replayed": replayed} for name, (recorded, replayed) in pairs.items()}


def _format_result(comparison: ReplayComparison, tolerance: float, hashes: Pairs, environment: Pairs) -> list[str]:
    result, largest = "all agree exactly.", comparison.largest
    if largest is not None:
        values = (largest.recorded, largest.replayed)
        recorded, now = ("nothing" if value is None else format_number(value, 9) for value in values)
        example = f"iteration {largest.iteration}: {largest.metric} was {recorded} and is {now}"
        count = f"{len(comparison.differences)} differ, from iteration {comparison.differences[0].iteration} on"
        result = f"{count}; {example}."
        if math.isfinite(largest.size):
            result = f"{count}, by {format_number(largest.size)} at most ({example})."
    span = f"Iterations {comparison.first_iteration} to {comparison.last_iteration}"
    lines = [f"{span}, {comparison.value_count} numbers: {result}"]
    if largest is not None and comparison.is_within(tolerance):
        lines.append(f"The differences are within the tolerance of {format_number(tolerance)}.")
    for name, (recorded, now) in hashes.items():
        differ = f"The {name} differ: {recorded or 'none'} recorded, {now or 'none'} now. Check the data."
        lines.append(f"The {name} are the same: {recorded}" if recorded == now else differ)
    return lines + [f"{name}: {recorded} recorded, {now} now" for name, (recorded, now) in environment.items()]
