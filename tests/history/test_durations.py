"""Estimates of the time left, from similar finished runs or from the run itself."""

from pathlib import Path

import pytest

from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.queries import get_run, list_runs
from core.events import Event, Finished, PseudoLabelled
from tests.support.events import started, step
from tests.support.histories import make_run, open_history, write_events

TOTAL, WARMUP = 100, 50
FAST, SLOW = 1.0, 4.0
"""Seconds of an iteration of warm-up and of adaptation."""


def make_steps(first: int, last: int, method: str, speed: float) -> list[Event]:
    """Return the iterations of a run, with `speed` as the factor of their seconds; the clock starts with the first."""
    paid = [FAST if iteration <= WARMUP else SLOW for iteration in range(first, last + 1)]
    steps = [step(first + n, seconds=speed * sum(paid[: n + 1])) for n in range(len(paid))]
    return [started(method=method, iterations_total=TOTAL), *steps]


def run(
    folder: Path, name: str, *, first: int = 1, last: int = TOTAL, method: str = "clarinet", speed: float = 1.0
) -> None:
    events = make_steps(first, last, method, speed)
    if first > 1:
        labelled = PseudoLabelled(iteration=first - 1, label_hash="x", accuracy=None, given=True, labels=[1])
        events.insert(1, labelled)
    if last == TOTAL:
        seconds = getattr(events[-1], "seconds", 0.0)
        events.append(Finished(iteration=TOTAL, epoch=10, target_accuracy=50.0, source_accuracy=50.0, seconds=seconds))
    write_events(make_run(folder, name, method=method), events)


def time_left(folder: Path, name: str) -> float | None:
    db = open_history(folder)
    ingest_all(db, folder)
    with db.transaction() as connection:  # these runs have no process
        connection.execute("UPDATE runs SET state = journal_state")
    (listed,) = (row for row in list_runs(db) if row.id == name)
    row = get_run(db, name)
    assert row is not None
    assert row.seconds_left == listed.seconds_left
    return row.seconds_left


def test_without_similar_runs_the_own_pace_is_extrapolated(tmp_path: Path) -> None:
    run(tmp_path, "going", last=25)
    assert time_left(tmp_path, "going") == pytest.approx(75 * FAST)


def test_a_similar_run_is_scaled_to_the_own_speed(tmp_path: Path) -> None:
    run(tmp_path, "done")
    run(tmp_path, "going", last=25, speed=2.0)
    assert time_left(tmp_path, "going") == pytest.approx(2 * (25 * FAST + 50 * SLOW))


def test_runs_of_another_kind_are_ignored(tmp_path: Path) -> None:
    run(tmp_path, "other", method="clarinet-no-t")
    run(tmp_path, "going", last=25)
    assert time_left(tmp_path, "going") == pytest.approx(75 * FAST)


def test_a_shared_stage_1_takes_no_time(tmp_path: Path) -> None:
    run(tmp_path, "going", first=41, last=50, method="gac+dann", speed=2.0)
    assert time_left(tmp_path, "going") == pytest.approx(2 * 50 * FAST)
    run(tmp_path, "paid", method="gac+dann")  # made its own stage 1
    assert time_left(tmp_path, "going") == pytest.approx(2 * 50 * SLOW)


def test_a_run_with_a_shared_stage_1_is_not_similar_to_one_without(tmp_path: Path) -> None:
    run(tmp_path, "given", first=41, method="gac+dann")
    run(tmp_path, "going", last=60, method="gac+dann")
    assert time_left(tmp_path, "going") == pytest.approx(40 * (50 * FAST + 10 * SLOW) / 60)


def test_only_running_runs_have_time_left(tmp_path: Path) -> None:
    run(tmp_path, "done")
    assert time_left(tmp_path, "done") is None
    run(tmp_path, "given", first=41, last=40, method="gac+dann")
    assert time_left(tmp_path, "given") is None
