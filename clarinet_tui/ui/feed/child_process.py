"""Child processes of the app, for work that needs torch, much memory or time: inspections and samples of data."""

import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from clarinet_tui.runs.inspection_file import INSPECTION_PROCESS, InspectionReport
from clarinet_tui.ui.feed.poller import Poller, Request, Result
from clarinet_tui.ui.snapshot.snapshot import InspectionProgress, TaskSamples
from core.config import RunConfig
from core.errors import describe_error
from core.methods import data_seed

MAX_LINE = 16 << 20
MAX_ERROR = 4000
"""Bytes of the process's last output that an unexpected end is explained with."""
DATA_SETTINGS = ("task", "image_size", "fit", "usps_split", "ybars_per_sample", "true_fraction", "threads")
"""With the seed, these decide the images and their labels."""


class ProcessFeed(Poller[Request, Result]):
    """Runs one process at a time; `stop` kills it, from any thread, and forbids others."""

    def __init__(self, name: str, post: Callable[[Result], object]) -> None:
        super().__init__(name, post)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def reports(self, arguments: Sequence[str], content: bytes = b"") -> Iterator[InspectionReport]:
        """Yield what a process reports; an unexpected end is an error, a killed process just ends."""
        command = [sys.executable, "-P", "-m", INSPECTION_PROCESS, *arguments]
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
            given.write(content)
            given.seek(0)
            with self._lock:
                if self._stopped.is_set():
                    return
                process = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=errors)
                self._process = process
            assert process.stdout is not None
            with process:
                has_error = False
                while line := process.stdout.readline(MAX_LINE):
                    try:
                        report = msgspec.json.decode(line, type=InspectionReport)
                    except (msgspec.DecodeError, UnicodeDecodeError):  # a line that a plug-in has printed
                        continue
                    has_error |= bool(report.error)
                    yield report
            with self._lock:
                was_killed, self._process = self._process is None, None
            if process.returncode and not has_error and not was_killed:
                errors.seek(0, 2)
                errors.seek(max(0, errors.tell() - MAX_ERROR))
                lines = errors.read().decode(errors="replace").strip().splitlines()
                yield InspectionReport(error=lines[-1] if lines else f"it ended with exit code {process.returncode}")

    def kill(self) -> None:
        """End the process; others may follow."""
        with self._lock:
            process, self._process = self._process, None
        if process:
            process.kill()

    def stop(self) -> None:
        self._stopped.set()
        self.kill()
        super().stop()


class InspectionFeed(ProcessFeed[str, InspectionProgress]):
    """Inspects runs, one after the other, in a process each; `post` is called by its own thread and by `add`."""

    def __init__(self, runs_dir: Path, data_dir: Path, post: Callable[[InspectionProgress], object]) -> None:
        super().__init__("inspect", post)
        self._directories = [f"--runs-dir={runs_dir}", f"--data-dir={data_dir}"]
        self._waiting: deque[str] = deque()
        self._current = ""
        self.request("inspect")

    def add(self, runs: Iterable[str]) -> None:
        """Inspect these runs, unless they already wait."""
        for run in runs:
            if run not in (self._current, *self._waiting):
                self.post(InspectionProgress(run))
                self._waiting.append(run)
        self.refresh()
        self.start()

    def read(self, work: str) -> Iterator[InspectionProgress]:
        while self._waiting:
            run = self._current = self._waiting.popleft()
            error = ""
            for report in self.reports([work, f"--run={run}", *self._directories]):
                error = report.error or error
                yield InspectionProgress(run, report.what, report.done, report.total)
            self._current = ""
            yield InspectionProgress(run, error=error, has_ended=True)

    def on_error(self, error: Exception, last: InspectionProgress | None) -> InspectionProgress:
        run, self._current = self._current, ""
        return InspectionProgress(run, error=describe_error(error), has_ended=True)


class SamplesFeed(ProcessFeed[RunConfig, TaskSamples]):
    """Reads samples of the launch form's first task; a newer request ends an older one's process."""

    delay = 0.3

    def __init__(self, data_dir: Path, post: Callable[[TaskSamples], object]) -> None:
        super().__init__("samples", post)
        self._data_dir = data_dir
        self.start()

    def request(self, config: RunConfig | None) -> None:
        """Read samples for a run with this configuration, or forget the last ones."""
        wanted = None
        if config:  # the same data, and nothing else of this configuration
            same = {name: getattr(config, name) for name in DATA_SETTINGS}
            wanted = msgspec.structs.replace(RunConfig(), **same, seed=data_seed(config))
        if wanted != self.requested:
            super().request(wanted)
            self.kill()

    def read(self, config: RunConfig) -> Iterator[TaskSamples]:
        yield TaskSamples(config.task, is_reading=True)
        arguments, content = ["samples", f"--data-dir={self._data_dir}"], msgspec.json.encode(config)
        for report in self.reports(arguments, content):
            if report.error or report.pictures:
                yield TaskSamples(config.task, report.pictures, report.error)

    def on_error(self, error: Exception, last: TaskSamples | None) -> TaskSamples:
        return TaskSamples("", error=str(error))
