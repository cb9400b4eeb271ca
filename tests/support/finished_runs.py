"""Finished runs made without training, and the reader of their records."""

from pathlib import Path
from typing import Any

import msgspec

from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.runs.directory import RunDirectory
from core.events import Event, Failed, Finished, PseudoLabelled, StageStarted
from core.methods import find_method
from tests.support.events import evaluation, started
from tests.support.histories import make_run, open_history, write_events


def read_runs(runs_dir: Path) -> RunRecords:
    db = open_history(runs_dir)
    ingest_all(db, runs_dir)
    return RunRecords(db, runs_dir)


def make_finished_run(
    runs_dir: Path,
    id: str,  # noqa: A002
    accuracy: float | None,
    *,
    started_fields: dict[str, Any] | None = None,
    shared: tuple[str, float] | None = None,
    commit: str | None = None,
    version: str = "0.1.0",
    end: str = "finished",
    **settings: Any,
) -> RunDirectory:
    """Write a run with one evaluation in each stage, 99 % before the last; `shared` is the origin of its stage 1."""
    run = make_run(runs_dir, id, **settings)
    config = run.read_config()
    stages = [stage.name for stage in find_method(config.method).stages]
    usual = {"method": config.method, "task": config.task, "seed": config.seed, "stages": stages}
    events: list[Event] = [started(**usual | {"label_hash": f"hash{config.seed}"} | (started_fields or {}))]
    for index, stage in enumerate(stages):
        last = stage == stages[-1]
        if index:
            events.append(_pseudo_labels(100 * index, shared))
        events.append(StageStarted(stage=stage, index=index + 1, iteration=100 * index, epoch=index))
        reached = accuracy if last else 99.0
        events.append(evaluation(100 * (index + 1), reached, stage=stage, epoch=index + 1, complementary_risk=1.0))
    events.append(_end(end, 100 * len(stages), accuracy))
    write_events(run, events)
    environment: dict[str, Any] = {"versions": {"clarinet-tui": version}}
    environment["git"] = {"commit": commit, "patch": ""} if commit else None
    run.environment.write_bytes(msgspec.json.encode(environment))
    return run


def _pseudo_labels(iteration: int, shared: tuple[str, float] | None) -> PseudoLabelled:
    origin, seconds = shared or ("", 0.0)
    return PseudoLabelled(
        iteration=iteration,
        label_hash="pseudo",
        accuracy=90.0,
        given=shared is not None,
        labels=[],
        origin=origin,
        origin_seconds=seconds,
    )


def _end(end: str, iteration: int, accuracy: float | None) -> Event:
    seconds = iteration / 64
    if end == "failed":
        return Failed(iteration=iteration, seconds=seconds, message="the loss is not a number")
    if end == "running":
        return StageStarted(stage="more", index=9, iteration=iteration, epoch=1)
    return Finished(iteration=iteration, epoch=1, target_accuracy=accuracy, source_accuracy=None, seconds=seconds)
