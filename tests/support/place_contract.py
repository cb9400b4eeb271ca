"""What every place promises (`clarinet_tui/place.py`). Its tests run against each implementation."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.place import LaunchOptions, Place, QueueRow, StopResult
from clarinet_tui.runs.directory import RunDirectory, list_run_ids
from core.config import RunConfig
from core.errors import InputError
from core.resolve import resolve


@dataclass(frozen=True)
class Harness:
    """A place without runs, whose runs do not start by themselves."""

    place: Place
    options: LaunchOptions
    start: Callable[[RunDirectory], None]
    """Lets a waiting run start."""
    refused: LaunchOptions
    """Options with which it refuses runs of this device."""
    refused_device: str = "cpu"

    @property
    def runs_dir(self) -> Path:
        return Path(self.options.data_dir)

    def submit(self, count: int = 3, **options: object) -> list[RunDirectory]:
        return self.place.submit(configs(count), msgspec.structs.replace(self.options, **options))

    def rows(self) -> dict[str, QueueRow]:
        """Return what another process lists."""
        return {row.id: row for row in type(self.place)(self.runs_dir).list_runs()}  # type: ignore[call-arg]

    def waiting(self) -> list[str]:
        return [row.id for row in self.rows().values() if row.is_waiting]


def configs(count: int, device: str = "cpu") -> list[RunConfig]:
    return [resolve(preset="smoke", task="U->M", device=device, seed=seed) for seed in range(1, count + 1)]


class PlaceContract:
    """Subclassed for each place, with a fixture `harness`."""

    def test_submitted_runs_wait_in_order(self, harness: Harness) -> None:
        runs = harness.submit()
        rows = list(harness.rows().values())
        assert [(row.id, row.position, row.seed, row.task) for row in rows] == [
            (run.id, number, number, "U->M") for number, run in enumerate(runs, 1)
        ]
        assert all(row.is_waiting and not row.is_paused and not row.is_stopping for row in rows)
        assert all(harness.place.has(run.id) for run in runs)
        assert not harness.place.has("nobody")

    def test_a_run_can_be_given_its_id(self, harness: Harness) -> None:
        (run,) = harness.place.submit(configs(1), harness.options, run_id="mine")
        assert run.id == "mine"
        with pytest.raises(InputError, match="already exists"):
            harness.place.submit(configs(1), harness.options, run_id="mine")
        assert harness.waiting() == ["mine"]

    def test_a_refused_submission_and_a_preview_leave_nothing(self, harness: Harness) -> None:
        with pytest.raises(InputError):
            harness.place.submit(configs(2, harness.refused_device), harness.refused)
        assert "".join(harness.place.preview(configs(2), harness.options)).count("clarinet")
        assert list_run_ids(harness.runs_dir) == []
        assert harness.rows() == {}

    def test_a_run_is_held_and_released(self, harness: Harness) -> None:
        first, second = harness.submit(2)
        harness.place.hold([first.id], True)
        rows = harness.rows()
        assert (rows[first.id].is_paused, rows[second.id].is_paused) == (True, False)
        harness.place.hold([first.id], False)
        (held,) = harness.submit(1, paused=True)
        rows = harness.rows()
        assert (rows[first.id].is_paused, rows[held.id].is_paused) == (False, True)

    def test_waiting_runs_are_moved(self, harness: Harness) -> None:
        a, b, c = (run.id for run in harness.submit())
        for moved, index, order in (([c], 0, [c, a, b]), ([c, a], 99, [b, c, a]), ([a], 1, [b, a, c])):
            harness.place.move(moved, index)
            assert harness.waiting() == order

    def test_cancelled_runs_keep_their_directory(self, harness: Harness) -> None:
        first, second = harness.submit(2)
        harness.place.cancel([first.id])
        assert harness.waiting() == [second.id]
        assert first.config.exists()
        with pytest.raises(InputError, match=f"run {first.id}: is not in the queue"):
            harness.place.cancel([second.id, first.id])
        assert harness.waiting() == [second.id], "all or none"

    def test_a_started_run_is_stopped_and_not_changed_otherwise(self, harness: Harness) -> None:
        run, other = harness.submit(2)
        harness.place.hold([other.id], True)
        harness.start(run)
        row = harness.rows()[run.id]
        assert row.started_on
        assert (row.position, row.wait_reason) == (0, "")
        both, place = [other.id, run.id], harness.place
        requests: list[Callable[[], None]] = [
            lambda: place.hold(both, False),
            lambda: place.move(both, 0),
            lambda: place.cancel(both),
        ]
        for request in requests:
            with pytest.raises(InputError, match=f"run {run.id}: has already started: `clarinet stop {run.id}`"):
                request()
        assert harness.rows()[other.id].is_paused, "all or none"
        with pytest.raises(InputError, match=f"run {run.id}: is already running"):
            harness.place.check_absent([run])
        assert harness.place.stop(run, 30.0) is StopResult.REQUESTED
        assert harness.rows()[run.id].is_stopping

    def test_a_stopped_run_waits_again_when_it_is_resumed(self, harness: Harness) -> None:
        first, second = harness.submit(2)
        assert harness.place.stop(first) is StopResult.DEQUEUED
        assert harness.waiting() == [second.id]
        harness.place.check_absent([first])
        earlier = harness.place.last_options(first, msgspec.structs.replace(harness.options, slurm=None))
        assert earlier is not None
        assert earlier.slurm == harness.options.slurm
        with pytest.raises(InputError, match=f"run {second.id}: is already queued"):
            harness.place.resume([first, second], earlier)
        assert harness.waiting() == [second.id], "all or none"
        harness.place.resume([first], earlier)
        assert harness.waiting() == [second.id, first.id]

    def test_requests_at_once_are_all_met(self, harness: Harness) -> None:
        runs = harness.submit(2)
        requests = (
            lambda: harness.place.cancel([runs[0].id]),
            lambda: harness.place.hold([runs[1].id], True),
            lambda: harness.submit(2),
            lambda: harness.submit(1),
        )
        threads = [threading.Thread(target=request) for request in requests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rows = harness.rows()
        assert (len(rows), runs[0].id in rows, rows[runs[1].id].is_paused) == (4, False, True)
