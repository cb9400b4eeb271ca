"""The machine feed: what it reads of devices and queue, and that it reads only while a view shows them."""

from pathlib import Path

import msgspec
import pytest

from clarinet_tui.queue.queue_file import update_queue
from clarinet_tui.queue.supervisor import SUPERVISOR_LOCK
from clarinet_tui.runs.lock import current_process
from clarinet_tui.ui.feed.machine_feed import MachineFeed
from clarinet_tui.ui.feed.machine_reader import MachineReader
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from clarinet_tui.ui.text.devices import fit_queue, format_queued_run
from tests.support.histories import ingested
from tests.support.nvml import BUSY
from tests.support.ui_queue import fill_queue
from tests.support.ui_runs import write_run
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("machine")


def test_an_empty_directory_stays_empty(tmp_path: Path) -> None:
    snapshot = MachineReader(tmp_path / "runs", tmp_path / "data").read()
    assert [device.label for device in snapshot.devices] == ["cuda:0", "cuda:1", "cuda:2", "cuda:3", "cpu"]
    assert snapshot.queue_rows == ()
    assert not snapshot.has_supervisor
    assert {domain.letter for domain in snapshot.domains if not domain.present} == {"M", "U", "S", "m", "Y"}
    assert list(tmp_path.iterdir()) == []


def test_the_queue_of_another_machine_waits_for_it(tmp_path: Path) -> None:
    fill_queue(tmp_path, "aaa111", paused=False, device="cpu")
    last = msgspec.structs.replace(current_process(), host="gpu7", boot="another")
    (tmp_path / SUPERVISOR_LOCK).write_bytes(msgspec.json.encode(last))
    snapshot = MachineReader(tmp_path, tmp_path).read()
    assert snapshot.supervisor_host == "gpu7"
    line = format_queued_run(snapshot.queue_rows[0], snapshot, None, fit_queue(snapshot, 120))
    assert line.plain.endswith(" the supervisor of gpu7")


def test_queue_rows_are_in_starting_order_with_their_wait_reason(tmp_path: Path) -> None:
    runs = fill_queue(tmp_path, "aaa111", "bbb222", "ccc333", paused=False, device="cuda:1")
    update_queue(tmp_path, lambda queue: queue.with_changes(["aaa111"], device_key=BUSY, started_at=1.0))
    with runs[0].hold_lock() as owner:
        snapshot = MachineReader(tmp_path, tmp_path).read()
    started, *others = snapshot.queue_rows
    assert (started.id, started.position, started.wait_reason, started.is_waiting) == ("aaa111", 0, "", False)
    assert snapshot.workers == {owner.pid: "aaa111"}
    assert [(row.id, row.position, row.method) for row in others] == [
        ("bbb222", 1, "gac+dan"),
        ("ccc333", 2, "clarinet"),
    ]
    assert {row.wait_reason for row in others} == {"cuda:1 has no free slot"}


def test_a_run_without_a_readable_config_keeps_its_row(tmp_path: Path) -> None:
    run = fill_queue(tmp_path, "aaa111")[0]
    run.config.write_text("no toml")
    (row,) = MachineReader(tmp_path, tmp_path).read().queue_rows
    assert (row.id, row.method, row.seed) == ("aaa111", "?", None)


def test_waiting_runs_of_a_known_kind_have_their_time(tmp_path: Path) -> None:
    write_run(tmp_path, "aaa111", epochs=4)
    fill_queue(tmp_path, "bbb222", "ccc333", device="cpu")
    ingested(tmp_path).close()
    reader = MachineReader(tmp_path, tmp_path)
    seconds = {row.method: row.seconds for row in reader.read().queue_rows}
    assert seconds == {"clarinet": pytest.approx(8.0), "gac+dan": None}
    (tmp_path / "clarinet.db").unlink()
    assert {row.seconds for row in reader.read().queue_rows} == {None}


def test_the_feed_reads_while_it_is_shown_and_posts_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0
    read = MachineReader.read

    def count_reads(reader: MachineReader) -> MachineSnapshot:
        nonlocal reads
        reads += 1
        return read(reader)

    monkeypatch.setattr(MachineReader, "read", count_reads)
    posted: list[MachineSnapshot] = []
    feed = MachineFeed(tmp_path, tmp_path, posted.append)
    feed.interval = 0.02
    feed.start()
    try:
        assert reads == 0
        feed.request("devices")
        wait_until(lambda: reads >= 5)
        assert len(posted) == 1
        feed.request("launch")
        fill_queue(tmp_path, "aaa111")
        wait_until(lambda: posted[-1].queue_rows)
        feed.request(None)
        wait_until(lambda: feed.is_idle)
        reads_when_hidden = reads
        fill_queue(tmp_path, "bbb222")
        assert reads == reads_when_hidden
        feed.request("devices")
        wait_until(lambda: len(posted[-1].queue_rows) == 2)
    finally:
        feed.stop()


def test_an_unreadable_queue_is_reported_and_read_again(tmp_path: Path) -> None:
    posted: list[MachineSnapshot] = []
    errors: list[Exception] = []
    (tmp_path / "queue.json").write_text("no queue")
    feed = MachineFeed(tmp_path, tmp_path, posted.append, lambda error, where: errors.append(error))
    feed.interval = 0.02
    feed.start()
    try:
        feed.request("devices")
        wait_until(lambda: posted)
        assert "not a queue" in posted[-1].problem
        assert errors
        (tmp_path / "queue.json").unlink()
        wait_until(lambda: not posted[-1].problem)
        assert posted[-1].devices
    finally:
        feed.stop()
