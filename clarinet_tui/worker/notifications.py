"""Tell the user of an alarm or of the end of a run: by the commands of `--on-alarm` and `--on-end` or a notification.

All of it runs in its own thread and never blocks training.

Notifications are a bell, the desktop, ntfy or a webhook. The choice is the user's: CLARINET_NOTIFY, or `notify` in
~/.config/clarinet/config.toml; never a setting of a run.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from urllib.parse import urlsplit

from clarinet_tui.queue.supervisor import start_detached
from clarinet_tui.runs.directory import RunDirectory, read_toml
from clarinet_tui.runs.files import open_append
from clarinet_tui.runs.worker_log import format_timestamp
from clarinet_tui.streams import FALLBACK
from clarinet_tui.text import format_task, printable
from core.config import RunConfig
from core.errors import InputError
from core.events import Alarmed, Failed, Finished, Stopped

HookEvent = Alarmed | Finished | Failed | Stopped
ON_ALARM, ON_END = "--on-alarm", "--on-end"
NOTIFY_VARIABLE = "CLARINET_NOTIFY"
EXPECTED = "expected bell, desktop, ntfy://HOST/TOPIC or https://…"
SEND_SECONDS = 10.0
"""The time limit of one notification."""


def parse_hook_command(text: str, option: str = ON_ALARM) -> tuple[str, ...]:
    """Split a command into arguments, without a shell; raise InputError if there is no such program."""
    try:
        arguments = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"{option}: {error}: {text!a}") from None
    if not arguments:
        raise InputError(f"{option}: expected a command, such as ./notify.sh")
    if shutil.which(arguments[0]) is None:
        raise InputError(f"{option}: there is no program {arguments[0]!a}: put pipes and the like into a script")
    return arguments


class EventHook:
    """Run the command and send the notifications in a background thread for one event after the other.

    The first failure is reported.
    """

    def __init__(
        self,
        run: RunDirectory,
        config: RunConfig,
        command: Sequence[str],
        notify: Callable[[str], None],
        seconds: float = 30.0,
        *,
        option: str = ON_ALARM,
        targets: Sequence[str] = (),
    ) -> None:
        """`seconds` is the time limit of a command, `targets` are those of notifications."""
        self._run, self._config, self._command, self._notify = run, config, list(command), notify
        self._seconds, self._option, self._targets = seconds, option, targets
        self._events: SimpleQueue[HookEvent | None] = SimpleQueue()
        self._has_failed = False
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._process_events, name=option.strip("-"), daemon=True)
        if self._command or self._targets:
            self._thread.start()

    def submit(self, event: HookEvent) -> None:
        self._events.put(event)

    def close(self, timeout: float = 10.0) -> None:
        """Wait for the remaining events, and kill what exceeds the timeout."""
        self._events.put(None)
        if self._thread.ident is not None:
            self._thread.join(timeout)
            self._ending.set()
            self._thread.join()

    def _process_events(self) -> None:
        with suppress(Empty):
            while (event := self._events.get(block=not self._ending.is_set())) is not None:
                fields = self._variables(event)
                label = fields.get("CLARINET_ALARM") or fields["CLARINET_STATE"]
                try:
                    problem = self._run_command(label, fields) if self._command else None
                except (OSError, InputError) as error:
                    problem = str(error)
                if problem:  # without the program's arguments, which may be secret: worker.log is exported
                    self._report(f"{self._option} {self._command[0]}: {problem}")
                if self._targets and not self._ending.is_set():
                    self._send_notifications(label, fields)

    def _send_notifications(self, label: str, fields: Mapping[str, str]) -> None:
        title = f"{self._config.method} on {format_task(self._config.task)}, seed {self._config.seed}: {label}"
        message = fields["CLARINET_MESSAGE"] or f"run {self._run.id}"
        public = {name.removeprefix("CLARINET_").lower(): value for name, value in fields.items()}
        for target in self._targets:
            if problem := send(target, printable(title), message, public):
                self._report(problem)

    def _run_command(self, label: str, fields: Mapping[str, str]) -> str | None:
        """Return what went wrong."""
        with os.fdopen(open_append(self._run.log, 0o600), "a") as log:
            log.write(f"{format_timestamp(time.time())} {self._option} for {label}\n")
        process = start_detached(self._command, self._run.log, env={**os.environ, **fields})
        deadline = time.monotonic() + self._seconds
        while process.poll() is None and time.monotonic() < deadline and not self._ending.is_set():
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"took longer than {self._seconds:g} s and was killed"
        code = process.returncode
        return f"ended with exit code {code}; its output is in worker.log" if code else None

    def _variables(self, event: HookEvent) -> dict[str, str]:
        """Return the environment variables for the command."""
        config = self._config
        values = {"run": self._run.id, "iteration": event.iteration, "method": config.method, "task": config.task}
        values |= {"seed": config.seed, **event_fields(event)}
        variables = {f"CLARINET_{name.upper()}": printable(str(value)) for name, value in values.items()}
        return variables | {"CLARINET_RUNS": str(self._run.runs_dir.absolute())}

    def _report(self, message: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._notify(message)


def event_fields(event: HookEvent) -> dict[str, str]:
    """Return what the command learns of an alarm, or of the end of a run."""
    match event:
        case Alarmed():
            return {"alarm": event.kind, "message": event.message, "advice": event.advice}
        case Finished():
            accuracy = "" if event.target_accuracy is None else f"{event.target_accuracy:.2f}"
            message = f"target accuracy {accuracy} %" if accuracy else ""
            return {"state": "finished", "message": message, "target_accuracy": accuracy}
        case Failed():
            return {"state": "failed", "message": event.message}
        case Stopped():
            return {"state": "stopped", "message": f"at iteration {event.iteration}"}


def read_targets(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return where this user wants notifications, from the environment or the user's own file."""
    if environ.get(NOTIFY_VARIABLE):
        return tuple(_check(target, NOTIFY_VARIABLE) for target in environ[NOTIFY_VARIABLE].split())
    path = Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "clarinet" / "config.toml"
    if not path.is_file():
        return ()
    notify = read_toml(path).get("notify", [])
    targets = [notify] if isinstance(notify, str) else notify
    if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
        raise InputError(f"{path}: notify: {EXPECTED}, or a list of these")
    return tuple(_check(target, f"{path}: notify") for target in targets)


