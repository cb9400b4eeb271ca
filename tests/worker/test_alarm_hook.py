"""The command for alarms: no shell, its own time, its output in the log, and trouble with it said once."""

import os
import shutil
import stat
import sys
import time
from pathlib import Path

import pytest

from clarinet_tui.devices.local import Device
from clarinet_tui.queue import requests
from clarinet_tui.queue.executor import LocalExecutor
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.queue.requests import Wishes
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.worker.alarm_hook import Herald, command_words
from core.errors import InputError
from core.events import Alarmed
from core.resolve import resolve
from tests.support.histories import make_run

ALARM = Alarmed(kind="collapse", message="few\nclasses", advice="a lower rate", iteration=7)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return make_run(tmp_path / "runs", id="abc123")


def herald(run: RunDirectory, *words: str, seconds: float = 30.0) -> tuple[Herald, list[str]]:
    said: list[str] = []
    return Herald(run, run.read_config(), words, said.append, seconds), said


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_words_as_a_shell_would_split_them() -> None:
    assert command_words("sh -c 'a $HOME; b'") == ("sh", "-c", "a $HOME; b")


@pytest.mark.parametrize("text", ["", "  ", "echo 'a", "no-such-program-anywhere x", "./not-here.sh", "echo|wc"])
def test_what_cannot_be_started_is_told_at_once(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--on-alarm: "):
        command_words(text, tmp_path)


def test_a_script_beside_the_user(tmp_path: Path) -> None:
    (tmp_path / "tell.sh").write_text("#!/bin/sh\n")
    (tmp_path / "tell.sh").chmod(0o700)
    assert command_words("./tell.sh loud", tmp_path) == ("./tell.sh", "loud")


def test_what_the_command_finds_and_where_its_words_go(run: RunDirectory) -> None:
    names = ["RUN", "RUNS", "ALARM", "MESSAGE", "ADVICE", "ITERATION", "METHOD", "TASK", "SEED"]
    messenger, said = herald(run, *python(f"import os\nfor n in {names}: print(n, os.environ['CLARINET_' + n])"))
    messenger.announce(ALARM)
    messenger.close()
    assert run.log.read_text().splitlines() == [
        "RUN abc123",
        f"RUNS {run.runs_dir.absolute()}",
        "ALARM collapse",
        "MESSAGE few classes",
        "ADVICE a lower rate",
        "ITERATION 7",
        "METHOD clarinet",
        "TASK U->M",
        "SEED 1",
    ]
    assert stat.S_IMODE(run.log.stat().st_mode) == 0o600
    assert said == []


def test_trouble_is_said_once_and_the_next_alarm_is_told_all_the_same(run: RunDirectory) -> None:
    messenger, said = herald(run, *python("print('called'); raise SystemExit(3)"))
    for _ in range(3):
        messenger.announce(ALARM)
    messenger.close()
    assert run.log.read_text() == "called\n" * 3
    (sentence,) = said
    assert sentence.endswith("ended with exit code 3; what it printed is in worker.log")


def test_a_program_that_went_away_is_trouble_and_no_more(run: RunDirectory) -> None:
    messenger, said = herald(run, str(run.path / "gone"))
    messenger.announce(ALARM)
    messenger.close()
    assert len(said) == 1
    assert "No such file" in said[0]


def test_who_takes_too_long_is_killed_with_all_its_children(run: RunDirectory) -> None:
    code = (
        "import os, subprocess\nchild = subprocess.Popen(['sleep', '600'])\nprint(child.pid, flush=True)\nchild.wait()"
    )
    messenger, said = herald(run, *python(code), seconds=1.0)
    messenger.announce(ALARM)
    assert said == []  # whoever trains did not wait
    messenger.close(patience=60)
    assert "took longer than 1 s, and was killed" in said[0]
    assert is_gone(int(run.log.read_text()))


def test_the_end_of_the_run_waits_no_longer_than_it_must(run: RunDirectory) -> None:
    messenger, said = herald(run, shutil.which("sleep") or "sleep", "600")
    messenger.announce(ALARM)
    messenger.announce(ALARM)
    messenger.close(patience=0.0)
    assert len(said) == 1


def test_without_a_command_nothing_is_started(run: RunDirectory) -> None:
    messenger, _ = herald(run)
    messenger.announce(ALARM)
    messenger.close()
    assert not run.log.exists()


def test_the_command_goes_through_the_queue_to_the_worker_as_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "ensure_supervisor", lambda runs_dir: None)
    wishes = Wishes(tmp_path, tmp_path, on_alarm=("notify", "--loud", "two words"))
    (run,) = requests.submit(tmp_path / "runs", [resolve(preset="smoke")], wishes)
    entry = read_queue(run.runs_dir)[run.id]
    assert entry.on_alarm == ("notify", "--loud", "two words")
    command = LocalExecutor().command(run, entry, Device(key="cpu", label="cpu", name="CPU"))
    assert [word for word in command if "on-alarm" in word] == [
        "--on-alarm=notify",
        "--on-alarm=--loud",
        "--on-alarm=two words",
    ]


def test_settings_cannot_bring_a_command() -> None:
    with pytest.raises(InputError, match="on_alarm"):
        resolve({"on_alarm": ["touch", "x"]}, place="mine.toml")


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
