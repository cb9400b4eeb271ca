"""`subprocess` for commands of this interpreter: real processes, forked from one that has imported torch.

A new interpreter takes some seconds for that. One test of each kind starts one nevertheless, with `subprocess`.
"""

import atexit
import gc
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any, NoReturn, Self

from tests.support.child_processes import TIMEOUT, Worker, forkserver


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
    ) -> None:
        assert stdin == subprocess.DEVNULL
        self.stdout, out = _open(stdout, text=text)
        self.stderr, error = _open(stderr, text=text)
        streams = {1: _Descriptor(out), 2: _Descriptor(error)}
        arguments = (list(command), str(cwd or Path.cwd()), dict(env or os.environ), streams)
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
    command: Sequence[str], folder: str, environment: Mapping[str, str], streams: Mapping[int, int]
) -> NoReturn:
    for number, end in streams.items():
        os.dup2(end, number)
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
