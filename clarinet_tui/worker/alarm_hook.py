"""`--on-alarm`: a command of the user's own for each alarm that is raised. It never keeps the training waiting."""

import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from clarinet_tui.runs.atomic_files import open_append
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.text import printable
from core.config import RunConfig
from core.errors import InputError
from core.events import Alarmed

SECONDS = 30.0
"""What a command may take before it is killed."""
LEAVING = 10.0
"""What those of the last alarms get when the run is over."""


def command_words(text: str, folder: Path | None = None) -> tuple[str, ...]:
    """The command as words: no shell reads it. What cannot be started is told now, and not in the night."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"--on-alarm: {error}: {text!a}") from None
    if not words:
        raise InputError("--on-alarm: expected a command, such as ./notify.sh")
    place = str((folder or Path.cwd()) / words[0]) if "/" in words[0] else words[0]
    if shutil.which(place) is None:
        raise InputError(f"--on-alarm: there is no program {words[0]!a}: pipes and the like need a script of your own")
    return words


class Herald:
    """A thread of its own starts the command, for one alarm after the other; trouble with it is said once."""

    def __init__(
        self,
        run: RunDirectory,
        config: RunConfig,
        words: Sequence[str],
        say: Callable[[str], None],
        seconds: float = SECONDS,
    ) -> None:
        self._run, self._config, self._words, self._say = run, config, list(words), say
        self._seconds = seconds
        self._alarms: SimpleQueue[Alarmed | None] = SimpleQueue()
        self._troubled = False
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._work, name="on-alarm", daemon=True)
        if self._words:
            self._thread.start()

    def announce(self, alarm: Alarmed) -> None:
        if self._words:
            self._alarms.put(alarm)

    def close(self, patience: float = LEAVING) -> None:
        """Wait for the last ones; what takes longer is killed."""
        self._alarms.put(None)
        if self._words:
            self._thread.join(patience)
            self._leave.set()
            self._thread.join()

    def _work(self) -> None:
        while (alarm := self._next()) is not None:
            try:
                self._call(alarm)
            except (OSError, InputError) as error:
                self._tell(str(error))

    def _next(self) -> Alarmed | None:
        with suppress(Empty):
            return self._alarms.get(block=not self._leave.is_set())
        return None

    def _call(self, alarm: Alarmed) -> None:
        log = open_append(self._run.log, 0o600)
        try:
            process = subprocess.Popen(
                self._words,
                env={**os.environ, **self._told(alarm)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)
        if not self._ends(process):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._tell(f"took longer than {self._seconds:g} s, and was killed")
        elif process.returncode:
            self._tell(f"ended with exit code {process.returncode}; what it printed is in worker.log")

    def _ends(self, process: "subprocess.Popen[bytes]") -> bool:
        """Whether it ends by itself within its time, and before we have to leave."""
        left = self._seconds
        while left > 0 and not self._leave.is_set():
            with suppress(subprocess.TimeoutExpired):
                process.wait(min(left, 0.5))
                return True
            left -= 0.5
        return process.poll() is not None

    def _told(self, alarm: Alarmed) -> dict[str, str]:
        """What the command finds in its environment."""
        said = {
            "CLARINET_RUN": self._run.id,
            "CLARINET_ALARM": alarm.kind,
            "CLARINET_MESSAGE": alarm.message,
            "CLARINET_ADVICE": alarm.advice,
            "CLARINET_ITERATION": str(alarm.iteration),
            "CLARINET_METHOD": self._config.method,
            "CLARINET_TASK": self._config.task,
            "CLARINET_SEED": str(self._config.seed),
        }
        told = {name: printable(value) for name, value in said.items()}
        return told | {"CLARINET_RUNS": str(self._run.runs_dir.absolute())}

    def _tell(self, trouble: str) -> None:
        if not self._troubled:
            self._troubled = True
            self._say(f"--on-alarm {shlex.join(self._words)}: {trouble}")
