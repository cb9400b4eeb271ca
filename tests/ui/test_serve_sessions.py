"""The apps of `clarinet serve`: their number, their end, what they may change, and who can learn the token."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from clarinet_tui.queue.local import ensure_supervisor_if_needed
from clarinet_tui.queue.supervisor import find_supervisor
from clarinet_tui.runs.ownership import READ_ONLY_VARIABLE
from clarinet_tui.ui.actions import RunActions
from core.errors import InputError
from tests.support.serving import AWKWARD, TIMEOUT, press, read_until, serving, wait_until
from tests.support.supervised import enqueue_directly, make_fault_run
from tests.support.ui_runs import three_runs

READING = {"make_command", "add_directories", "make_form"}


def files_of_runs(runs: Path) -> dict[Path, bytes]:
    """Return the content of all files but the history, which is ingested by who watches."""
    files = (path for path in runs.rglob("*") if path.is_file() and not path.name.startswith("clarinet.db"))
    return {path: path.read_bytes() for path in files}


def test_the_token_is_in_no_process_and_no_file(tmp_path: Path) -> None:
    three_runs(tmp_path / AWKWARD)
    with serving(tmp_path) as server:
        token = server.base.strip("/").encode()
        assert len(token) == 32
        _, connection = server.open_tab(f"{server.base}ws?width=120&height=30", Origin=server.origin)
        read_until(connection, b"aaa111")
        processes = [server.process.pid, *(child.pid for child in psutil.Process(server.process.pid).children())]
        assert len(processes) == 2
        for pid in processes:
            for name in ("cmdline", "environ"):
                assert token not in Path(f"/proc/{pid}/{name}").read_bytes()
        connection.close()
    assert [path for path in tmp_path.rglob("*") if path.is_file() and token in path.read_bytes()] == []


def test_tabs_beyond_the_limit_are_refused_until_one_is_closed(tmp_path: Path) -> None:
    three_runs(tmp_path / AWKWARD)
    with serving(tmp_path, "--sessions", "1") as server:
        address = f"{server.base}ws?width=120&height=30"
        _, first = server.open_tab(address, Origin=server.origin)
        read_until(first, b"aaa111")
        for status, connection in (server.open_tab(address, Origin=server.origin), server.request(server.base)):
            assert status == 503
            read_until(connection, b"--sessions")
            connection.close()
        assert len(psutil.Process(server.process.pid).children()) == 1
        first.close()

        def is_open() -> bool:
            status, connection = server.request(server.base)
            connection.close()
            return status == 200

        wait_until(is_open, lambda: "no tab is free")


def test_a_frozen_app_is_killed_after_its_tab_is_closed(tmp_path: Path) -> None:
    three_runs(tmp_path / AWKWARD)
    with serving(tmp_path) as server:
        _, connection = server.open_tab(f"{server.base}ws?width=120&height=30", Origin=server.origin)
        read_until(connection, b"aaa111")
        (child,) = psutil.Process(server.process.pid).children()
        os.kill(child.pid, signal.SIGSTOP)
        connection.close()
        wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, lambda: "it still runs")
    child.wait(timeout=TIMEOUT)


def test_a_read_only_app_changes_nothing(tmp_path: Path) -> None:
    runs = tmp_path / AWKWARD
    three_runs(runs)
    before = files_of_runs(runs)
    with serving(tmp_path, "--read-only") as server:
        _, connection = server.open_tab(f"{server.base}ws?width=120&height=30", Origin=server.origin)
        read_until(connection, b"aaa111")
        press(connection, "r")
        read_until(connection, b"read-only")
        connection.close()
    assert files_of_runs(runs) == before


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
