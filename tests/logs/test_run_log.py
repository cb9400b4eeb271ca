"""Journal and log as one stream: each sentence once, in order, harmless and bounded."""

import math
import os
import time
from pathlib import Path

import pytest

from clarinet_tui.logs import run_log as story
from clarinet_tui.logs.run_log import MAX_CHARACTERS, RunLog
from clarinet_tui.queue.queue_file import Entry, change_queue
from clarinet_tui.queue.supervisor_process import SUPERVISOR_LOCK
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import hold_lock
from clarinet_tui.worker.display import PlainLines
from core.events import Event, Failed, Finished, Noticed, PseudoLabelled, StageStarted, Stopped
from tests.support.events import evaluation, resumed, started, step
from tests.support.histories import make_run, say, write_lock

FINISHED = Finished(iteration=300, epoch=3, target_accuracy=50.0, source_accuracy=None, seconds=9.0)


def stage(index: int = 1) -> StageStarted:
    return StageStarted(stage="clarinet", index=index, iteration=0, epoch=0)


def print_as_worker(run: RunDirectory, events: list[Event]) -> None:
    with run.log.open("a") as out:
        display = PlainLines(out, run.id, every=0.0)
        for event in events:
            display.show(event)


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def last(run: RunDirectory, count: int = 100) -> list[str]:
    with RunLog(run) as told:
        return told.read_last(count)


