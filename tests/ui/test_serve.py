"""The app in a browser: access control, the page's requests, the screen in a real Chromium, and shutdown."""

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from clarinet_tui.queue.local import ensure_supervisor_if_needed
from clarinet_tui.queue.supervisor import find_supervisor
from clarinet_tui.runs.ownership import READ_ONLY_VARIABLE
from clarinet_tui.ui.actions import RunActions
from clarinet_tui.ui.serve.server import AccessControl, main, render_terminal_page, security_headers
from core.errors import InputError
from tests.support.browser import DESKTOP, Page, find_chromium, open_page
from tests.support.serving import AWKWARD, TIMEOUT, Served, press, read_until, serving
from tests.support.supervised import enqueue_directly, make_fault_run
from tests.support.ui_runs import three_runs
from tests.support.waiting import wait_until

ACCESS = AccessControl(8000, "secret")
CATCH_TERMINAL = """
Object.defineProperty(Object.prototype, "_core", {configurable: true, set(core) {
  Object.defineProperty(this, "_core", {value: core, writable: true});
  if (this.loadAddon) window.caughtTerminal = this;
}});
"""
"""Keep the terminal object when it is created: xterm draws on a canvas and hides its buffer in a closure."""
SCREEN = """
(terminal => terminal ? Array.from({length: terminal.rows}, (_, y) =>
  terminal.buffer.active.getLine(y).translateToString(true, 0, terminal.cols)).join("\\n") : "")(window.caughtTerminal)
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    three_runs(folder / AWKWARD)
    with serving(folder) as server:
        yield server


@contextmanager
def open_tab(folder: Path, *options: str) -> Iterator[tuple[Served, socket.socket, psutil.Process]]:
    """A server of three runs, the connection of a tab that shows them, and the process of its app."""
    three_runs(folder / AWKWARD)
    with serving(folder, *options) as server:
        status, connection = server.open_tab(f"{server.base}ws?width=120&height=30", Origin=server.origin)
        assert status == 101
        with closing(connection):
            read_until(connection, b"aaa111")
            (app,) = psutil.Process(server.process.pid).children()
            yield server, connection, app


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LocalHost:8000", "[::1]:8000"])
def test_every_name_of_the_loopback_address_is_allowed(host: str) -> None:
    assert ACCESS.denial_reason("GET", "/secret/", {"Host": host}) is None
    websocket = {"Host": host, "Origin": f"http://{host.lower()}", "Upgrade": "websocket"}
    assert ACCESS.denial_reason("GET", "/secret/ws", websocket) is None


@pytest.mark.parametrize("host", ["", "evil.example:8000", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8000"])
def test_other_host_names_are_denied(host: str) -> None:
    assert "only reachable as 127.0.0.1:8000" in (ACCESS.denial_reason("GET", "/secret/", {"Host": host}) or "")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9000", "https://127.0.0.1:8000"])
def test_other_origins_are_denied(origin: str) -> None:
    for method, more in (("GET", {}), ("GET", {"Upgrade": "WebSocket"}), ("POST", {})):
        headers = {"Host": "127.0.0.1:8000", "Origin": origin} | more
        assert "Only the page of this server" in (ACCESS.denial_reason(method, "/secret/ws", headers) or "")


@pytest.mark.parametrize(("method", "upgrade"), [("GET", "websocket"), ("POST", ""), ("OPTIONS", "")])
def test_requests_with_effects_need_an_origin(method: str, upgrade: str) -> None:
    assert ACCESS.denial_reason(method, "/secret/ws", {"Host": "127.0.0.1:8000", "Upgrade": upgrade})


@pytest.mark.parametrize("path", ["/", "/secre/", "/secret2/", "/ws", "/static/js/textual.js", "//secret/", "/é/"])
def test_paths_without_the_token_are_denied(path: str) -> None:
    headers = {"Host": "127.0.0.1:8000"}
    assert "has no token" in (ACCESS.denial_reason("GET", path, headers) or "")
    assert AccessControl(8000, "").denial_reason("GET", path, headers) is None


@pytest.mark.parametrize(
    ("parameter", "pixels"), [("", 14), ("20", 20), ("1", 6), ("9" * 99, 40), ('14" onload="x', 14)]
)
def test_the_font_size_is_bounded(parameter: str, pixels: int) -> None:
    assert f'data-font-size="{pixels}"' in render_terminal_page("", "127.0.0.1:8000", parameter)


def test_the_page_loads_nothing_from_other_hosts() -> None:
    shown = render_terminal_page("/secret", "127.0.0.1:8000", "")
    assert re.findall(r"\w+://[^\"/]+", shown) == ["ws://127.0.0.1:8000"]
    assert re.findall(r"\w+:/+\S+", security_headers(8000)["Content-Security-Policy"]) == [
        "ws://127.0.0.1:8000",
        "ws://localhost:8000;",
    ]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "::", "example.org", ""])
def test_other_addresses_are_refused_with_a_tunnel_command(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([f"--host={host}", "--port=8000", "--runs-dir=runs", "--data-dir=data"])
    assert ended.value.code == 2
    assert re.search(r"ssh -L 8000:127\.0\.0\.1:8000 \S+@\S+\n$", capsys.readouterr().err)


def test_a_port_in_use_is_an_error_message(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--host=localhost", f"--port={served.port}", "--runs-dir=runs", "--data-dir=data"])
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err
        == f"clarinet: --port: {served.port} is in use by another program; choose another port\n"
    )


def test_the_addresses_are_printed(served: Served) -> None:
    assert re.search(rf"ssh -L {served.port}:127\.0\.0\.1:{served.port} \S+@\S+", served.output)
    assert "runs continue" in served.output
    assert len(served.base) > 30


def test_denied_requests_get_403(served: Served) -> None:
    own = f"{served.base}ws"
    responses = [
        served.request(served.base, Host="evil.example"),
        served.request(served.base, Origin="http://evil.example"),
        served.request(served.base, "POST", Origin="http://evil.example"),
        served.request("/"),
        served.open_tab(own, Origin="http://evil.example"),
        served.open_tab(own, Origin=served.origin, Host=f"evil.example:{served.port}"),
        served.open_tab(own),
        served.open_tab("/ws", Origin=served.origin),
    ]
    for _, connection in responses:
        connection.close()
    assert [status for status, _ in responses] == [403] * len(responses)
    assert psutil.Process(served.process.pid).children() == []


def test_files_are_served_and_directories_not_listed(served: Served) -> None:
    for path, expected in (("static/js/textual.js", 200), ("static/js", 403), ("static/../../server.py", 404)):
        status, connection = served.request(served.base + path)
        connection.close()
        assert status == expected, path


def test_each_tab_has_its_own_app_which_ends_with_it(served: Served) -> None:
    status, connection = served.open_tab(f"{served.base}ws?width=120&height=30", Origin=served.origin)
    with closing(connection):
        assert status == 101
        read_until(connection, b"aaa111")
        (child,) = psutil.Process(served.process.pid).children()
        assert f"--runs-dir={AWKWARD}" in child.cmdline()
    child.wait(timeout=TIMEOUT)


def test_ctrl_c_ends_server_and_apps_quietly(tmp_path: Path) -> None:
    with open_tab(tmp_path, "--no-token") as (server, connection, app):
        assert server.base == "/"
        os.killpg(server.process.pid, signal.SIGINT)  # a terminal signals the whole process group
        read_until(connection, b"\x88\x02\x03\xe9")  # the close frame with code 1001, going away
        connection.close()
        assert server.process.wait(timeout=TIMEOUT) == 0
    assert not app.is_running()
    assert (tmp_path / "err").read_text() == ""


def test_apps_end_when_the_server_is_killed(tmp_path: Path) -> None:
    with open_tab(tmp_path, "--no-token") as (server, _, app):
        server.process.kill()
    app.wait(timeout=TIMEOUT)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Page]:
    program = find_chromium()
    if program is None:
        pytest.skip("there is no Chromium to open the page with")
    with open_page(program, tmp_path / "profile") as shown:
        size = {"width": DESKTOP[0], "height": DESKTOP[1], "deviceScaleFactor": 1, "mobile": False}
        shown.call("Emulation.setDeviceMetricsOverride", **size)
        shown.call("Page.addScriptToEvaluateOnNewDocument", source=CATCH_TERMINAL)
        yield shown


def test_a_browser_shows_the_history_takes_keys_and_loads_nothing_else(served: Served, browser: Page) -> None:
    def wait_for(text: str) -> None:
        wait_until(lambda: text in browser.evaluate(SCREEN), lambda: f"no {text}:\n{browser.evaluate(SCREEN)}")

    def press(key: str) -> None:
        browser.call("Input.dispatchKeyEvent", type="keyDown", text=key, key=key)
        browser.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    browser.call("Page.navigate", url=f"{served.origin}{served.base}")
    for run in ("aaa111", "bbb222", "ccc333"):
        wait_for(run)
    assert "Start new runs" not in browser.evaluate(SCREEN)
    press("?")
    wait_for("Start new runs")
    press("q")  # closes the help
    wait_until(lambda: "Start new runs" not in browser.evaluate(SCREEN), lambda: str(browser.evaluate(SCREEN)))
    press("q")
    wait_until(lambda: browser.evaluate("document.activeElement.id") == "reopen", lambda: "the app was not closed")

    assert "/static/fonts/" in " ".join(browser.requests)
    assert [url for url in browser.requests if not url.startswith(f"{served.origin}{served.base}")] == []
    assert [text for text in browser.console_errors if "exceptionDetails" in json.loads(text)] == []
    assert "Content Security Policy" not in " ".join(browser.console_errors)


def test_the_token_is_in_no_process_and_no_file(tmp_path: Path) -> None:
    with open_tab(tmp_path) as (server, _, app):
        token = server.base.strip("/").encode()
        assert len(token) == 32
        for pid in (server.process.pid, app.pid):
            for name in ("cmdline", "environ"):
                assert token not in Path(f"/proc/{pid}/{name}").read_bytes()
    assert [path for path in tmp_path.rglob("*") if path.is_file() and token in path.read_bytes()] == []


def test_tabs_beyond_the_limit_are_refused_until_one_is_closed(tmp_path: Path) -> None:
    with open_tab(tmp_path, "--sessions", "1") as (server, first, app):
        for status, connection in (
            server.open_tab(f"{server.base}ws?width=120&height=30", Origin=server.origin),
            server.request(server.base),
        ):
            assert status == 503
            read_until(connection, b"--sessions")
            connection.close()
        assert psutil.Process(server.process.pid).children() == [app]
        first.close()

        def is_open() -> bool:
            status, connection = server.request(server.base)
            connection.close()
            return status == 200

        wait_until(is_open, lambda: "no tab is free")


def test_a_frozen_app_is_killed_after_its_tab_is_closed(tmp_path: Path) -> None:
    with open_tab(tmp_path) as (_, connection, app):
        os.kill(app.pid, signal.SIGSTOP)
        connection.close()
        wait_until(lambda: not app.is_running() or app.status() == psutil.STATUS_ZOMBIE, lambda: "it still runs")
    app.wait(timeout=TIMEOUT)


def files_of_runs(runs: Path) -> dict[Path, bytes]:
    """Return the content of all files but the history, which is ingested by who watches."""
    files = (path for path in runs.rglob("*") if path.is_file() and not path.name.startswith("clarinet.db"))
    return {path: path.read_bytes() for path in files}


def test_a_read_only_app_changes_nothing(tmp_path: Path) -> None:
    with open_tab(tmp_path, "--read-only") as (_, connection, _):
        before = files_of_runs(tmp_path / AWKWARD)
        press(connection, "r")
        read_until(connection, b"read-only")
    assert files_of_runs(tmp_path / AWKWARD) == before


READING = {"make_command", "add_directories", "make_form"}


def test_every_action_that_changes_something_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(READ_ONLY_VARIABLE, "1")
    actions = RunActions(tmp_path, tmp_path)
    names = {name for name, value in vars(RunActions).items() if callable(value) and not name.startswith("_")}
    assert names > READING
    for name in names - READING:
        with pytest.raises(InputError, match="read-only"):
            getattr(actions, name)()


def test_a_read_only_app_starts_no_supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(READ_ONLY_VARIABLE, "1")
    enqueue_directly(make_fault_run(tmp_path, "one"))
    ensure_supervisor_if_needed(tmp_path)
    assert find_supervisor(tmp_path) is None
