"""The worker process: its device, wrong input, its log, and a full disk."""

import os
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import msgspec
import pytest
import torch

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.logs.run_log import RunLog, describe_fields
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.worker_command import hook_environment
from clarinet_tui.runs.worker_log import split_timestamp
from core.resolve import resolve
from tests.support.cli import unmeasured_environment
from tests.support.forked_python import run_worker, start_worker
from tests.support.workers import events_named, make_task, read_events, start_worker_process, tiny_run


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_task(tmp_path_factory.mktemp("task"))


def test_device_argument_overrides_the_setting_and_attempts_are_recorded(task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "moved", "clarinet", device="cuda:7")
    assert run_worker(run, "--device", "cpu") == 0, run.log.read_text()
    assert run.read_config().device == "cuda:7"
    first = read_environment(run)
    assert (first["device"], first.get("earlier_attempts")) == ("cpu", None)
    assert run_worker(run, "--device", "cpu") == 0, run.log.read_text()
    second = read_environment(run)
    assert second["pid"] != first["pid"]
    earlier = {"time": first["time"], "host": first["host"], "device": "cpu", "hardware": first["hardware"]}
    assert second["earlier_attempts"] == [{**earlier, "commit": None}]
    hardware = first["hardware"]
    assert (hardware.get("cuda"), hardware["threads"]) == (torch.version.cuda, 1)
    assert hardware.keys() - {"cuda"} == {"torch", "cpu", "name", "cores", "threads"}
    assert hardware["name"] == hardware["cpu"] != ""
    assert (len(events_named(run, "started")), len(events_named(run, "resumed"))) == (1, 1)


def test_wrong_input_of_a_queued_run_is_a_failure(task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "refused", device="cuda:7")
    assert run_worker(run, "--queued") == 2
    assert "clarinet: device: cuda:7 does not exist" in run.log.read_text()
    (failed,) = read_events(run)
    assert (failed["event"], failed["kind"]) == ("failed", "wrong input")
    with Database.open(tmp_path) as history:
        ingest_run(history, run)
        row = history.rows("SELECT state, error FROM runs")[0]
    assert (row["state"], row["error"]) == ("failed", failed["message"])


def test_log_of_a_queued_worker_has_no_events_but_the_output_of_the_command_for_the_end(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os; print('END', os.environ['CLARINET_STATE'], os.environ['CLARINET_RUN'])"
    for name, value in hook_environment((), (sys.executable, "-c", code)).items():
        monkeypatch.setenv(name, value)
    run = tiny_run(tmp_path, task, "quiet", "clarinet")
    assert run_worker(run, "--queued") == 0, run.log.read_text()
    with RunLog(run) as log:
        *lines, end = log.read_last(100)
    assert end == "END finished quiet"
    assert any(line.startswith("finished after ") for line in lines)
    events = [text for event in read_events(run) for text in describe_fields(event, run.id)]
    assert len(events) > 5
    assert not {split_timestamp(line)[1].decode() for line in run.log.read_bytes().splitlines()} & set(events)
    assert len(lines) + 1 == len(events) + len(run.log.read_text().splitlines())


def test_wrong_input_is_refused_before_stage_1_is_shared(task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "refused", batch_size=64)
    assert run_worker(run, "--fresh", log=Path(os.devnull)) == 2
    assert list(tmp_path.iterdir()) == []


def test_time_limit_saves_and_stops_the_run(task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "late", "clarinet", epochs=100_000, checkpoint_minutes=1000)
    assert run_worker(run, "--time-limit=0.2") == 128 + signal.SIGTERM
    assert [event["event"] for event in read_events(run) if event["event"] != "sample"][-2:] == ["notice", "stopped"]
    assert "the time limit is reached" in run.log.read_text()
    assert run.has_checkpoint


def test_small_data_gets_a_notice_and_a_smaller_batch(tmp_path: Path) -> None:
    task = make_task(tmp_path, size=240)
    config = resolve(preset="quick", task=task, threads=1, device="cpu", epochs=1, warmup_epochs=0)
    assert (config.batch_size, config.stage1.batch_size) == (16, 16)
    assert resolve(preset="quick", task=task, batch_size=128).batch_size == 128
    run = RunDirectory.create(tmp_path / "runs", config, id="small")
    assert run_worker(run) == 0, run.log.read_text()
    assert "batch_size is 16 instead of the preset's 128: the data has only 240 images" in run.log.read_text()
    short = RunDirectory.create(tmp_path / "runs", msgspec.structs.replace(config, batch_size=128), id="short")
    assert run_worker(short) == 0, short.log.read_text()
    assert events_named(short, "started")[0]["iterations_total"] == 1
    assert "only 1 iterations for 240 images: lower batch_size or raise epochs" in short.log.read_text()


def limit_file_size(size: int = 4000) -> None:
    """Limit the size of files, as a full disk does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_run_whose_weights_cannot_be_saved_does_not_finish(task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "full", "clarinet")
    assert start_worker(run, prepare=partial(limit_file_size, 100_000)).wait() == 1
    last = read_events(run)[-1]
    assert (last["event"], last["kind"], run.has_checkpoint) == ("failed", "disk full", False)
    assert "weights could not be saved: free some space and resume the run" in run.log.read_text()
    assert run_worker(run) == 0
    assert read_events(run)[-1]["event"] == "finished"


def test_stop_on_a_full_disk_ends_with_a_message(task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "full", "clarinet", epochs=100_000, checkpoint_minutes=1000)
    environment = {**unmeasured_environment(), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    worker = start_worker_process(
        run, preexec_fn=limit_file_size, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )
    assert worker.stdout is not None
    output = ""
    for line in worker.stdout:
        output += line
        if "kept in memory and written later" in line:
            worker.terminate()
    assert worker.wait(timeout=60) == 1, output
    assert "no disk space for a checkpoint" in output
    assert "bytes of events are lost; free some space and resume the run" in output
    assert "Traceback" not in output
    assert run.journal.stat().st_size == 4000
    assert events_named(run, "started")
