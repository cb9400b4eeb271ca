"""The time that a run still takes: as a finished one of its kind went on, or as it did itself."""

from pathlib import Path

import pytest

from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.queries import get_run, list_runs
from core.events import Event, Finished, PseudoLabelled
from tests.support.events import started, step
from tests.support.histories import make_run, open_history, write_events

TOTAL, WARMUP = 100, 50
FAST, SLOW = 1.0, 4.0
"""Seconds of an iteration in warm-up, and in adaptation."""


def went(first: int, last: int, method: str, speed: float) -> list[Event]:
    """Iterations of a run that takes `speed` times as long as another; the clock starts with its first."""
    paid = [FAST if iteration <= WARMUP else SLOW for iteration in range(first, last + 1)]
    steps = [step(first + n, seconds=speed * sum(paid[: n + 1])) for n in range(len(paid))]
    return [started(method=method, iterations_total=TOTAL), *steps]


def run(
    folder: Path, name: str, *, first: int = 1, last: int = TOTAL, method: str = "clarinet", speed: float = 1.0
) -> None:
    events = went(first, last, method, speed)
    if first > 1:
        labelled = PseudoLabelled(iteration=first - 1, label_hash="x", accuracy=None, given=True, labels=[1])
        events.insert(1, labelled)
    if last == TOTAL:
        seconds = getattr(events[-1], "seconds", 0.0)
        events.append(Finished(iteration=TOTAL, epoch=10, target_accuracy=50.0, source_accuracy=50.0, seconds=seconds))
    write_events(make_run(folder, name, method=method), events)


def left(folder: Path, name: str) -> float | None:
    db = open_history(folder)
    ingest_all(db, folder)
    with db.transaction() as connection:  # no process stands behind these runs
        connection.execute("UPDATE runs SET state = said")
    (listed,) = (row for row in list_runs(db) if row.id == name)
    row = get_run(db, name)
    assert row is not None
    assert row.seconds_left == listed.seconds_left
    return row.seconds_left


def test_alone_it_goes_on_as_it_did(tmp_path: Path) -> None:
    run(tmp_path, "going", last=25)
    assert left(tmp_path, "going") == pytest.approx(75 * FAST)


def test_a_run_alike_knows_that_adaptation_takes_longer_and_the_own_speed_counts(tmp_path: Path) -> None:
    run(tmp_path, "done")
    run(tmp_path, "going", last=25, speed=2.0)
    assert left(tmp_path, "going") == pytest.approx(2 * (25 * FAST + 50 * SLOW))


def test_runs_of_another_kind_say_nothing(tmp_path: Path) -> None:
    run(tmp_path, "other", method="clarinet-no-t")
    run(tmp_path, "going", last=25)
    assert left(tmp_path, "going") == pytest.approx(75 * FAST)


def test_what_a_run_was_given_has_cost_it_nothing(tmp_path: Path) -> None:
    run(tmp_path, "going", first=41, last=50, method="gac+dann", speed=2.0)
    assert left(tmp_path, "going") == pytest.approx(2 * 50 * FAST)
    run(tmp_path, "paid", method="gac+dann")  # made its own stage 1
    assert left(tmp_path, "going") == pytest.approx(2 * 50 * SLOW)


def test_a_run_that_was_given_its_stage_1_does_not_tell_how_long_one_takes(tmp_path: Path) -> None:
    run(tmp_path, "given", first=41, method="gac+dann")
    run(tmp_path, "going", last=60, method="gac+dann")
    assert left(tmp_path, "going") == pytest.approx(40 * (50 * FAST + 10 * SLOW) / 60)


def test_who_does_not_run_has_no_time_left(tmp_path: Path) -> None:
    run(tmp_path, "done")
    assert left(tmp_path, "done") is None
    run(tmp_path, "given", first=41, last=40, method="gac+dann")
    assert left(tmp_path, "given") is None
