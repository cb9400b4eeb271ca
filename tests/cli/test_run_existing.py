"""`clarinet run` with an existing run: on another machine, on GPUs, and from the queue."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from clarinet_tui.cli import launch as commands
from clarinet_tui.devices.device import Device, DeviceProcess
from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue.queue_file import read_queue
from core.errors import InputError
from core.events import Finished, Stopped
from tests.support.cli import invoke
from tests.support.events import started
from tests.support.histories import make_run, write_events

ARGUMENTS = ["run", "--headless", "--preset", "smoke", "--task", "Y->D", "--run-id", "job17"]
BUSY = Device(key="GPU-a", label="cuda:0", name="A100", processes=(DeviceProcess(pid=1, owner="ann"),))
FREE = Device(key="GPU-b", label="cuda:1", name="A100")
CPU = Device(key="cpu", label="cpu", name="AMD")


class ProcessReplacedError(Exception):
    """Raised instead of replacing the process."""


@pytest.fixture(autouse=True)
def replacements(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """The arguments and environments of the processes that replaced this one."""
    calls: list[tuple[list[str], dict[str, str]]] = []

    def execve(program: str, arguments: list[str], environment: dict[str, str]) -> NoReturn:
        calls.append((arguments, environment))
        raise ProcessReplacedError

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
    return calls


def test_requeued_job_resumes_with_fewer_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(4)))
    assert isinstance(invoke(tmp_path, *ARGUMENTS).exception, ProcessReplacedError)
    assert "threads = 4" in (tmp_path / "job17" / "config.toml").read_text()
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(2)))
    assert isinstance(invoke(tmp_path, *ARGUMENTS).exception, ProcessReplacedError)
    assert "other settings" in str(invoke(tmp_path, *ARGUMENTS, "--set", "threads=3").exception)
    assert "other settings" in str(invoke(tmp_path, *ARGUMENTS, "--seed", "3").exception)


def test_resumed_run_sees_only_a_free_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replacements: list[tuple[list[str], dict[str, str]]]
) -> None:
    monkeypatch.setattr("clarinet_tui.cli.launch.list_devices", lambda **_: [BUSY, FREE, CPU])
    run = make_run(tmp_path, device="cuda:0,1")
    write_events(run, [started(), Stopped(iteration=1)])
    invoke(tmp_path, "run", "--headless", "--resume", run.id)
    arguments, environment = replacements[-1]
    assert arguments[-4:] == ["--device", "cuda:0", "--gpu=GPU-b", "--share-gpu"]
    assert environment["CUDA_VISIBLE_DEVICES"] == "GPU-b"


def test_existing_run_is_queued_unless_finished(tmp_path: Path) -> None:
    options = LaunchOptions.from_paths(tmp_path / "data", tmp_path)
    run = make_run(tmp_path)
    write_events(run, [started(), Stopped(iteration=1)])
    with pytest.raises(ProcessReplacedError):
        commands.continue_run(run, options, headless=False, form=None)
    assert run.id in read_queue(tmp_path)
    finished = make_run(tmp_path)
    write_events(finished, [started(), Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None)])
    with pytest.raises(InputError, match="has finished"):
        commands.continue_run(finished, options, headless=False, form=None)
