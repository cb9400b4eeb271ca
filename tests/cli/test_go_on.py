"""`clarinet run` with a run that is there: on another machine, on GPUs, and from the queue."""

from pathlib import Path
from typing import NoReturn

import pytest

from clarinet_tui.cli import run as commands
from clarinet_tui.devices.device import Device, DeviceProcess
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.queue.requests import Wishes
from core.errors import InputError
from core.events import Finished, Stopped
from tests.support.cli import invoke
from tests.support.events import started
from tests.support.histories import make_run, say

WORDS = ["run", "--headless", "--preset", "smoke", "--task", "Y->D", "--run-id", "job17"]
BUSY = Device(key="GPU-a", label="cuda:0", name="A100", processes=(DeviceProcess(pid=1, owner="ann"),))
FREE = Device(key="GPU-b", label="cuda:1", name="A100")
CPU = Device(key="cpu", label="cpu", name="AMD")


class BecameError(Exception):
    """The process would be another one now."""


@pytest.fixture(autouse=True)
def became(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """With which words and which environment."""
    told: list[tuple[list[str], dict[str, str]]] = []

    def become(words: list[str], environment: dict[str, str] | None = None) -> NoReturn:
        told.append((words, environment or {}))
        raise BecameError

    monkeypatch.setattr(commands, "become", become)
    monkeypatch.setattr(requests, "ensure_supervisor", lambda runs_dir: None)
    return told


def test_a_requeued_job_goes_on_where_there_are_fewer_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert isinstance(invoke(tmp_path, *WORDS).exception, BecameError)
    assert "threads = 4" in (tmp_path / "job17" / "config.toml").read_text()
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert isinstance(invoke(tmp_path, *WORDS).exception, BecameError)
    assert "other settings" in str(invoke(tmp_path, *WORDS, "--set", "threads=3").exception)
    assert "other settings" in str(invoke(tmp_path, *WORDS, "--seed", "3").exception)


def test_a_resumed_run_sees_only_a_gpu_that_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, became: list[tuple[list[str], dict[str, str]]]
) -> None:
    monkeypatch.setattr("clarinet_tui.devices.local.list_devices", lambda **_: [BUSY, FREE, CPU])
    run = make_run(tmp_path, device="cuda:0,1")
    say(run, [started(), Stopped(iteration=1)])
    invoke(tmp_path, "run", "--headless", "--resume", run.id)
    words, environment = became[-1]
    assert words[-2:] == ["--device", "cuda:0"]
    assert environment["CUDA_VISIBLE_DEVICES"] == "GPU-b"


def test_a_known_run_is_put_back_into_the_queue_unless_it_is_finished(tmp_path: Path) -> None:
    wishes = Wishes(tmp_path / "data", tmp_path)
    run = make_run(tmp_path)
    say(run, [started(), Stopped(iteration=1)])
    with pytest.raises(BecameError):
        commands.go_on(run, wishes, headless=False, json=False)
    assert run.id in read_queue(tmp_path)
    over = make_run(tmp_path)
    say(over, [started(), Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None)])
    with pytest.raises(InputError, match="is finished"):
        commands.go_on(over, wishes, headless=False, json=False)
