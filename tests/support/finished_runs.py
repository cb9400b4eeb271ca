"""Runs with results, made without training, and the archive that reads them."""

from pathlib import Path
from typing import Any

import msgspec

from clarinet_tui.evidence.run_records import Archive
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.runs.directory import RunDirectory
from core.events import Event, Failed, Finished, PseudoLabelled, StageStarted
from core.methods import find_method
from tests.support.events import evaluation, started
from tests.support.histories import history, make_run, say


def archive_of(runs_dir: Path) -> Archive:
    db = history(runs_dir)
    ingest_all(db, runs_dir)
    return Archive(db, runs_dir)


def finished(
    runs_dir: Path,
    id: str,  # noqa: A002
    accuracy: float | None,
    *,
    said: dict[str, Any] | None = None,
    shared: tuple[str, float] | None = None,
    commit: str | None = None,
    version: str = "0.1.0",
    end: str = "finished",
    **settings: Any,
) -> RunDirectory:
    """A run of one evaluation in each of its stages; those before the last say 99 %. `shared` is a stage 1's origin."""
    run = make_run(runs_dir, id, **settings)
    config = run.read_config()
    stages = [stage.name for stage in find_method(config.method).stages]
    usual = {"method": config.method, "task": config.task, "seed": config.seed, "stages": stages}
    events: list[Event] = [started(**usual | {"label_hash": f"hash{config.seed}"} | (said or {}))]
    for place, stage in enumerate(stages):
        last = stage == stages[-1]
        if place:
            events.append(_labelled(100 * place, shared))
        events.append(StageStarted(stage=stage, index=place + 1, iteration=100 * place, epoch=place))
        reached = accuracy if last else 99.0
        events.append(evaluation(100 * (place + 1), reached, stage=stage, epoch=place + 1, complementary_risk=1.0))
    events.append(_end(end, 100 * len(stages), accuracy))
    say(run, events)
    surroundings: dict[str, Any] = {"versions": {"clarinet-tui": version}}
    surroundings["git"] = {"commit": commit, "patch": ""} if commit else None
    run.environment.write_bytes(msgspec.json.encode(surroundings))
    return run


def _labelled(iteration: int, shared: tuple[str, float] | None) -> PseudoLabelled:
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
