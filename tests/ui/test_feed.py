"""The feed: what it posts, how often, and what happens when it cannot read."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from clarinet_tui.ui.feed.history_feed import Feed
from clarinet_tui.ui.snapshot.snapshot import CurvesWanted, Snapshot, Wanted
from tests.support.ui_runs import STEPS, go_on, three_runs, write_run

PATIENCE = 20.0


class Ear:
    """Keeps what was posted."""

    def __init__(self) -> None:
        self.heard: list[Snapshot] = []
        self.threads: set[str] = set()
        self.times: list[float] = []

    def __call__(self, snapshot: Snapshot) -> None:
        self.heard.append(snapshot)
        self.times.append(time.monotonic())
        self.threads.add(threading.current_thread().name)

    def wait(self, happened: Callable[[Snapshot], object]) -> Snapshot:
        """The newest snapshot of which it is true."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            for snapshot in reversed(self.heard):
                if happened(snapshot):
                    return snapshot
            time.sleep(0.01)
        raise AssertionError(f"it did not happen; last: {self.heard[-1:]}")


@contextmanager
def feeding(runs_dir: Path) -> Iterator[tuple[Feed, Ear]]:
    ear = Ear()
    feed = Feed(runs_dir, ear)
    feed.start()
    try:
        yield feed, ear
    finally:
        feed.stop()


def test_a_missing_directory_is_empty_and_is_not_made(tmp_path: Path) -> None:
    with feeding(tmp_path / "runs") as (_, ear):
        assert ear.wait(lambda seen: seen.settled).listing.all_runs == 0
    assert not (tmp_path / "runs").exists()


def test_curves_of_what_is_wanted_and_nothing_else(tmp_path: Path) -> None:
    three_runs(tmp_path)
    with feeding(tmp_path) as (feed, ear):
        ear.wait(lambda seen: seen.listing.total == 3)
        assert not ear.heard[-1].curves
        feed.want(Wanted(curves=(CurvesWanted("aaa111", ("complementary_loss", "target_accuracy")),)))
        curves = ear.wait(lambda seen: "aaa111" in seen.curves).curves["aaa111"]
        assert curves.run.id == "aaa111"
        assert set(curves.series) == {"complementary_loss", "target_accuracy"}
        assert len(curves.series["target_accuracy"].x) == 8
        assert curves.pace.along("epoch", np.array([2.0 * STEPS])).tolist() == [2.0]
    assert ear.threads == {"feed"}


def test_live_runs_come_first_and_are_counted(tmp_path: Path) -> None:
    write_run(tmp_path, "old000", until=2, end="running", age=9000)
    write_run(tmp_path, "new000", age=60)
    with feeding(tmp_path) as (_, ear):
        snapshot = ear.wait(lambda seen: seen.listing.total == 2 and seen.listing.running == 1)
        assert [run.id for run in snapshot.listing.rows] == ["old000", "new000"]


def test_at_most_four_updates_a_second_however_fast_a_run_talks(tmp_path: Path) -> None:
    directory = write_run(tmp_path, "aaa111", epochs=60, until=1, end="running")
    with feeding(tmp_path) as (_, ear):
        ear.wait(lambda seen: seen.listing.total == 1 and seen.settled)
        heard, began = len(ear.heard), time.monotonic()
        for epoch in range(2, 40):
            go_on(directory, epoch, 60)
            time.sleep(0.03)
        seconds = time.monotonic() - began
        assert 1 <= len(ear.heard) - heard <= 4 * seconds + 2


def test_when_nothing_happens_nothing_is_posted(tmp_path: Path) -> None:
    write_run(tmp_path, "aaa111")
    with feeding(tmp_path) as (_, ear):
        ear.wait(lambda seen: seen.listing.total == 1 and seen.settled)
        time.sleep(0.6)
        heard = len(ear.heard)
        time.sleep(0.8)
        assert len(ear.heard) == heard


def test_a_wrong_query_is_told_with_its_place(tmp_path: Path) -> None:
    write_run(tmp_path, "aaa111")
    with feeding(tmp_path) as (feed, ear):
        ear.wait(lambda seen: seen.listing.total == 1)
        feed.want(Wanted(query="acc>80 colour:red"))
        problem = ear.wait(lambda seen: seen.listing.problem).listing.problem
        assert problem is not None
        assert problem.position == 7


def test_what_cannot_be_read_is_a_sentence_and_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "clarinet.db").write_bytes(b"no database" * 500)
    with feeding(tmp_path) as (_, ear):
        assert "clarinet reindex" in ear.wait(lambda seen: seen.problem).problem
        (tmp_path / "clarinet.db").unlink()
        write_run(tmp_path, "aaa111")
        assert ear.wait(lambda seen: seen.listing.total == 1 and not seen.problem)