def _check(target: str, place: str) -> str:
    """Return the target; the error does not quote an address, which may be secret."""
    try:
        parts = urlsplit(target)
        is_address = bool(parts.hostname) and (parts.scheme == "https" or bool(parts.path.strip("/")))
    except ValueError:
        is_address, parts = False, urlsplit("")
    if target in ("bell", "desktop") or (is_address and parts.scheme in ("https", "ntfy")):
        return target
    raise InputError(f"{place}: {EXPECTED}, got {parts.scheme or target[:20]!a}")


def send(target: str, title: str, message: str, fields: Mapping[str, str]) -> str | None:
    """Send one notification; return why it could not be sent, without the target's secrets."""
    try:
        if target == "bell":
            # A progress bar replaces `sys.stdout` and writes whole lines only. A queued run has no terminal.
            terminal = sys.__stdout__
            if terminal is not None and terminal.isatty():
                os.write(terminal.fileno(), b"\a")
        elif target == "desktop":
            return _show_on_desktop(title, message)
        else:
            _post(target, title, message, fields)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None)  # that of a URLError, of others
        parts = urlsplit(target)
        place = f"{parts.scheme}://{parts.hostname}" if parts.scheme else target  # the path may be secret
        return f"notify {place}: {reason or type(error).__name__}"
    return None


def _show_on_desktop(title: str, message: str) -> str | None:
    if (program := shutil.which("notify-send")) is None:
        return "notify desktop: there is no program notify-send"
    command = [program, "--app-name=Clarinet", "--", title, message]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SEND_SECONDS, check=False)
    return f"notify desktop: notify-send ended with exit code {ended.returncode}" if ended.returncode else None


def _post(target: str, title: str, message: str, fields: Mapping[str, str]) -> None:
    parts = urlsplit(target)
    if parts.scheme == "ntfy":
        scheme = "http" if parts.hostname in ("localhost", "127.0.0.1", "::1") else "https"
        headers = {"Title": title.encode("ascii", FALLBACK).decode()}
        request = urllib.request.Request(parts._replace(scheme=scheme).geturl(), message.encode(), headers)
    else:
        content = json.dumps({"title": title, "message": message, **fields}).encode()
        request = urllib.request.Request(target, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=SEND_SECONDS) as response:
        response.read(1)
