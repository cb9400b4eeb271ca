"""The history feed: what it posts, how often, and what happens when it cannot read."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clarinet_tui.history.database import DATABASE_NAME
from clarinet_tui.ui.feed.history_feed import HistoryFeed
from clarinet_tui.ui.feed.history_reader import HistoryReader
from clarinet_tui.ui.snapshot.snapshot import CurvesRequest, HistorySnapshot, ViewRequest
from tests.support.histories import make_outdated
from tests.support.ui_runs import STEPS, go_on, three_runs, write_run
from tests.support.waiting import TIMEOUT, wait_until


class PostedSnapshots:
    """Collects what the feed posts."""

    def __init__(self) -> None:
        self.all: list[HistorySnapshot] = []
        self.threads: set[str] = set()
        self.times: list[float] = []

    def __call__(self, snapshot: HistorySnapshot) -> None:
        self.all.append(snapshot)
        self.times.append(time.monotonic())
        self.threads.add(threading.current_thread().name)

    def wait(self, condition: Callable[[HistorySnapshot], object]) -> HistorySnapshot:
        """Wait for a snapshot that meets the condition; return the newest."""
        wait_until(lambda: any(map(condition, self.all)), lambda: f"no such snapshot; last: {self.all[-1:]}")
        return next(snapshot for snapshot in reversed(self.all) if condition(snapshot))


@contextmanager
def running_feed(runs_dir: Path, **options: Any) -> Iterator[tuple[HistoryFeed, PostedSnapshots]]:
    posted = PostedSnapshots()
    feed = HistoryFeed(runs_dir, posted, **options)
    feed.start()
    try:
        yield feed, posted
    finally:
        feed.stop()


def test_an_older_history_is_rebuilt_with_reports_and_shown_when_it_is_complete(tmp_path: Path) -> None:
    three_runs(tmp_path)
    with running_feed(tmp_path) as (_, posted):
        posted.wait(lambda snapshot: snapshot.is_ingested)
    make_outdated(tmp_path / DATABASE_NAME)
    reports: list[str] = []
    with running_feed(tmp_path, report=reports.append) as (_, posted):
        assert posted.wait(lambda snapshot: snapshot.is_ingested).listing.all_runs == 3
    assert reports == ["An older version of Clarinet has made the history; rebuilding it …"]
    assert {(snapshot.problem, snapshot.listing.all_runs) for snapshot in posted.all} == {("", 3)}


def test_a_missing_directory_is_empty_and_not_created(tmp_path: Path) -> None:
    with running_feed(tmp_path / "runs") as (_, posted):
        assert posted.wait(lambda snapshot: snapshot.is_ingested).listing.all_runs == 0
    assert not (tmp_path / "runs").exists()


def test_requested_curves_are_read_and_a_wrong_query_is_reported(tmp_path: Path) -> None:
    three_runs(tmp_path)
    with running_feed(tmp_path) as (feed, posted):
        posted.wait(lambda snapshot: snapshot.listing.total == 3)
        assert not posted.all[-1].curves
        feed.request(ViewRequest(curves=(CurvesRequest("aaa111", ("complementary_loss", "target_accuracy")),)))
        curves = posted.wait(lambda snapshot: "aaa111" in snapshot.curves).curves["aaa111"]
        assert curves.run.id == "aaa111"
        assert set(curves.series) == {"complementary_loss", "target_accuracy"}
        assert len(curves.series["target_accuracy"].x) == 8
        assert curves.axis_map.to_axis("epoch", np.array([2.0 * STEPS])).tolist() == [2.0]
        feed.request(ViewRequest(query="acc>80 colour:red"))
        problem = posted.wait(lambda snapshot: snapshot.listing.problem).listing.problem
        assert problem is not None
        assert problem.position == 7
    assert posted.threads == {"feed"}


def test_live_runs_come_first_and_are_counted(tmp_path: Path) -> None:
    write_run(tmp_path, "old000", until=2, end="running", age=9000)
    write_run(tmp_path, "new000", age=60)
    with running_feed(tmp_path) as (_, posted):
        snapshot = posted.wait(lambda snapshot: snapshot.listing.total == 2 and snapshot.listing.running == 1)
        assert [run.id for run in snapshot.listing.rows] == ["old000", "new000"]


def test_at_most_four_snapshots_are_posted_per_second(tmp_path: Path) -> None:
    directory = write_run(tmp_path, "aaa111", epochs=60, until=1, end="running")
    with running_feed(tmp_path) as (_, posted):
        posted.wait(lambda snapshot: snapshot.listing.total == 1 and snapshot.is_ingested)
        count, started = len(posted.all), time.monotonic()
        for epoch in range(2, 40):
            go_on(directory, epoch, 60)
            time.sleep(0.03)
        seconds = time.monotonic() - started
        assert 1 <= len(posted.all) - count <= 4 * seconds + 2


def test_an_unchanged_history_is_read_but_not_posted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path, "aaa111")
    unchanged = threading.Semaphore(0)
    read = HistoryReader.read

    def count_unchanged(reader: HistoryReader, *arguments: Any, **options: Any) -> HistorySnapshot | None:
        snapshot = read(reader, *arguments, **options)
        if snapshot is None:
            unchanged.release()
        return snapshot

    monkeypatch.setattr(HistoryReader, "read", count_unchanged)
    with running_feed(tmp_path) as (_, posted):
        posted.wait(lambda snapshot: snapshot.listing.total == 1 and snapshot.is_ingested)
        for _ in range(3):
            assert unchanged.acquire(timeout=TIMEOUT)
        count = len(posted.all)
        for _ in range(4):
            assert unchanged.acquire(timeout=TIMEOUT)
        assert len(posted.all) == count


def test_an_unreadable_database_is_reported_and_read_again(tmp_path: Path) -> None:
    (tmp_path / "clarinet.db").write_bytes(b"no database" * 500)
    with running_feed(tmp_path) as (_, posted):
        assert "clarinet reindex" in posted.wait(lambda snapshot: snapshot.problem).problem
        (tmp_path / "clarinet.db").unlink()
        write_run(tmp_path, "aaa111")
        assert posted.wait(lambda snapshot: snapshot.listing.total == 1 and not snapshot.problem)


def test_an_error_before_the_database_is_complete_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the database is complete when the error is handled."""
    three_runs(tmp_path)
    read = HistoryReader.read
    feeds: list[HistoryFeed] = []
    failures: list[str] = []

    def fail_first(reader: HistoryReader, *args: Any, **options: Any) -> HistorySnapshot | None:
        if not failures:
            failures.append("made by an older version")
            assert feeds[0].opened.wait(TIMEOUT)
            raise OSError(failures[0])
        return read(reader, *args, **options)

    monkeypatch.setattr(HistoryReader, "read", fail_first)
    posted = PostedSnapshots()
    feeds.append(HistoryFeed(tmp_path, posted))
    feeds[0].start()
    try:
        posted.wait(lambda snapshot: snapshot.listing.all_runs)
    finally:
        feeds[0].stop()
    assert failures
    assert not any(snapshot.problem for snapshot in posted.all)
