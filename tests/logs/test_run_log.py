"""The log of a run, and the tail of a file that others append to, rotate or truncate."""

import math
import os
from contextlib import closing
from pathlib import Path

import pytest

from clarinet_tui.logs import run_log
from clarinet_tui.logs.run_log import MAX_CHARACTERS, FileTail, RunLog
from clarinet_tui.queue.queue_file import QueueEntry, update_queue
from clarinet_tui.queue.supervisor import SUPERVISOR_LOCK
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.lock import hold_lock
from clarinet_tui.runs.worker_log import format_timestamp
from core.events import Event, Failed, Finished, Noticed, PseudoLabelled, StageStarted, Stopped
from tests.support.events import evaluation, resumed, started, step
from tests.support.histories import make_run, write_events, write_lock

FINISHED = Finished(iteration=300, epoch=3, target_accuracy=50.0, source_accuracy=None, seconds=9.0)


def stage(index: int = 1) -> StageStarted:
    return StageStarted(stage="clarinet", index=index, iteration=0, epoch=0)


def write_event(run: RunDirectory, time: float, event: Event) -> None:
    with JournalWriter(run.journal, now=lambda: time) as journal:
        journal.append(event)


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def print_line(run: RunDirectory, time: float, text: str) -> None:
    append(run.log, f"{format_timestamp(time)} {text}\n".encode())


def last(run: RunDirectory, count: int = 100) -> list[str]:
    with RunLog(run) as log:
        return log.read_last(count)


def test_events_and_output_are_merged_by_time(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    print_line(run, 1, "Reading MNIST")
    write_event(run, 2, started(notes=["made data"]))
    write_event(run, 3, step(1))
    write_event(run, 4, evaluation(100, 40.0))
    print_line(run, 5, "UserWarning: something")
    append(run.log, b"  of a library\n\n")
    write_event(run, 6, evaluation(200, math.nan))
    write_event(run, 7, FINISHED)
    lines = last(run)
    assert lines[0] == "Reading MNIST"
    assert lines[1].startswith(f"run {run.id}: clarinet on U->M")
    assert lines[2:] == [
        "  note: made data",
        "epoch 1: target 40.00 %",
        "UserWarning: something",
        "  of a library",
        "",
        "epoch 2: target nan %",
        "finished after 9 s: target 50.00 %",
    ]
    for count in range(len(lines) + 2):
        assert last(run, count) == lines[-count:] * bool(count)


def test_equal_lines_are_all_shown(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    slow = Noticed(iteration=1, message="slow")
    write_event(run, 1, slow)
    print_line(run, 2, "slow")
    write_event(run, 3, slow)
    assert last(run) == ["slow"] * 3
    with RunLog(run) as log:
        assert log.read_last(1) == ["slow"]
        write_event(run, 4, slow)
        print_line(run, 5, "slow")
        assert list(log.read_new()) == ["slow"] * 2


def test_journal_without_output_and_output_without_journal(tmp_path: Path) -> None:
    headless, refused = make_run(tmp_path), make_run(tmp_path)
    given = PseudoLabelled(iteration=0, label_hash="f00", accuracy=81.0, given=False, labels=[1, 2])
    write_events(
        headless, [started(), stage(), given, step(1), Noticed(iteration=1, message="slow"), Stopped(iteration=1)]
    )
    assert [line.split(" ")[0] for line in last(headless)] == ["run", "stage", "pseudo-labels", "slow", "stopped"]
    append(refused.log, b"clarinet: data: missing\nno end")
    with RunLog(refused) as log:
        assert log.read_last(100) == ["clarinet: data: missing"]
        assert list(log.read_partial()) == ["no end"]
    assert last(make_run(tmp_path)) == []


def test_attempt_without_output_follows_an_older_one_with_output(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_event(run, 1, started())
    write_event(run, 2, evaluation(100))
    print_line(run, 3, "Terminated")
    write_event(run, 3600, resumed(100))
    write_event(run, 3700, evaluation(200, 60.0))
    assert last(run, 3) == ["Terminated", f"run {run.id}: resumed from iteration 100", "epoch 2: target 60.00 %"]


def test_hostile_lines_are_printable_and_bounded(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    append(run.log, b"\x1b[31mred\x1b]0;title\x07 [bold]markup[/nonsense] \xff\xfe nul\x00nul \xe2\x80\xae\r\n")
    append(run.log, b"x" * 10_000_000 + b"\n" + b"\x9b2J" + b"y" * 10_000_000)
    write_events(run, [Failed(iteration=1, message="\x1b[2J" + "z" * 10_000)])
    with RunLog(run) as log:
        lines = [*log.read_last(10), *log.read_partial()]
    assert lines[0] == "[31mred]0;title [bold]markup[/nonsense] \ufffd\ufffd nulnul"
    assert all(line.isprintable() and len(line) <= MAX_CHARACTERS for line in lines)
    assert [line[:9] for line in lines[1:]] == ["xxxxxxxxx", "failed: [", "\ufffd2Jyyyyyy"]


def test_only_accepted_lines_are_counted(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), *(evaluation(n * 100) for n in range(50)), FINISHED])
    with RunLog(run, lambda line: "epoch 1" in line) as log:
        assert log.read_last(2) == ["epoch 18: target 50.00 %", "epoch 19: target 50.00 %"]


def test_new_lines_of_both_files_by_time(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with RunLog(run) as log:
        assert log.read_last(10) == list(log.read_new()) == []
        print_line(run, 1, "Reading MNIST")
        assert list(log.read_new()) == ["Reading MNIST"]
        append(run.log, b"a warning\n")
        write_event(run, 2, stage())
        print_line(run, 3, "history: locked")
        write_event(run, 4, stage(2))
        assert list(log.read_new()) == ["a warning", "stage 1: clarinet", "history: locked", "stage 2: clarinet"]
        assert list(log.read_new()) == []


def test_output_without_times_keeps_its_order_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_log, "MAX_UNTIMED", 3)
    run = make_run(tmp_path)
    print_line(run, 1, "first")
    append(run.log, b"".join(b"%d\n" % number for number in range(8)))
    assert last(run) == ["first", *map(str, range(8))]
    assert last(run, 4) == ["4", "5", "6", "7"]
    monkeypatch.setattr(run_log, "MAX_MEMORY", 5 * (1 + run_log.LINE_OVERHEAD))
    assert last(run) == ["3", "4", "5", "6", "7"]


def test_damage_and_unknown_events_are_skipped(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    append(run.journal, b'{"event":"notice","message":"no iteration"}\n{"event":"comet"}\n{"event":3}\n{torn\n[1,2]\n')
    append(run.journal, b'{"event":"started","method":3}\n' + b"\xff" * 10 + b"\n")
    assert last(run) == ["no iteration"]


def test_is_over(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    def is_over() -> bool:
        with RunLog(run) as log:
            log.read_last(0)
            return log.is_over()

    assert not is_over()
    write_lock(run, released=1.0)
    assert not is_over(), "it was refused, and is queued"
    write_lock(run, start=-1.0)
    assert is_over(), "lost before its first event"
    with run.hold_lock():
        assert not is_over()
        write_events(run, [started()])
        assert not is_over()
    write_lock(run, host="elsewhere", boot="another")
    assert not is_over()
    write_events(run, [FINISHED])
    assert is_over()
    with run.hold_lock():
        assert not is_over(), "its worker is alive"
    assert is_over()


def test_queued_run_is_not_over(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), Stopped(iteration=1)])
    write_lock(run, released=1.0)
    entry = QueueEntry(id=run.id, working_directory=".", data_dir="data")
    with RunLog(run) as log:
        log.read_last(0)
        assert log.is_over()
        update_queue(tmp_path, lambda queue: queue.with_entries([entry]))
        assert not log.is_over()
        update_queue(tmp_path, lambda queue: queue.with_changes([run.id], device_key="cpu"))
        assert log.is_over(), "no supervisor will start it again"
        with hold_lock(tmp_path / SUPERVISOR_LOCK, "the supervisor"):
            assert not log.is_over()
        (tmp_path / "queue.json").write_text("garbage")
        assert log.is_over()
        write_lock(run, host="elsewhere", boot="another")
        run.journal.write_bytes(b"")
    with RunLog(run) as log:
        assert not log.is_over()
        run.config.unlink()
        assert log.is_over(), "it was removed"


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 16])
def test_read_backwards_with_any_chunk_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(run_log, "CHUNK", chunk)
    path = tmp_path / "log"
    path.write_bytes(b"first\n\nthird line\nlast\nto")
    with closing(FileTail(path, 100)) as file:
        assert list(file.read_backwards()) == [b"last", b"third line", b"", b"first"]
        append(path, b"rn\nmore\n")
        assert list(file.read_new()) == [b"torn", b"more"]
        assert list(file.read_new()) == list(file.read_partial()) == []


