"""Commands for alarms and ends, and notifications."""

import json
import os
import pty
import shutil
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress

from clarinet_tui.devices.device import Device
from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue.local import LocalPlace
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.queue.supervisor import LocalExecutor
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.worker_command import ALARM_VARIABLE, hook_environment, take_hook_command
from clarinet_tui.runs.worker_log import split_timestamp
from clarinet_tui.worker.notifications import ON_END, EventHook, HookEvent, parse_hook_command, read_targets, send
from core.errors import InputError
from core.events import Alarmed, Failed, Finished, Stopped
from core.resolve import resolve
from tests.support.histories import make_run

ALARM = Alarmed(kind="collapse", message="few\nclasses → 2", advice="a lower rate", iteration=7)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return make_run(tmp_path / "runs", id="abc123")


def make_hook(run: RunDirectory, *command: str, seconds: float = 30.0, **options: Any) -> tuple[EventHook, list[str]]:
    messages: list[str] = []
    return EventHook(run, run.read_config(), command, messages.append, seconds, **options), messages


def command_output(run: RunDirectory) -> list[str]:
    """The log without the worker's own lines, which have a time."""
    return [line for line in run.log.read_text().splitlines() if split_timestamp(line.encode())[0] is None]


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


@pytest.mark.parametrize("text", ["", "  ", "echo 'a", "no-such-program-anywhere x", "./not-here.sh", "echo|wc"])
def test_command_that_cannot_start_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--on-alarm: "):
        parse_hook_command(text)


def test_command_is_split_as_by_a_shell_and_may_be_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notify.sh").write_text("#!/bin/sh\n")
    (tmp_path / "notify.sh").chmod(0o700)
    assert parse_hook_command("./notify.sh loud") == ("./notify.sh", "loud")
    assert parse_hook_command("sh -c 'a $HOME; b'") == ("sh", "-c", "a $HOME; b")


def test_environment_and_output_of_the_command(run: RunDirectory) -> None:
    names = ["RUN", "RUNS", "ALARM", "MESSAGE", "ADVICE", "ITERATION", "METHOD", "TASK", "SEED"]
    hook, messages = make_hook(run, *python(f"import os\nfor n in {names}: print(n, os.environ['CLARINET_' + n])"))
    hook.submit(ALARM)
    hook.close()
    assert command_output(run) == [
        *("RUN abc123", f"RUNS {run.runs_dir.absolute()}", "ALARM collapse", "MESSAGE few classes → 2"),
        *("ADVICE a lower rate", "ITERATION 7", "METHOD clarinet", "TASK U->M", "SEED 1"),
    ]
    assert stat.S_IMODE(run.log.stat().st_mode) == 0o600
    assert messages == []


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            Finished(iteration=9, epoch=1, target_accuracy=81.234, source_accuracy=None),
            "finished 81.23 target accuracy 81.23 %",
        ),
        (Failed(iteration=9, message="no\nmemory"), "failed  no memory"),
        (Stopped(iteration=9), "stopped  at iteration 9"),
    ],
)
def test_command_for_the_end(run: RunDirectory, event: HookEvent, expected: str) -> None:
    names = ("STATE", "TARGET_ACCURACY", "MESSAGE")
    code = f"import os\nprint(*(os.environ.get('CLARINET_' + name, '') for name in {names}))"
    hook, messages = make_hook(run, *python(code), option=ON_END)
    hook.submit(event)
    hook.close()
    assert (command_output(run), messages) == ([expected], [])
    assert f"--on-end for {expected.split()[0]}" in run.log.read_text()


def test_failure_is_reported_once_and_the_next_alarm_runs_the_command(run: RunDirectory) -> None:
    hook, messages = make_hook(run, *python("print('called'); raise SystemExit(3)"), "token-0451")
    for _ in range(3):
        hook.submit(ALARM)
    hook.close()
    assert command_output(run) == ["called"] * 3
    assert "--on-alarm for collapse" in run.log.read_text()
    (message,) = messages
    # Without arguments, which may be secret: worker.log has the message, and is exported.
    assert message == f"--on-alarm {sys.executable}: ended with exit code 3; its output is in worker.log"


def test_missing_program_is_reported_and_without_a_command_nothing_is_started(run: RunDirectory) -> None:
    for command in ((), (str(run.path / "gone"),)):
        assert not run.log.exists()
        hook, messages = make_hook(run, *command)
        hook.submit(ALARM)
        hook.close()
    (message,) = messages
    assert "No such file" in message


def test_slow_command_is_killed_with_its_children(run: RunDirectory) -> None:
    hook, messages = make_hook(run, "sh", "-c", "sleep 600 & echo $!; wait", seconds=1.0)
    hook.submit(ALARM)
    assert messages == []  # submit does not wait
    hook.close(timeout=60)
    assert "took longer than 1 s and was killed" in messages[0]
    assert is_gone(int(*command_output(run)))


