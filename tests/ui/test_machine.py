"""What is seen of the machine, and that it is looked at only while somebody wants to see it."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.durations import Duration, durations
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.queue.queue_file import change_queue
from clarinet_tui.queue.supervisor_process import SUPERVISOR_LOCK
from clarinet_tui.runs.process import myself
from clarinet_tui.ui.feed.machine_feed import MachineFeed
from clarinet_tui.ui.feed.machine_reader import MachineReader
from clarinet_tui.ui.snapshot.machine import Machine
from clarinet_tui.ui.text.queue import line
from tests.support.nvml import BUSY, build
from tests.support.ui_queue import fill_queue, still_machine
from tests.support.ui_runs import write_run

PATIENCE = 20.0


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(autouse=True)
def machine(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still_machine(library, monkeypatch)


def until(happened: Callable[[], object]) -> None:
    limit = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_nothing_is_made_where_there_is_nothing(tmp_path: Path) -> None:
    seen = MachineReader(tmp_path / "runs", tmp_path / "data").look()
    assert [device.label for device in seen.devices] == ["cuda:0", "cuda:1", "cuda:2", "cuda:3", "cpu"]
    assert seen.places == ()
    assert not seen.supervised
    assert {domain.letter for domain in seen.domains if not domain.there} == {"M", "U", "S", "m", "Y"}
    assert list(tmp_path.iterdir()) == []


def test_the_queue_of_another_machine_waits_for_it(tmp_path: Path) -> None:
    fill_queue(tmp_path, "aaa111", paused=False, device="cpu")
    last = msgspec.structs.replace(myself(), host="gpu7")
    (tmp_path / SUPERVISOR_LOCK).write_bytes(msgspec.json.encode(last))
    seen = MachineReader(tmp_path, tmp_path).look()
    assert seen.fed_on == "gpu7"
    assert line(seen.places[0], seen, None, 120).plain.endswith(" gpu7, whose queue it is")


def test_places_are_in_the_order_of_starting_with_what_they_wait_for(tmp_path: Path) -> None:
    runs = fill_queue(tmp_path, "aaa111", "bbb222", "ccc333", paused=False, device="cuda:1")
    change_queue(tmp_path, lambda queue: queue.change(["aaa111"], on=BUSY, begun=1.0))
    with runs[0].hold() as holder:
        seen = MachineReader(tmp_path, tmp_path).look()
    started, *others = seen.places
    assert (started.id, started.number, started.why, started.waits) == ("aaa111", 0, "", False)
    assert seen.workers == {holder.pid: "aaa111"}
    assert [(place.id, place.number, place.method) for place in others] == [
        ("bbb222", 1, "gac+dan"),
        ("ccc333", 2, "clarinet"),
    ]
    assert {place.why for place in others} == {"cuda:1 is taken"}


def test_a_run_without_settings_is_still_in_its_place(tmp_path: Path) -> None:
    run = fill_queue(tmp_path, "aaa111")[0]
    run.config.write_text("no toml")
    (place,) = MachineReader(tmp_path, tmp_path).look().places
    assert (place.id, place.method, place.seed) == ("aaa111", "?", None)


def test_durations_are_medians_of_finished_runs_of_a_kind(tmp_path: Path) -> None:
    for seed, epochs in ((1, 4), (2, 8), (3, 40)):
        write_run(tmp_path, f"aaa11{seed}", seed=seed, epochs=epochs)
    write_run(tmp_path, "bbb222", until=2, end="failed")
    with Database.open(tmp_path) as db:
        ingest_all(db, tmp_path)
        assert durations(db) == {("clarinet", "Y->D", "smoke"): Duration(20.0, 3)}
    reader = MachineReader(tmp_path, tmp_path)
    assert reader.look().durations[("clarinet", "Y->D", "smoke")].runs == 3
    (tmp_path / "clarinet.db").unlink()
    assert reader.look().durations == {}


def test_the_feed_looks_while_it_is_wanted_and_posts_what_has_changed(tmp_path: Path) -> None:
    heard: list[Machine] = []
    feed = MachineFeed(tmp_path, tmp_path, heard.append, interval=0.02)
    try:
        time.sleep(0.2)
        assert not heard
        feed.want("devices", True)
        until(lambda: heard)
        time.sleep(0.3)
        assert len(heard) == 1
        feed.want("launch", True)
        feed.want("devices", False)
        fill_queue(tmp_path, "aaa111")
        until(lambda: heard[-1].places)
        feed.want("launch", False)
        time.sleep(0.3)
        count = len(heard)
        fill_queue(tmp_path, "bbb222")
        time.sleep(0.3)
        assert len(heard) == count
    finally:
        feed.stop()


def test_what_cannot_be_read_is_a_sentence_and_passes(tmp_path: Path) -> None:
    heard: list[Machine] = []
    (tmp_path / "queue.json").write_text("no queue")
    feed = MachineFeed(tmp_path, tmp_path, heard.append, interval=0.02)
    try:
        feed.want("devices", True)
        until(lambda: heard)
        assert "not a queue" in heard[-1].problem
        (tmp_path / "queue.json").unlink()
        until(lambda: not heard[-1].problem)
        assert heard[-1].devices
    finally:
        feed.stop()
