"""The worker as a process: where it computes, how it is refused, and how it ends when nothing can be written."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Noticed
from core.training.checkpoint import PREVIOUS
from tests.support.child_processes import lived
from tests.support.workers import make_task, records, said, start, tiny_run


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_task(tmp_path_factory.mktemp("task"))


def test_a_device_given_to_the_worker_counts_and_each_sitting_is_kept(task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "moved", "clarinet", device="cuda:7")
    assert lived(run, "--device", "cpu") == 0, run.log.read_text()
    assert run.read_config().device == "cuda:7"
    before = read_environment(run)
    assert (before["device"], before.get("sittings")) == ("cpu", None)
    assert lived(run, "--device", "cpu") == 0, run.log.read_text()
    now = read_environment(run)
    assert now["pid"] != before["pid"]
    assert now["sittings"] == [{"time": before["time"], "host": before["host"], "device": "cpu", "commit": None}]
    assert [event["event"] for event in records(run) if event["event"] in ("started", "resumed")] == [
        "started",
        "resumed",
    ]


def test_wrong_input_of_a_queued_run_is_its_failure(task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "refused", device="cuda:7")
    assert lived(run, "--queued") == 2
    assert "clarinet: device: there is no cuda:7 here" in run.log.read_text()
    (failed,) = records(run)
    assert (failed["event"], failed["kind"]) == ("failed", "wrong input")
    with Database.open(tmp_path) as history:
        ingest_run(history, run)
        row = history.rows("SELECT state, error FROM runs")[0]
    assert (row["state"], row["error"]) == ("failed", failed["message"])


def test_wrong_input_is_told_before_stage_1_is_asked_for(task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "refused", batch_size=64)
    assert lived(run, "--fresh", log=Path(os.devnull)) == 2
    assert list(tmp_path.iterdir()) == []


def small_files() -> None:
    """As on a full disk: no file grows beyond this."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))


def test_a_run_asked_to_stop_on_a_full_disk_ends_with_a_sentence(task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "full", "clarinet", epochs=100_000, checkpoint_minutes=1000)
    worker = start(run, preexec_fn=small_files, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert worker.stdout is not None
    heard = ""
    for line in worker.stdout:
        heard += line
        if "kept in memory and tried again" in line:
            worker.terminate()
    assert worker.wait(timeout=60) == 1, heard
    assert "there was no room for a checkpoint" in heard
    assert "bytes of what the run said are lost; make room and resume it" in heard
    assert "Traceback" not in heard
    assert run.journal.stat().st_size == 4000
    assert said(run, "started")


def test_an_append_that_waits_for_room_ends_when_asked_to_stop(tmp_path: Path) -> None:
    def full(file: int, content: memoryview) -> int:
        raise OSError(28, os.strerror(28))

    asked: list[str] = []
    journal = JournalWriter(
        tmp_path / "journal", write=full, kept=10, interval=0.001, patient=lambda: not asked, say=asked.append
    )
    journal.append(Noticed(iteration=0, message="more than there is room for"))  # ends, because `say` was heard
    assert journal.behind > 10
    with pytest.raises(OSError, match="No space left"):
        journal.close(patience=0.0)


def test_the_checkpoint_before_the_last_is_found_under_its_name(tmp_path: Path) -> None:
    assert RunDirectory(tmp_path, "abc").checkpoint_previous.name == PREVIOUS