def test_close_gives_up_after_its_timeout(run: RunDirectory) -> None:
    hook, messages = make_hook(run, shutil.which("sleep") or "sleep", "600")
    hook.submit(ALARM)
    hook.submit(ALARM)
    hook.close(timeout=0.0)
    assert len(messages) == 1


def test_command_reaches_the_worker_through_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
    options = LaunchOptions.from_paths(tmp_path, tmp_path, on_alarm=("notify", "--loud", "two words"))
    (run,) = LocalPlace(tmp_path / "runs").submit([resolve(preset="smoke")], options)
    entry = read_queue(run.runs_dir)[run.id]
    assert entry.on_alarm == ("notify", "--loud", "two words")
    command = LocalExecutor().command(run, entry, Device(key="cpu", label="cpu", name="CPU"))
    assert not [word for word in command if "notify" in word or "loud" in word]
    for name, value in hook_environment(entry.on_alarm).items():
        monkeypatch.setenv(name, value)
    assert take_hook_command(ALARM_VARIABLE) == ["notify", "--loud", "two words"]
    assert take_hook_command(ALARM_VARIABLE) == []


@pytest.mark.parametrize("name", ["on_alarm", "on_end", "notify"])
def test_settings_cannot_set_a_command(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: no such setting"):
        resolve({name: ["touch", "x"]}, source="mine.toml")


def is_gone(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


@contextmanager
def server(status: int = 200) -> Iterator[tuple[int, list[tuple[str, str, bytes]]]]:
    """A server that records path, title and body of each request; yield its port and the requests."""
    received: list[tuple[str, str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, self.headers.get("Title", ""), body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield http.server_port, received
        http.shutdown()
        thread.join()


def notify(run: RunDirectory, *targets: str) -> list[str]:
    """Notify of an alarm; return what was reported to the user."""
    hook, messages = make_hook(run, targets=targets)
    hook.submit(ALARM)
    hook.close(timeout=60)
    return messages


def test_ntfy_gets_title_and_message(run: RunDirectory) -> None:
    with server() as (port, received):
        assert notify(run, f"ntfy://127.0.0.1:{port}/my-topic") == []
    title = "clarinet on U->M, seed 1: collapse"  # headers are ASCII
    assert received == [("/my-topic", title, "few classes → 2".encode())]


def test_failure_is_reported_once_without_the_secret_topic(run: RunDirectory) -> None:
    with server(status=403) as (port, _):
        target = f"ntfy://127.0.0.1:{port}/secret-topic"
        (message,) = notify(run, target, target)
    assert message.startswith("notify ntfy://127.0.0.1: ")
    assert "secret" not in message
    assert send(target, "title", "text", {}) == "notify ntfy://127.0.0.1: [Errno 111] Connection refused"


def test_desktop_program_gets_the_text_as_arguments(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "notify-send"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]), file=open('shown', 'w'))\n"
    )
    program.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert notify(run, "desktop") == []
    assert json.loads((tmp_path / "shown").read_text())[-2:] == ["clarinet on U→M, seed 1: collapse", "few classes → 2"]
    program.unlink()
    assert notify(run, "desktop") == ["notify desktop: there is no program notify-send"]


def test_bell_rings_on_a_terminal_beside_a_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with os.fdopen(master, "rb", 0) as screen:
        with os.fdopen(slave, "w") as terminal:
            monkeypatch.setattr(sys, "stdout", terminal)
            monkeypatch.setattr(sys, "__stdout__", terminal)
            with Progress(console=Console(file=terminal, force_terminal=True)):
                assert send("bell", "title", "text", {}) is None
            monkeypatch.undo()
        shown = b""
        with suppress(OSError):  # the end of what was written to a terminal that is closed
            while content := screen.read(4096):
                shown += content
    assert b"\a" in shown


def test_targets_are_the_users_choice(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert read_targets(environ) == ()
    (tmp_path / "clarinet").mkdir()
    config = tmp_path / "clarinet" / "config.toml"
    config.write_text('notify = "bell"\n')
    assert read_targets(environ) == ("bell",)
    config.write_text('notify = ["desktop", "https://example.org/hook"]\n')
    assert read_targets(environ) == ("desktop", "https://example.org/hook")
    assert read_targets({**environ, "CLARINET_NOTIFY": "bell ntfy://ntfy.sh/topic"}) == ("bell", "ntfy://ntfy.sh/topic")
    for wrong in ("shout", "http://example.org/secret", "ntfy://ntfy.sh", "file:///etc/passwd"):
        with pytest.raises(InputError, match=r"^CLARINET_NOTIFY: expected bell, desktop, ntfy") as refused:
            read_targets({"CLARINET_NOTIFY": wrong})
        assert "secret" not in str(refused.value)
    config.write_text("notify = 3\n")
    with pytest.raises(InputError, match="notify: expected bell"):
        read_targets(environ)
