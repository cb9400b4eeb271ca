"""Notifications: to a real server, a desktop program and a terminal; the user's choice and its secrets."""

import json
import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.worker.notifications import EventHook, read_targets, send
from core.errors import InputError
from core.events import Alarmed
from core.resolve import resolve
from tests.support.histories import make_run

ALARM = Alarmed(kind="collapse", message="few\nclasses → 2", advice="a lower rate", iteration=7)


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


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return make_run(tmp_path / "runs", id="abc123")


def notify(run: RunDirectory, *targets: str) -> list[str]:
    """Notify of an alarm; return what was reported to the user."""
    messages: list[str] = []
    hook = EventHook(run, run.read_config(), (), messages.append, targets=targets)
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
        f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]), file=open('said', 'w'))\n"
    )
    program.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert notify(run, "desktop") == []
    assert json.loads((tmp_path / "said").read_text())[-2:] == ["clarinet on U→M, seed 1: collapse", "few classes → 2"]
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


def test_settings_of_a_run_cannot_set_a_target() -> None:
    with pytest.raises(InputError, match="notify: no such setting"):
        resolve({"notify": "https://example.org"}, place="mine.toml")
