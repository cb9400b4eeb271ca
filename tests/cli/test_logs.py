"""`clarinet logs` alone, following and in pipes."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Event, Finished
from tests.support.cli import CLARINET, cli_environment, invoke, pipe_to_head, run_clarinet
from tests.support.events import evaluation, started, step
from tests.support.forked_python import held_in_process
from tests.support.histories import make_run, write_events

FINISHED = Finished(iteration=300, epoch=3, target_accuracy=50.0, source_accuracy=None, seconds=9.0)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    (tmp_path / "runs").mkdir()
    return make_run(tmp_path / "runs")


@contextmanager
def following(run: RunDirectory, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command, pipe = [*CLARINET, "logs", run.id, "-f", *arguments], subprocess.PIPE
    folder, environment = run.runs_dir.parent, cli_environment()
    process = subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_last_lines_with_a_text(run: RunDirectory) -> None:
    write_events(run, [started(), *(evaluation(n * 100) for n in range(30)), FINISHED])
    done = invoke(run.runs_dir, "logs", run.id[:8], "-n", "2", "--grep", "EPOCH")
    assert done.stdout.splitlines() == ["epoch 28: target 50.00 %", "epoch 29: target 50.00 %"]
    assert (done.exit_code, done.stderr) == (0, "")
    run.log.write_bytes(b"torn")
    assert invoke(run.runs_dir, "logs", run.id, "-n", "1").stdout == "torn\n"


def test_queued_run_and_unknown_run(tmp_path: Path, run: RunDirectory) -> None:
    waiting = invoke(run.runs_dir, "logs", run.id)
    assert (waiting.exit_code, waiting.stdout) == (0, "")
    assert "has not started" in waiting.stderr
    assert run_clarinet(tmp_path, "logs", "zzz").returncode == 2


def test_follow_waits_survives_rotation_and_ends_with_the_run(run: RunDirectory) -> None:
    with following(run) as process, run.hold_lock(), JournalWriter(run.journal) as journal:

        def record(*events: Event) -> None:
            for event in events:
                journal.append(event)
            journal.sync()

        record(started(), step(1))
        images = "100 source, 100 target and 50 test images"
        assert line(process) == f"run {run.id}: clarinet on U->M, seed 1, cpu, {images}"
        run.log.write_text("a warning\n")
        assert line(process) == "a warning"
        run.log.rename(run.log.with_suffix(".1"))
        run.log.write_text("\x1b[31manother\n")
        assert line(process) == "[31manother"
        record(FINISHED)
        assert line(process) == "finished after 9 s: target 50.00 %"
        assert process.poll() is None
        with run.log.open("a") as log:
            log.write("torn")
        journal.close()
        run.lock.unlink()
        assert process.communicate(timeout=60) == ("torn\n", "")
        assert process.returncode == 0


def test_follow_ends_when_the_run_is_lost(run: RunDirectory) -> None:
    write_events(run, [started(), evaluation(100)])
    with held_in_process(RunDirectory.hold_lock, run) as worker, following(run, "-n", "1") as process:
        assert line(process) == "epoch 1: target 50.00 %"
        worker.kill()
        rest, errors = process.communicate(timeout=60)
    assert rest == ""
    assert f"run {run.id} ended without a final event" in errors
    assert process.returncode == 0


def test_ctrl_c_exits_silently(run: RunDirectory) -> None:
    write_events(run, [started(), evaluation(100)])
    with following(run, "-n", "1") as process:
        assert line(process) == "epoch 1: target 50.00 %"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "")
        assert process.returncode == 0


def test_closed_pipe_is_no_error(tmp_path: Path, run: RunDirectory) -> None:
    run.log.write_bytes(b"0123456789" * 10 * 10 + b"\n" * 20_000 + b"line\n" * 20_000)
    piped = pipe_to_head(tmp_path, "logs", run.id, "-n", "40000")
    assert (piped.stdout.splitlines()[1:], piped.stderr) == (["0"], "")
