"""`clarinet verify`: are a run's first numbers those that its settings give here and now?"""

import json as json_
import math
import subprocess
import sys
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from clarinet_tui.cli.completion import RunId
from clarinet_tui.cli.open_history import find_row, open_history
from clarinet_tui.cli.options import DataDir, Json, RunsDir
from clarinet_tui.cli.places import DATA, RUNS
from clarinet_tui.text import number, printable
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.runs.directory import RunDirectory
    from clarinet_tui.verify.comparison import Comparison, Repetition


@dataclass(frozen=True)
class Recorded:
    """What the history knows of the run's beginning."""

    row: "RunRow"
    iterations: list[dict[str, Any]]
    pseudo_label_hash: str
    given: bool
    """Whether stage 1 was made by another run."""


def verify(
    id: RunId,  # noqa: A002
    iterations: Annotated[int, typer.Option(min=1, help="How many to train again, from the first on.")] = 20,
    device: Annotated[str | None, typer.Option(help="cpu or cuda:0; otherwise the kind that the run was on.")] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, help="Differences that are allowed, relative or below 1 absolute.")
    ] = 0.0,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Train a run's first iterations again from its settings, and compare every number with the record.

    Exit code 0: they agree; 1: they differ, or the labels do; 2: it cannot be told.

    Example: clarinet verify 6e3 --iterations 50 --tolerance 1e-5
    """
    from clarinet_tui.runs.directory import RunDirectory
    from clarinet_tui.runs.environment import read_environment
    from clarinet_tui.verify.comparison import compare, other_surroundings

    before = _recorded(runs_dir, id, iterations)
    run = RunDirectory(runs_dir, before.row.id)
    where = device or (before.row.device or "auto").partition(":")[0]
    now = _repeated(run, where, len(before.iterations), data_dir, labels=before.given)
    comparison = compare(before.iterations, now.iterations)
    labels = {"labels": (before.row.label_hash or "", now.label_hash)}
    if now.pseudo_label_hash:  # it has come so far
        labels["pseudo-labels"] = (before.pseudo_label_hash, now.pseudo_label_hash)
    differs = other_surroundings(read_environment(run), run.read_config().threads, now.surroundings)
    agrees = comparison.within(tolerance) and all(one == other for one, other in labels.values())
    if json:
        said = {"run": run.id, "agrees": agrees, **_object(comparison, tolerance, labels, differs)}
        print(json_.dumps(said, indent=2))
    else:
        print("\n".join(printable(line) for line in _lines(comparison, tolerance, labels, differs)))
    raise typer.Exit(0 if agrees else 1)


def _recorded(runs_dir: Path, prefix: str, count: int) -> Recorded:
    from clarinet_tui.history.queries import events
    from clarinet_tui.history.queries import iterations as recorded

    with open_history(runs_dir) as database:
        row = find_row(database, runs_dir, prefix)
        first = list(islice(recorded(database, row.id), count))
        said = [one for one in events(database, row.id) if one["event"] == "pseudo-labels" and not one["superseded"]]
    if not first:
        raise InputError(f"run {row.id}: has no iterations yet to compare with")
    labelled = said[-1] if said else {}
    return Recorded(row, first, str(labelled.get("label_hash", "")), labelled.get("given") is True)


def _repeated(run: "RunDirectory", device: str, count: int, data_dir: Path, *, labels: bool) -> "Repetition":
    """Torch is loaded in a process of its own, as a worker is."""
    from clarinet_tui.verify.comparison import Repetition

    words = [sys.executable, "-P", "-m", "clarinet_tui.verify.replay", run.id, "--device", device]
    words += ["--runs-dir", str(run.runs_dir), "--data-dir", str(data_dir), "--iterations", str(count)]
    if sys.stderr.isatty():
        print(f"Training the first {count} iterations again …", file=sys.stderr)
    done = subprocess.run([*words, *(["--labels"] if labels else [])], capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise InputError(f"run {run.id}: cannot be trained here: {why}")
    return msgspec.json.decode(done.stdout, type=Repetition)


def _object(
    comparison: "Comparison", tolerance: float, labels: dict[str, tuple[str, str]], differs: dict[str, tuple[str, str]]
) -> dict[str, Any]:
    from clarinet_tui.worker.display import jsonable

    largest = comparison.largest
    return {
        "exactly": not comparison.differences,
        "tolerance": tolerance,
        "first_iteration": comparison.first,
        "last_iteration": comparison.last,
        "numbers": comparison.numbers,
        "different": len(comparison.differences),
        "largest": None if largest is None else jsonable(asdict(largest) | {"size": largest.size}),
        "labels": {name: {"recorded": one, "now": other} for name, (one, other) in labels.items()},
        "surroundings": {name: {"recorded": one, "now": other} for name, (one, other) in differs.items()},
    }


def _lines(
    comparison: "Comparison", tolerance: float, labels: dict[str, tuple[str, str]], differs: dict[str, tuple[str, str]]
) -> list[str]:
    lines = [
        f"Iterations {comparison.first} to {comparison.last}, {comparison.numbers} numbers: {_verdict(comparison)}"
    ]
    if comparison.differences and comparison.within(tolerance):
        lines.append(f"That is within the tolerance of {number(tolerance)}.")
    for name, (one, other) in labels.items():
        if one != other:
            lines.append(f"The {name} are others: {one or 'none'} then, {other or 'none'} now. Has the data changed?")
        else:
            lines.append(f"The {name} are the same: {one}")
    lines += [f"{name}: {one} then, {other} now" for name, (one, other) in differs.items()]
    return lines


def _verdict(comparison: "Comparison") -> str:
    largest = comparison.largest
    if largest is None:
        return "they agree exactly."
    values = (number(value, 9) if value is not None else "nothing" for value in (largest.recorded, largest.now))
    where = "iteration {}: {} was {} and is {}".format(largest.iteration, largest.metric, *values)
    first = comparison.differences[0].iteration
    count = f"{len(comparison.differences)} differ, from iteration {first} on"
    if not math.isfinite(largest.size):
        return f"{count}; {where}."
    return f"{count}, by {number(largest.size)} at most ({where})."
