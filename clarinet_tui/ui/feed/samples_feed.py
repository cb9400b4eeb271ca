"""A thread that reads samples of the launch form's first task, in a process; it lives while there is one to read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from clarinet_tui.ui.feed.app_process import AppProcess
from clarinet_tui.ui.snapshot.snapshot import TaskSamples
from core.config import RunConfig
from core.methods import data_seed

DELAY = 0.3
"""Seconds without a change of the form before a process starts."""
DATA_SETTINGS = ("task", "image_size", "fit", "usps_split", "ybars_per_sample", "true_fraction", "threads")
"""With the seed, these decide the images and their labels."""


class SamplesFeed:
    """Calls `post` from its own thread; a newer request ends an older one's process."""

    def __init__(self, data_dir: Path, post: Callable[[TaskSamples], object]) -> None:
        self._data_dir, self._post = data_dir, post
        self._lock, self._is_stopped = threading.Lock(), threading.Event()
        self._wanted: RunConfig | None = None
        self._read: RunConfig | None = None
        """What was read last."""
        self._thread: threading.Thread | None = None
        self._process = AppProcess()

    def request(self, config: RunConfig | None) -> None:
        """Read samples for a run with this configuration, unless they were the last ones; None forgets those."""
        wanted = _data_config(config) if config else None
        with self._lock:
            if wanted == self._wanted:
                return
            self._wanted = wanted
            self._read = self._read if wanted else None
            if self._thread is None and wanted and not self._is_stopped.is_set():
                self._thread = threading.Thread(target=self._run, name="samples", daemon=True)
                self._thread.start()
        self._process.kill()

    def stop(self) -> None:
        self._is_stopped.set()
        self._process.stop()
        if thread := self._thread:
            thread.join(timeout=1.0)

    def _run(self) -> None:
        while config := self._next():
            if self._is_stopped.wait(DELAY):
                return
            if config == self._wanted:
                self._post(TaskSamples(config.task, is_reading=True))
                samples = self._read_samples(config)
                self._read = config
                if config == self._wanted:
                    self._post(samples)

    def _next(self) -> RunConfig | None:
        with self._lock:
            if self._wanted is None or self._wanted == self._read:
                self._thread = None
                return None
            return self._wanted

    def _read_samples(self, config: RunConfig) -> TaskSamples:
        error, pictures = "", TaskSamples(config.task).pictures
        try:
            for report in self._process.reports(
                ["samples", f"--data-dir={self._data_dir}"], msgspec.json.encode(config)
            ):
                error, pictures = report.error or error, report.pictures or pictures
        except OSError as problem:
            error = str(problem)
        return TaskSamples(config.task, pictures, error)


def _data_config(config: RunConfig) -> RunConfig:
    """Return a configuration with the same data, and nothing else of this one."""
    same = {name: getattr(config, name) for name in DATA_SETTINGS}
    return msgspec.structs.replace(RunConfig(), **same, seed=data_seed(config))
