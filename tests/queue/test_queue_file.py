"""queue.json: order, changes by several processes at once, and files that are no queue."""

import multiprocessing
from pathlib import Path

import pytest

from clarinet_tui.queue.queue_file import NAME, Entry, Queue, change_queue, read_queue
from core.errors import InputError


def entry(name: str, **fields: object) -> Entry:
    return Entry(id=name, folder="/", data_dir="/data", **fields)  # type: ignore[arg-type]


def test_without_a_file_the_queue_is_empty_and_looking_makes_none(tmp_path: Path) -> None:
    assert read_queue(tmp_path / "runs") == Queue()
    assert not (tmp_path / "runs").exists()


def test_higher_priority_first_then_in_the_order_of_coming() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb", priority=2), entry("ccc"), entry("ddd", on="cpu", priority=9)))
    assert [one.id for one in queue.waiting] == ["bbb", "aaa", "ccc"]
    assert [one.id for one in queue.started] == ["ddd"]
    assert "ccc" in queue
    assert "zzz" not in queue


def test_what_was_changed_is_read_back_whole(tmp_path: Path) -> None:
    entries = (entry("aaa", device="cuda:0,2", retries=3, shares=True), entry("bbb", on="GPU-1", stop_within=2.5))
    written = change_queue(
        tmp_path, lambda queue: queue.with_entries(entries).with_slots({"cpu": 2, "GPU-1": 3}).paused_as(True)
    )
    assert read_queue(tmp_path) == written
    assert written.paused
    assert [written.slots_of(device) for device in ("cpu", "GPU-1", "GPU-2")] == [2, 3, 1]


def test_an_edit_that_fails_changes_nothing(tmp_path: Path) -> None:
    before = change_queue(tmp_path, lambda queue: queue.with_entries([entry("aaa")]))

    def refuse(queue: Queue) -> Queue:
        raise InputError("no")

    with pytest.raises(InputError):
        change_queue(tmp_path, refuse)
    assert read_queue(tmp_path) == before


def add_many(folder: Path, name: str) -> None:
    for one in [entry(f"{name}{number:02}") for number in range(25)]:
        change_queue(folder, lambda queue, one=one: queue.with_entries([*queue.entries, one]))  # type: ignore[misc]


def test_several_processes_add_at_once_and_none_is_lost(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=add_many, args=(tmp_path, name)) for name in ("aaa", "bbb", "ccc")]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    ids = [one.id for one in read_queue(tmp_path).entries]
    assert len(ids) == len(set(ids)) == 75
    for name in ("aaa", "bbb", "ccc"):
        assert [one for one in ids if one.startswith(name)] == [f"{name}{number:02}" for number in range(25)]


@pytest.mark.parametrize(
    ("content", "words"),
    [("{", "not a queue"), ('{"entries": [{"id": 3}]}', "not a queue"), ('{"version": 2}', "newer Clarinet")],
)
def test_a_file_that_is_no_queue_is_named_and_left_alone(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / NAME).write_text(content)
    with pytest.raises(InputError, match=words) as caught:
        change_queue(tmp_path, lambda queue: queue)
    assert NAME in str(caught.value)
    assert (tmp_path / NAME).read_text() == content


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "queue.lock").symlink_to(outside)
    with pytest.raises(InputError, match="cannot be written"):
        change_queue(runs, lambda queue: queue.paused_as(True))
    assert outside.read_text() == "mine"


def test_a_command_for_alarms_is_for_its_owner_only(tmp_path: Path) -> None:
    def mode() -> int:
        return (tmp_path / NAME).stat().st_mode & 0o077

    plain = Entry(id="aaa", folder="/", data_dir="/")
    secret = Entry(id="bbb", folder="/", data_dir="/", on_alarm=("curl", "https://example.org/hook?token=1"))
    change_queue(tmp_path, lambda queue: queue.with_entries([plain]))
    before = mode()
    change_queue(tmp_path, lambda queue: queue.with_entries([plain, secret]))
    assert mode() == 0
    change_queue(tmp_path, lambda queue: queue.without(["bbb"]))
    assert mode() == before
