"""`subprocess` for commands of this interpreter: real processes, forked from one that has imported torch.

A new interpreter takes some seconds for that and for torch's compiler, which its optimizers need: ten times longer than
a test's run. One test of each kind starts one nevertheless, with `subprocess`.
"""

import atexit
import gc
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from multiprocessing.util import Finalize
from pathlib import Path
from typing import IO, Any, NoReturn, Self

from clarinet_tui.runs.directory import RunDirectory

TIMEOUT = 120.0
forkserver = multiprocessing.get_context("forkserver")
forkserver.set_forkserver_preload(
    [
        "core.training.train",
        "core.data.load",
        "torch._inductor",
        "clarinet_tui.worker.main",
        "clarinet_tui.cli.ls",
        "clarinet_tui.cli.main",
        "sqlite_utils",
    ]
)


def _kill_remaining() -> None:
    """Kill what a skipped or failed test leaves: multiprocessing waits at exit also for a stopped process."""
    for process in multiprocessing.active_children():
        process.kill()


Finalize(None, _kill_remaining, exitpriority=0)


class Worker:
    """A process with the interface of `subprocess.Popen`."""

    def __init__(self, process: BaseProcess) -> None:
        assert process.pid is not None
        self._process, self.pid = process, process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float = TIMEOUT) -> int | None:
        """Return the exit code, or None if the process is alive."""
        self._process.join(timeout)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def new_session() -> None:
    """Start a session, which the closing of its terminal ends even if the tests were started with `nohup`."""
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def new_session_with_slow_checkpoints() -> None:
    """Start a session, and make each checkpoint take ten minutes."""
    import torch

    def save(*_: object) -> None:
        print("SAVES", file=sys.stderr, flush=True)
        time.sleep(600)

    new_session()
    torch.save = save  # type: ignore[assignment]


class Popen(Worker):
    """A process that runs `-m MODULE` or `-c CODE`; `os.execve` starts another such command in it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: IO[Any] | int = 1,
        stderr: IO[Any] | int = 2,
        text: bool = False,
        prepare: Callable[[], object] = os.getpid,
        log: Path | None = None,
    ) -> None:
        """Call `prepare` in the process, then open `log` for its output: in a new session, a terminal is its own."""
        assert stdin == subprocess.DEVNULL
        self.stdout, out = _open(stdout, text=text)
        self.stderr, error = _open(stderr, text=text)
        streams = {1: _Descriptor(out), 2: _Descriptor(error)}
        arguments = (list(command), str(cwd or Path.cwd()), dict(env or os.environ), streams, prepare, log)
        process = forkserver.Process(target=_execute, args=arguments, daemon=True)
        process.start()
        super().__init__(process)
        os.close(out)
        os.close(error)

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdout, self.stderr):
            if stream:
                stream.close()
        self.wait()


def start_worker(
    run: RunDirectory, *arguments: str, log: Path | None = None, prepare: Callable[[], object] = os.getpid
) -> Popen:
    """Start a worker of the run, which resumes from a checkpoint if there is one; its output goes to its log."""
    command = [sys.executable, "-P", "-m", "clarinet_tui.worker.main", run.id, *arguments]
    command += ["--runs-dir", str(run.runs_dir), "--data-dir", str(run.runs_dir / "data")]
    command += ["--resume"] if run.has_checkpoint else []
    environment = {**os.environ, "NO_COLOR": "1"}
    return Popen(command, cwd=run.runs_dir, env=environment, log=log or run.log, prepare=prepare)


def run_worker(run: RunDirectory, *arguments: str, log: Path | None = None) -> int | None:
    """Run a worker to its end and return its exit code."""
    return start_worker(run, *arguments, log=log).wait()


def call_in_process(function: Callable[..., object], *arguments: Any) -> int | None:
    """Call a function in a process, and return its exit code."""
    process = forkserver.Process(target=function, args=arguments, daemon=True)
    process.start()
    process.join()
    return process.exitcode


@contextmanager
def held_in_process(
    enter: Callable[..., AbstractContextManager[Any]], *arguments: Any, prepare: Callable[[], object] = os.getpid
) -> Iterator[Worker]:
    """Keep a context manager open in a process, which is killed when the block ends."""
    ours, theirs = forkserver.Pipe()
    process = forkserver.Process(target=_hold, args=(theirs, prepare, enter, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        assert ours.recv() == "entered"
        yield Worker(process)
    finally:
        process.kill()
        process.join()


def _hold(
    pipe: Connection, prepare: Callable[[], object], enter: Callable[..., AbstractContextManager[Any]], arguments: Any
) -> None:
    prepare()
    with enter(*arguments):
        pipe.send("entered")
        time.sleep(600)


def run(
    command: Sequence[str], *, timeout: float = TIMEOUT, capture_output: bool = True, check: bool = False, **more: Any
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, and return what it printed."""
    assert capture_output
    assert not check
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        process = Popen(command, stdout=out, stderr=error, **more)
        code = process.wait(timeout)
        if code is None:
            process.kill()
            raise subprocess.TimeoutExpired(list(command), timeout)
        out.seek(0)
        error.seek(0)
        return subprocess.CompletedProcess(list(command), code, out.read(), error.read())


def _open(stream: IO[Any] | int, *, text: bool) -> tuple[IO[Any] | None, int]:
    """Return this process's end of a stream, if it is a pipe, and the other end."""
    if stream == subprocess.PIPE:
        near, far = os.pipe()
        return os.fdopen(near, "r" if text else "rb"), far
    if stream == subprocess.DEVNULL:
        return None, os.open(os.devnull, os.O_WRONLY)
    return None, os.dup(stream if isinstance(stream, int) else stream.fileno())


class _Descriptor:
    """A file descriptor; the process to which it is sent gets the number of its own copy."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _detach, (DupFd(self._number),)


def _detach(sent: Any) -> int:
    number: int = sent.detach()
    return number


class _ReplacedError(BaseException):
    """The process continues with another command."""


def _replace(_: str, command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    raise _ReplacedError(command, environment)


def _execute(
    command: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    streams: Mapping[int, int],
    prepare: Callable[[], object],
    log: Path | None,
) -> NoReturn:
    prepare()
    file = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND) if log else None
    for number, end in streams.items():
        os.dup2(end if file is None else file, number)
        os.close(end)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.execve = _replace  # type: ignore[assignment]
    atexit._clear()  # those of the process that was forked
    gc.freeze()
    while True:
        try:
            _interpret(command, environment)
        except _ReplacedError as replaced:
            command, environment = replaced.args
        except SystemExit as ended:
            code = ended.code
            break
    atexit._run_exitfuncs()
    gc.collect()  # an interpreter ends in this way too: it closes what was left open, such as a database
    sys.exit(code)


def _interpret(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Do what the interpreter does with a command."""
    os.environ.clear()
    os.environ.update(environment)
    _, safe_path, kind, text, *arguments = command
    assert safe_path == "-P"
    sys.argv = [kind, *arguments]
    if kind == "-m":
        sys.exit(importlib.import_module(text).main())
    exec(text, {"__name__": "__main__"})
    sys.exit(0)