@pytest.mark.parametrize("chunk", [5, 64, 1 << 16])
def test_long_line_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(run_log, "CHUNK", chunk)
    path = tmp_path / "log"
    path.write_bytes(b"before\n" + b"a" * 10 + b"b" * 1000 + b"\nafter\n" + b"c" * 10 + b"d" * 500)
    with closing(FileTail(path, 10)) as file:
        assert list(file.read_backwards()) == [b"after", b"a" * 10, b"before"]
        append(path, b"d" * 500 + b"\n" + b"e" * 10 + b"f" * 90)
        assert list(file.read_new()) == [b"c" * 10]
        assert list(file.read_partial()) == [b"e" * 10]


def test_a_file_that_appears_is_rotated_and_truncated(tmp_path: Path) -> None:
    path, old = tmp_path / "log", tmp_path / "log.1"
    with closing(FileTail(path, 100)) as file:
        assert list(file.read_backwards()) == list(file.read_new()) == []
        append(path, b"here\n")
        assert list(file.read_new()) == [b"here"]
        path.rename(old)
        append(old, b"still written\n")
        assert list(file.read_new()) == [b"still written"], "the file is read to its end before the new one"
        append(old, b"torn")
        path.write_bytes(b"new\nand more\nto")
        assert list(file.read_new()) == [b"torn", b"new", b"and more"]
        path.write_bytes(b"cut\n")
        assert list(file.read_new()) == [b"cut"]
    with closing(FileTail(path, 100)) as file:
        file.read_backwards()
        assert list(file.read_new()) == []


def test_pipes_links_and_directories_count_as_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "secret").write_bytes(b"secret\n")
    (tmp_path / "link").symlink_to("secret")
    for name in ("pipe", "link", "."):
        with closing(FileTail(tmp_path / name, 100)) as file:
            assert list(file.read_backwards()) == list(file.read_new()) == []