def test_what_is_in_both_files_is_told_once_and_the_rest_in_its_place(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    append(run.log, b"Making synth\n")
    events: list[Event] = [started(notes=["made data"]), stage(), step(1), step(100), evaluation(100, 40.0)]
    print_as_worker(run, events)
    append(run.log, b"UserWarning: something\n")
    print_as_worker(run, [evaluation(200, math.nan), FINISHED])
    say(run, [*events, evaluation(200, math.nan), FINISHED])
    assert last(run) == run.log.read_text().splitlines()
    assert last(run)[-1] == "finished after 9 s: target 50.00 %"
    assert last(run, 4)[0] == "epoch 1: target 40.00 %"
    assert last(run, 0) == []


def test_without_a_log_the_journal_alone_and_without_a_journal_the_log_alone(tmp_path: Path) -> None:
    headless, refused = make_run(tmp_path), make_run(tmp_path)
    given = PseudoLabelled(iteration=0, label_hash="f00", accuracy=81.0, given=False, labels=[1, 2])
    say(headless, [started(), stage(), given, step(1), Noticed(iteration=1, message="slow"), Stopped(iteration=1)])
    assert [line.split(" ")[0] for line in last(headless)] == ["run", "stage", "pseudo-labels", "slow", "stopped"]
    append(refused.log, b"clarinet: data: missing\nno end")
    with RunLog(refused) as told:
        assert told.read_last(100) == ["clarinet: data: missing"]
        assert list(told.read_partial()) == ["no end"]
    assert last(make_run(tmp_path)) == []


def test_a_sitting_without_a_log_comes_after_an_older_one_with_a_log(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    first: list[Event] = [started(), evaluation(100)]
    print_as_worker(run, first)
    append(run.log, b"Terminated\n")
    say(run, first)
    os.utime(run.log, (time.time(), time.time() - 3600))
    say(run, [resumed(100), evaluation(200, 60.0)])
    assert last(run, 3) == ["Terminated", f"run {run.id}: resumed from iteration 100", "epoch 2: target 60.00 %"]


def test_hostile_lines_are_harmless_text_of_bounded_length(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    append(run.log, b"\x1b[31mred\x1b]0;title\x07 [bold]markup[/nonsense] \xff\xfe nul\x00nul \xe2\x80\xae\r\n")
    append(run.log, b"x" * 10_000_000 + b"\n" + b"\x9b2J" + b"y" * 10_000_000)
    say(run, [Failed(iteration=1, message="\x1b[2J" + "z" * 10_000)])
    with RunLog(run) as told:
        lines = [*told.read_last(10), *told.read_partial()]
    assert lines[0] == "[31mred]0;title [bold]markup[/nonsense] \ufffd\ufffd nulnul"
    assert all(line.isprintable() and len(line) <= MAX_CHARACTERS for line in lines)
    assert [line[:9] for line in lines[1:]] == ["xxxxxxxxx", "failed: [", "\ufffd2Jyyyyyy"]


def test_memory_is_bounded_whatever_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "MOST_BYTES", 5 * (10 + story.A_LINE))
    run = make_run(tmp_path)
    append(run.log, b"0123456789\n" * 100)
    assert last(run) == ["0123456789"] * 5


def test_only_what_is_wanted_is_counted(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    say(run, [started(), *(evaluation(n * 100) for n in range(50)), FINISHED])
    with RunLog(run, lambda line: "epoch 1" in line) as told:
        assert told.read_last(2) == ["epoch 18: target 50.00 %", "epoch 19: target 50.00 %"]


def test_new_lines_once_whichever_file_has_them_first(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with RunLog(run) as told:
        assert told.read_last(10) == list(told.read_new()) == []
        print_as_worker(run, [stage()])
        assert list(told.read_new()) == ["stage 1: clarinet"]
        say(run, [stage(), stage(2)])
        assert list(told.read_new()) == ["stage 2: clarinet"]
        print_as_worker(run, [stage(2), step(1), stage(2)])
        assert list(told.read_new()) == ["iteration 1 of ?, epoch 0: complementary loss 0.250", "stage 2: clarinet"]
        say(run, [step(1), stage(2)])
        assert list(told.read_new()) == []


def test_what_was_behind_at_first_is_not_told_again(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    print_as_worker(run, [stage(), stage(2)])
    say(run, [stage()])
    with RunLog(run) as told:
        assert told.read_last(10) == ["stage 1: clarinet", "stage 2: clarinet"]
        say(run, [stage(2)])
        assert list(told.read_new()) == []


def test_damage_and_events_of_a_newer_version_do_not_hurt(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    append(run.journal, b'{"event":"notice","message":"no iteration"}\n{"event":"comet"}\n{"event":3}\n{torn\n[1,2]\n')
    append(run.journal, b'{"event":"started","method":3}\n' + b"\xff" * 10 + b"\n")
    assert last(run) == ["no iteration"]


def test_when_a_run_is_over(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    def over() -> bool:
        with RunLog(run) as told:
            told.read_last(0)
            return told.is_over()

    assert not over()
    write_lock(run, released=1.0)
    assert not over(), "it was refused, and waits"
    write_lock(run, start=-1.0)
    assert over(), "lost before its first word"
    write_lock(run)
    assert not over()
    say(run, [started()])
    assert not over()
    write_lock(run, host="elsewhere")
    assert not over()
    say(run, [FINISHED])
    assert over()
    write_lock(run)
    assert not over(), "its worker still lives"
    write_lock(run, released=1.0)
    assert over()


def test_a_run_that_is_to_begin_again_is_not_over(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    say(run, [started(), Stopped(iteration=1)])
    write_lock(run, released=1.0)
    entry = Entry(id=run.id, folder=".", data_dir="data")
    with RunLog(run) as told:
        told.read_last(0)
        assert told.is_over()
        change_queue(tmp_path, lambda queue: queue.with_entries([entry]))
        assert not told.is_over()
        change_queue(tmp_path, lambda queue: queue.change([run.id], on="cpu"))
        assert told.is_over(), "nobody is there to begin it again"
        with hold_lock(tmp_path / SUPERVISOR_LOCK, "the supervisor"):
            assert not told.is_over()
        (tmp_path / "queue.json").write_text("garbage")
        assert told.is_over()


def test_a_run_that_was_removed_is_over(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with RunLog(run) as told:
        run.config.unlink()
        assert told.is_over()
