"""Client processes for the model test of the queue: each operation runs in a process of its own, which can be killed.

Started with a runs directory, it reads a batch of operations from each line of its input, runs all of them at once, and
prints their results. Supervisors and workers are forked as well: starting Python is slow. Workers train nothing.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

from clarinet_tui.devices.device import Device
from clarinet_tui.history.database import Database
from clarinet_tui.history.states import update_history
from clarinet_tui.history.trash import remove_run, restore_run
from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue import local, requests, supervisor
from clarinet_tui.queue.queue_file import QueueEntry
from clarinet_tui.queue.supervisor import LocalExecutor
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError
from core.resolve import resolve
from tests.support import fault_worker

Operation = dict[str, Any]
"""`name`, `run` or other arguments, `kill_after` (seconds, 0 for never) and `jump` (seconds of the wall clock)."""


def main() -> None:
    runs_dir = Path(sys.argv[1])
    vars(local)["ensure_supervisor"] = lambda runs_dir: None  # the test starts and kills supervisors
    for line in sys.stdin:
        children = [start(runs_dir, operation) for operation in json.loads(line)]
        print(json.dumps([collect(*child) for child in children]), flush=True)


def start(runs_dir: Path, operation: Operation) -> tuple[int, int]:
    """Return the pid of a process for the operation, and the pipe for its result."""
    reader, writer = os.pipe()
    pid = fork(lambda: perform(runs_dir, operation, writer))
    os.close(writer)
    return pid, reader


def collect(pid: int, reader: int) -> dict[str, Any]:
    """Return the result of a process; a process that was killed has none."""
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(content) if content else {"killed": True}


def fork(work: Callable[[], object]) -> int:
    """Return the pid of a child that does the work and exits."""
    if pid := os.fork():
        return pid
    code = 1
    try:
        code = int(cast(int, work()) or 0)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:  # noqa: BLE001 - the child must never return into the parent's code
        sys.excepthook(*sys.exc_info())
    os._exit(code)


def perform(runs_dir: Path, operation: Operation, writer: int) -> None:
    real_time = time.time
    time.time = lambda: real_time() + operation["jump"]
    if operation["name"] == "supervise":
        fork(lambda: supervise(runs_dir))
        os.write(writer, b'{"done": true}')
        return
    signal.setitimer(signal.ITIMER_REAL, operation["kill_after"])  # the signal's default action ends the process
    try:
        result = {"done": True, "value": OPERATIONS[operation["name"]](runs_dir, operation)}
    except InputError as error:
        result = {"refused": str(error)}
    os.write(writer, json.dumps(result).encode())


def supervise(runs_dir: Path) -> int:
    os.closerange(3, 256)  # the pipes of the clients
    os.setsid()
    redirect_output(runs_dir / "supervisor.log")
    supervisor.POLL, supervisor.SCHEDULE_INTERVAL = 0.02, 0.05
    sys.argv = ["supervisor", str(runs_dir)]
    return supervisor.main(ForkingExecutor())


def redirect_output(path: Path) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)


class ForkedWorker:
    """A forked worker with the interface of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid, self._code = pid, cast(int | None, None)

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


class ForkingExecutor(LocalExecutor):
    def start(self, run: RunDirectory, entry: QueueEntry, device: Device) -> None:
        self._children.pop(run.id, None)
        arguments = self.command(run, entry, device)[4:]
        self._children[run.id] = cast(Any, ForkedWorker(fork(lambda: work(run, arguments))))

    def worker_pids(self, runs: Iterable[RunDirectory]) -> set[int]:
        """Take some time, in which others change the queue: this is called between reading it and claiming a run."""
        time.sleep(random.random() / 20)
        return super().worker_pids(runs)


def work(run: RunDirectory, arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    redirect_output(run.log)
    sys.argv = ["worker", *arguments]
    return fault_worker.main()


def sweep(runs_dir: Path, operation: Operation) -> list[str]:
    settings = {"preset": "smoke", "task": "U->M", "device": "cpu"}
    configs = [resolve(settings, name=f"steps={steps} pause=0.004") for steps in operation["steps"]]
    options = LaunchOptions.from_paths(runs_dir, runs_dir, retries=operation["retries"], paused=operation["paused"])
    return [run.id for run in local.LocalPlace(runs_dir).submit(configs, options, front=operation["front"])]


def stop(runs_dir: Path, operation: Operation) -> str:
    return requests.stop(RunDirectory(runs_dir, operation["run"]), operation["timeout"]).name


def resume(runs_dir: Path, operation: Operation) -> None:
    requests.resume([RunDirectory(runs_dir, operation["run"])], LaunchOptions.from_paths(runs_dir, runs_dir))


def read_history(runs_dir: Path, operation: Operation) -> None:
    with Database.open(runs_dir) as db:
        update_history(db, runs_dir)


OPERATIONS: dict[str, Callable[[Path, Operation], Any]] = {
    "sweep": sweep,
    "read history": read_history,
    "stop": stop,
    "resume": resume,
    "pause": lambda runs_dir, operation: requests.hold(runs_dir, [operation["run"]], True),
    "continue": lambda runs_dir, operation: requests.hold(runs_dir, [operation["run"]], False),
    "pause all": lambda runs_dir, operation: local.LocalPlace(runs_dir).pause(True),
    "continue all": lambda runs_dir, operation: local.LocalPlace(runs_dir).pause(False),
    "move": lambda runs_dir, operation: requests.move(runs_dir, [operation["run"]], operation["index"]),
    "cancel": lambda runs_dir, operation: requests.cancel(runs_dir, [operation["run"]]),
    "remove": lambda runs_dir, operation: remove_run(RunDirectory(runs_dir, operation["run"])),
    "restore": lambda runs_dir, operation: restore_run(runs_dir, operation["run"]).id and None,
}


if __name__ == "__main__":
    main()
