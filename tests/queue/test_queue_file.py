"""queue.json: order, stored names, concurrent changes and files that are not a queue."""

import multiprocessing
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.queue.queue_file import QUEUE_FILE, Queue, QueueEntry, read_queue, update_queue
from core.errors import InputError
from tests.support.cli import invoke
from tests.support.histories import make_run


def entry(name: str, **fields: object) -> QueueEntry:
    return QueueEntry(id=name, working_directory="/", data_dir="/data", **fields)  # type: ignore[arg-type]


def test_without_a_file_the_queue_is_empty_and_reading_creates_none(tmp_path: Path) -> None:
    assert read_queue(tmp_path / "runs") == Queue()
    assert not (tmp_path / "runs").exists()


def test_runs_start_by_priority_and_then_in_the_order_of_arrival() -> None:
    queue = Queue(
        entries=(entry("aaa"), entry("bbb", priority=2), entry("ccc"), entry("ddd", device_key="cpu", priority=9))
    )
    assert [queued.id for queued in queue.waiting] == ["bbb", "aaa", "ccc"]
    assert [queued.id for queued in queue.started] == ["ddd"]
    assert "ccc" in queue
    assert "zzz" not in queue


def test_a_changed_queue_is_read_back_equal(tmp_path: Path) -> None:
    entries = (
        entry("aaa", device="cuda:0,2", retries=3, share_device=True),
        entry("bbb", device_key="GPU-1", stop_timeout=2.5),
    )
    written = update_queue(
        tmp_path, lambda queue: queue.with_entries(entries).with_slots({"cpu": 2, "GPU-1": 3}).with_paused(True)
    )
    assert read_queue(tmp_path) == written
    assert written.paused
    assert [written.slots_for(device) for device in ("cpu", "GPU-1", "GPU-2")] == [2, 3, 1]


def test_the_queue_of_an_older_version_is_named(tmp_path: Path) -> None:
    stored = {"id": "aaa", "folder": "/", "data_dir": "/data", "shares": True, "on": "cpu", "begun": 2.0, "spoken": 3}
    (tmp_path / QUEUE_FILE).write_bytes(msgspec.json.format(msgspec.json.encode({"entries": [stored]})))
    advice = "written by Clarinet 0.2: move the file away and run `clarinet resume` for its runs"
    with pytest.raises(InputError, match=advice):
        read_queue(tmp_path)
    make_run(tmp_path, "aaa")
    listed = invoke(tmp_path, "ls")
    assert "aaa" in listed.stdout
    assert advice in listed.stderr


def test_an_edit_that_fails_changes_nothing(tmp_path: Path) -> None:
    before = update_queue(tmp_path, lambda queue: queue.with_entries([entry("aaa")]))

    def refuse(queue: Queue) -> Queue:
        raise InputError("no")

    with pytest.raises(InputError):
        update_queue(tmp_path, refuse)
    assert read_queue(tmp_path) == before


def add_many(folder: Path, name: str) -> None:
    for added in [entry(f"{name}{number:02}") for number in range(25)]:
        update_queue(folder, lambda queue, added=added: queue.with_entries([*queue.entries, added]))  # type: ignore[misc]


def test_concurrent_additions_are_all_kept(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=add_many, args=(tmp_path, name)) for name in ("aaa", "bbb", "ccc")]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    ids = [queued.id for queued in read_queue(tmp_path).entries]
    assert len(ids) == len(set(ids)) == 75
    for name in ("aaa", "bbb", "ccc"):
        assert [run_id for run_id in ids if run_id.startswith(name)] == [f"{name}{number:02}" for number in range(25)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a queue"),
        ('{"entries": [{"id": 3}]}', "not a queue"),
        ('{"version": 3}', "newer version of Clarinet"),
    ],
)
def test_a_file_that_is_not_a_queue_is_named_and_kept(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / QUEUE_FILE).write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        update_queue(tmp_path, lambda queue: queue)
    assert QUEUE_FILE in str(caught.value)
    assert (tmp_path / QUEUE_FILE).read_text() == content


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "queue.lock").symlink_to(outside)
    with pytest.raises(InputError, match="cannot be written"):
        update_queue(runs, lambda queue: queue.with_paused(True))
    assert outside.read_text() == "mine"


@pytest.mark.parametrize("option", ["on_alarm", "on_end"])
def test_a_queue_with_an_alarm_command_is_readable_by_its_owner_only(tmp_path: Path, option: str) -> None:
    def mode() -> int:
        return (tmp_path / QUEUE_FILE).stat().st_mode & 0o077

    plain, secret = entry("aaa"), entry("bbb", **{option: ("curl", "https://example.org/hook?token=1")})
    update_queue(tmp_path, lambda queue: queue.with_entries([plain]))
    before = mode()
    update_queue(tmp_path, lambda queue: queue.with_entries([plain, secret]))
    assert mode() == 0
    update_queue(tmp_path, lambda queue: queue.without(["bbb"]))
    assert mode() == before
