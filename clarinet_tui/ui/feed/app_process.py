"""A process that works for the app, because the work needs torch, much memory or time, and reports its progress."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec

from clarinet_tui.runs.inspection_file import INSPECTION_PROCESS, InspectionReport

MAX_LINE = 16 << 20
MAX_ERROR = 4000
"""Bytes of the process's last output that an unexpected end is explained with."""


class AppProcess:
    """Runs one process at a time; `stop` kills it, from any thread, and forbids others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def reports(self, arguments: Sequence[str], content: bytes = b"") -> Iterator[InspectionReport]:
        """Yield what a process reports; an unexpected end is an error, a killed process just ends."""
        command = [sys.executable, "-P", "-m", INSPECTION_PROCESS, *arguments]
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
            given.write(content)
            given.seek(0)
            with self._lock:
                if self._is_stopped:
                    return
                process = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=errors)
                self._process = process
            assert process.stdout is not None
            with process:
                has_error = False
                while line := process.stdout.readline(MAX_LINE):
                    report = _parse(line)
                    if report:
                        has_error |= bool(report.error)
                        yield report
            with self._lock:
                was_killed, self._process = self._process is None, None
            if process.returncode and not has_error and not was_killed:
                yield InspectionReport(error=_last_line(errors) or f"it ended with exit code {process.returncode}")

    def kill(self) -> None:
        """End the process; others may follow."""
        with self._lock:
            process, self._process = self._process, None
        if process:
            process.kill()

    def stop(self) -> None:
        self._is_stopped = True
        self.kill()


def _parse(line: bytes) -> InspectionReport | None:
    """Return a report; None for a line that a plug-in has printed."""
    try:
        return msgspec.json.decode(line, type=InspectionReport)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _last_line(errors: BinaryIO) -> str:
    errors.seek(0, 2)
    errors.seek(max(0, errors.tell() - MAX_ERROR))
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
