"""The programs as a whole: versions, -h, options of every command, and directories that cannot be written."""

import re
import sys
from pathlib import Path

import pytest
import tomli
from typer.testing import CliRunner

from clarinet_tui.cli.ls import run_table
from clarinet_tui.cli.main import app, hoist_database
from clarinet_tui.runs.state import RunState
from clarinet_tui.tables.writers import to_rich
from clarinet_tui.ui import main as tui_main
from tests.support import forked_python
from tests.support.cli import invoke, run_clarinet
from tests.support.disks import read_only
from tests.support.histories import make_run, open_history
from tests.support.tables import printed
from tests.support.ui_runs import run_row

SCRIPTS = tomli.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_versions(script: str) -> None:
    def run(*arguments: str) -> str:
        code = "from {0} import {1}; {1}()".format(*SCRIPTS[script].split(":"))
        return forked_python.run([sys.executable, "-P", "-c", code, *arguments]).stdout

    assert re.fullmatch(r"clarinet \d+\.\d+\.\d+\S*\n", run("--version"))
    verbose = run("--version", "--verbose").splitlines()
    assert re.match(r"Python 3\.", verbose[1])
    assert re.match(r"torch \d.*, built for (CUDA|ROCm|the CPU only)", verbose[2])


def test_short_help_option() -> None:
    for arguments in (["-h"], ["ls", "-h"], ["queue", "-h"], ["queue", "ls", "-h"], ["data", "list", "-h"]):
        result = CliRunner().invoke(app, arguments)
        assert (result.exit_code, result.output[:7]) == (0, "Usage: "), arguments


def test_tui_has_the_options_of_the_app() -> None:
    options = set(re.findall(r"--[a-z-]+", tui_main._parser().format_help())) - {"--db", "--version", "--verbose"}
    assert options == set(re.findall(r"--[a-z-]+", CliRunner().invoke(app, ["tui", "--help"]).output))


def test_database_is_an_option_of_every_command_and_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hoist_database(["ls", "-q", "--db", "a.db"]) == ["--db", "a.db", "ls", "-q"]
    assert hoist_database(["ls", "--db=a.db", "x"]) == ["--db=a.db", "ls", "x"]
    assert hoist_database(["note", "abc", "--", "--db"]) == ["note", "abc", "--", "--db"]
    assert hoist_database(["ls", "--db"]) == ["ls", "--db"]
    run = make_run(tmp_path / "runs")
    monkeypatch.setenv("CLARINET_DB", "local/e.db")
    for options, name in ((["--db", "local/h.db"], "h.db"), ([], "e.db")):
        listed = run_clarinet(tmp_path, "ls", "-q", *options)
        assert (listed.stdout.split(), listed.stderr) == ([run.id], "")
        assert (tmp_path / "local" / name).exists()
    assert not (tmp_path / "runs" / "clarinet.db").exists()


def test_ls_shows_names_if_any(tmp_path: Path) -> None:
    open_history(tmp_path).close()
    make_run(tmp_path, "abc")
    assert " name " not in invoke(tmp_path, "ls").stdout
    make_run(tmp_path, "bcd", name="lower rate")
    assert re.search(r" name .*\n.* lower rate ", invoke(tmp_path, "ls").stdout)


def test_ls_on_a_narrow_terminal_keeps_state_method_and_accuracy() -> None:
    run = run_row(
        id="3l8vrnxuz",
        state=RunState.FINISHED,
        method="fwd+basset-kept",
        task="Y->D",
        name="a name that is long",
        target_accuracy=83.61,
        pseudo_label_accuracy=95.34,
        seconds=113.0,
        tags=("a-tag-that-is-long", "icml"),
    )
    narrow, wide = (printed(to_rich(run_table([run], {}), width, gap=1), width).splitlines() for width in (80, 200))
    assert all(text in narrow[1] for text in ("3l8vrnxuz finished fwd+basset-kept Y->D", "83.61", "a nam", "a-tag"))
    assert "pseudo" in wide[0]
    assert "pseudo" not in narrow[0]
    assert "a name that is long" in wide[1]
    assert "alarms" not in wide[0], "no run has any"


def test_directory_that_cannot_be_written_is_listed_from_a_temporary_history(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    run = make_run(runs)
    with read_only(runs):
        listed = invoke(runs, "ls", "-q")
        assert (listed.exit_code, listed.stdout.split()) == (0, [run.id]), listed.exception
    assert "cannot be written: its history is built in a temporary file" in listed.stderr
    assert not (runs / "clarinet.db").exists()
