"""The runs directory is moved away under the app or a worker: it is not created again."""

from pathlib import Path

import pytest

from clarinet_tui.ui.feed.history_feed import HistoryFeed
from clarinet_tui.ui.snapshot.snapshot import HistorySnapshot
from clarinet_tui.worker import recorder
from clarinet_tui.worker.recorder import Recorder
from core.events import Finished
from tests.support.events import started, step
from tests.support.histories import make_run, write_events
from tests.support.supervised import make_fault_run, wait_until
from tests.support.workers import events_named


def test_the_app_shows_the_runs_of_a_directory_that_was_moved_away_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clarinet_tui.ui.feed.poller.RETRY_SECONDS", 0.05)
    runs = tmp_path / "runs"
    write_events(make_run(runs, "one"), [started(), step(1)])
    snapshots: list[HistorySnapshot] = []
    errors: list[str] = []
    feed = HistoryFeed(runs, snapshots.append, lambda error, where: errors.append(str(error)), interval=0.02)
    feed.start()
    try:
        wait_until(lambda: snapshots and snapshots[-1].listing.rows, tmp_path)
        runs.rename(tmp_path / "moved")
        wait_until(lambda: any("runs: does not exist any more" in error for error in errors), tmp_path)
        wait_until(lambda: not snapshots[-1].listing.rows, tmp_path)
        assert not runs.exists()
        (tmp_path / "moved").rename(runs)
        wait_until(lambda: snapshots[-1].listing.rows, tmp_path)
    finally:
        feed.stop()


def test_a_worker_continues_in_a_directory_that_was_moved_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "INTERVAL", 0.02)
    messages: list[str] = []
    run = make_fault_run(tmp_path / "runs", "one")
    recording = Recorder(run, run.read_config(), messages.append)
    recording.record(started())
    recording.sync()
    (tmp_path / "runs").rename(tmp_path / "moved")
    wait_until(lambda: messages, tmp_path)
    recording.record(step(1))
    recording.record(Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None))
    recording.close()
    assert not (tmp_path / "runs").exists()
    moved = type(run)(tmp_path / "moved", "one")
    assert [len(events_named(moved, name)) for name in ("started", "step", "finished")] == [1, 1, 1]
