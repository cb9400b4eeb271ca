"""Alarms in `ls`, in `show`, and --on-alarm."""

import json
import shlex
from pathlib import Path

import pytest

from clarinet_tui.cli import completion
from core.errors import InputError
from core.events import Alarmed
from tests.support.cli import invoke
from tests.support.events import started
from tests.support.histories import make_run, open_history, write_events


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    runs = tmp_path / "runs"
    open_history(runs).close()
    alarm_event = Alarmed(kind="collapse", message="few\x1b[31m classes", advice="a lower rate", iteration=7)
    write_events(make_run(runs, id="bad"), [started(), alarm_event])
    write_events(make_run(runs, id="good"), [started()])
    return runs


def test_ls_shows_alarms_if_any(runs: Path) -> None:
    header, *lines = invoke(runs, "ls").stdout.splitlines()
    assert header.split()[-1] == "alarms"
    assert {line.split()[0]: line.split()[-1] for line in lines}["bad"] == "collapse"
    assert "alarms" not in invoke(runs, "ls", "id:good").stdout
    assert json.loads(invoke(runs, "ls", "alarm:collapse", "--json").stdout)[0]["alarms"] == ["collapse"]


def test_show_has_message_and_advice(runs: Path) -> None:
    shown = invoke(runs, "show", "bad").stdout
    assert "few[31m classes (since iteration 7)" in shown
    assert "a lower rate" in shown
    assert "\x1b" not in shown
    assert "Alarms" not in invoke(runs, "show", "good").stdout
    (alarm,) = json.loads(invoke(runs, "show", "bad", "--json").stdout)["open_alarms"]
    assert (alarm["kind"], alarm["iteration"], alarm["advice"]) == ("collapse", 7, "a lower rate")


def test_alarm_kinds_are_completed() -> None:
    assert [value for value, _ in completion.queries("alarm:dis")] == [
        "alarm:discriminator-blind",
        "alarm:discriminator-unbeaten",
    ]


def test_dry_run_has_the_command_in_each_line(runs: Path) -> None:
    lines = invoke(runs, "sweep", "--seeds", "1,2", "--dry-run", "--on-alarm", "sh -c 'x y'").stdout.splitlines()
    assert len(lines) == 2
    assert all(shlex.split(line)[-4:-2] == ["--on-alarm", "sh -c 'x y'"] for line in lines)


def test_missing_command_queues_nothing(runs: Path) -> None:
    done = invoke(runs, "sweep", "--seeds", "1,2", "--on-alarm", "no-such-program-anywhere")
    assert isinstance(done.exception, InputError)
    assert {path.name for path in runs.iterdir() if path.is_dir()} == {"bad", "good"}
