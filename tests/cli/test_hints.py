"""Printed commands can be pasted into a shell, and nothing long starts unasked."""

import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer import Abort

from clarinet_tui.cli.launch import warn_of_cost
from clarinet_tui.cli.main import app, name_runs_dir
from clarinet_tui.queue.queue_file import read_queue
from core.events import Stopped
from core.resolve import resolve
from tests.support.cli import invoke
from tests.support.events import started
from tests.support.histories import make_run, open_history, write_events


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runs directory whose name needs quoting, without a supervisor."""
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
    monkeypatch.delenv("CLARINET_RUNS", raising=False)
    monkeypatch.chdir(tmp_path)
    open_history(tmp_path / "my runs; $x").close()
    return tmp_path / "my runs; $x"


def commands(output: str) -> list[list[str]]:
    """Return the words of each printed command, as a shell splits them."""
    found = re.findall(r"(?:^|: | or |with )(clarinet(?:-tui)? .*?)(?= or clarinet|$)", output, re.MULTILINE)
    return [shlex.split(text, comments=True) for text in found]


@pytest.mark.parametrize(
    "arguments",
    [["ls"], ["queue"], ["sweep", "--preset", "smoke"], ["sweep", "--preset", "smoke", "--dry-run"], ["rm", "abc"]],
)
def test_printed_commands_can_be_pasted_and_have_the_runs_directory(runs: Path, arguments: list[str]) -> None:
    if arguments[0] == "rm":
        write_events(make_run(runs, "abc"), [started(), Stopped(iteration=0)])
    printed = commands(invoke(runs, *arguments).stdout)
    assert printed
    assert arguments != ["ls"] or "smoke" in printed[0], "a run that takes seconds"
    for words in printed:
        assert words[-2:] == ["--runs-dir", str(runs)], words
        script = f"clarinet() {{ :; }}; clarinet-tui() {{ :; }}; {shlex.join(words)}"
        before = set(runs.parent.iterdir())
        assert subprocess.run(["bash", "-c", script], cwd=runs.parent, timeout=60).returncode == 0
        assert set(runs.parent.iterdir()) == before


def test_commands_in_errors_have_the_runs_directory() -> None:
    message = "run abc: has finished: `clarinet clone abc` starts a new run; get it with `clarinet data fetch usps`"
    for given in (["--runs-dir", "my runs"], ["--runs-dir=my runs"]):
        named = name_runs_dir(message, ["clarinet", "resume", "abc", *given])
        assert named == message.replace("clone abc`", "clone abc --runs-dir 'my runs'`")
    assert name_runs_dir(message, ["clarinet", "resume", "abc"]) == message


def sweep_on_a_terminal(answer: str, *arguments: str) -> None:
    """Run `clarinet sweep` in this process, with a terminal on which the answer was typed as its input."""
    master, slave = pty.openpty()
    os.write(master, answer.encode())
    with os.fdopen(slave) as terminal, os.fdopen(master), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", terminal)
        app(["sweep", "--device", "cpu", *arguments], standalone_mode=False)


def test_long_sweep_asks_on_a_terminal(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = ["--seeds", "1..20", "--runs-dir", str(runs)]
    with pytest.raises(Abort):
        sweep_on_a_terminal("n\n", *long)
    question = capsys.readouterr().out
    assert re.match(r"20 runs, \d+ iterations, roughly \d+h\d\d of training. Queue\? \[y/N\]", question)
    assert read_queue(runs).entries == ()
    for arguments in (["--yes", *long], ["--preset", "smoke", "--runs-dir", str(runs)]):
        sweep_on_a_terminal("", *arguments)
        assert "Queue?" not in capsys.readouterr().out
    assert len(read_queue(runs).entries) == 21


def test_run_without_a_preset_says_what_it_costs(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_cost(resolve(device="cpu", threads=2), runs, runs / "data")
    assert re.fullmatch(
        r"clarinet: no preset was chosen: paper trains 42900 iterations, roughly \d+m\d\d on this CPU; "
        r"--preset quick takes minutes, --preset smoke seconds\n",
        capsys.readouterr().err,
    )
