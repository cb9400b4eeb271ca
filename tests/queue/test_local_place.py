"""The contract of places for the queue of this machine, without a supervisor."""

from pathlib import Path

import pytest

from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue.local import LocalPlace
from clarinet_tui.queue.queue_file import update_queue
from clarinet_tui.runs.directory import RunDirectory
from tests.support.place_contract import Harness, PlaceContract


def start(run: RunDirectory) -> None:
    """Mark a run as started, as a supervisor does, with a worker."""
    update_queue(run.runs_dir, lambda queue: queue.with_changes([run.id], device_key="cpu"))


class TestLocalPlace(PlaceContract):
    @pytest.fixture
    def harness(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
        monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
        monkeypatch.setattr("clarinet_tui.queue.local.find_supervisor", lambda runs_dir: object())
        options = LaunchOptions.from_paths(tmp_path, tmp_path)
        return Harness(LocalPlace(tmp_path), options, start, refused=options, refused_device="cuda:99")
