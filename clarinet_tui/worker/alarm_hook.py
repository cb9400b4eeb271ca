"""`--on-alarm`: run a user's command for each alarm, without delaying training."""

import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from clarinet_tui.queue.executor import start_detached
from clarinet_tui.runs.atomic_files import open_append
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.worker_log import format_timestamp
from clarinet_tui.text import printable
from core.config import RunConfig
from core.errors import InputError
from core.events import Alarmed


def parse_hook_command(text: str, folder: Path | None = None) -> tuple[str, ...]:
    """Split a command into arguments, without a shell; raise InputError if there is no such program."""
    try:
        arguments = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"--on-alarm: {error}: {text!a}") from None
    if not arguments:
        raise InputError("--on-alarm: expected a command, such as ./notify.sh")
    program = str((folder or Path.cwd()) / arguments[0]) if "/" in arguments[0] else arguments[0]
    if shutil.which(program) is None:
        raise InputError(f"--on-alarm: there is no program {arguments[0]!a}: put pipes and the like into a script")
    return arguments


class AlarmHook:
    """Run the command in a background thread for one alarm after the other; its first failure is reported."""

    def __init__(
        self,
        run: RunDirectory,
        config: RunConfig,
        command: Sequence[str],
        notify: Callable[[str], None],
        seconds: float = 30.0,
    ) -> None:
        """`seconds` is the time limit of a command."""
        self._run, self._config, self._command, self._notify = run, config, list(command), notify
        self._seconds = seconds
        self._alarms: SimpleQueue[Alarmed | None] = SimpleQueue()
        self._has_failed = False
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._process_alarms, name="on-alarm", daemon=True)
        if self._command:
            self._thread.start()

    def submit(self, alarm: Alarmed) -> None:
        if self._command:
            self._alarms.put(alarm)

    def close(self, timeout: float = 10.0) -> None:
        """Wait for the remaining commands, and kill what exceeds the timeout."""
        self._alarms.put(None)
        if self._command:
            self._thread.join(timeout)
            self._ending.set()
            self._thread.join()

    def _process_alarms(self) -> None:
        with suppress(Empty):
            while (alarm := self._alarms.get(block=not self._ending.is_set())) is not None:
                try:
                    self._run_command(alarm)
                except (OSError, InputError) as error:
                    self._report(str(error))

    def _run_command(self, alarm: Alarmed) -> None:
        log = open_append(self._run.log, 0o600)
        try:
            os.write(log, f"{format_timestamp(time.time())} --on-alarm for {alarm.kind}\n".encode())
        finally:
            os.close(log)
        process = start_detached(self._command, self._run.log, env={**os.environ, **self._variables(alarm)})
        if not self._has_ended(process):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._report(f"took longer than {self._seconds:g} s and was killed")
        elif process.returncode:
            self._report(f"ended with exit code {process.returncode}; its output is in worker.log")

    def _has_ended(self, process: "subprocess.Popen[bytes]") -> bool:
        """Wait until the process ends, within its time limit and until `close` gives up; return whether it did."""
        seconds_left = self._seconds
        while seconds_left > 0 and not self._ending.is_set():
            with suppress(subprocess.TimeoutExpired):
                process.wait(min(seconds_left, 0.5))
                return True
            seconds_left -= 0.5
        return process.poll() is not None

    def _variables(self, alarm: Alarmed) -> dict[str, str]:
        """Return the environment variables for the command."""
        variables = {
            "CLARINET_RUN": self._run.id,
            "CLARINET_ALARM": alarm.kind,
            "CLARINET_MESSAGE": alarm.message,
            "CLARINET_ADVICE": alarm.advice,
            "CLARINET_ITERATION": str(alarm.iteration),
            "CLARINET_METHOD": self._config.method,
            "CLARINET_TASK": self._config.task,
            "CLARINET_SEED": str(self._config.seed),
        }
        printables = {name: printable(value) for name, value in variables.items()}
        return printables | {"CLARINET_RUNS": str(self._run.runs_dir.absolute())}

    def _report(self, problem: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._notify(f"--on-alarm {shlex.quote(self._command[0])}: {problem}")
