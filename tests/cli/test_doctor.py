"""`clarinet doctor`: a line for each check, and an exit code."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from clarinet_tui.cli.main import app
from tests.support.histories import make_run, open_history

VERDICTS = {"good": "✓", "warning": "!", "bad": "✗"}


def doctor(folder: Path, *words: str) -> Result:
    places = ["--runs-dir", str(folder / "runs"), "--data-dir", str(folder / "data")]
    return CliRunner(env={"CLARINET_DB": ""}).invoke(app, ["doctor", *words, *places])


def test_all_is_well_where_nothing_is_there_yet_and_nothing_is_made(tmp_path: Path) -> None:
    done = doctor(tmp_path)
    assert done.exit_code == 0, done.stdout
    assert not list(tmp_path.iterdir())


def test_lines_and_objects_say_the_same(tmp_path: Path) -> None:
    open_history(tmp_path / "runs").close()
    make_run(tmp_path / "runs")
    found = json.loads(doctor(tmp_path, "--json").stdout)
    lines = doctor(tmp_path).stdout.splitlines()
    assert [check["name"] for check in found] == [
        "Python",
        "torch",
        "GPUs",
        "data",
        "disk space",
        "file system",
        "writing",
        "clock",
        "history",
        "supervisor",
        "terminal",
    ]
    for check in found:
        assert any(line.startswith(VERDICTS[check["verdict"]]) and check["name"] in line for line in lines)


def test_something_broken_is_exit_1_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "clarinet.db").write_bytes(b"\x1b[31mgarbage" * 1000)
    done = doctor(tmp_path)
    assert done.exit_code == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("✗")]
    assert "clarinet reindex" in line
    assert doctor(tmp_path, "--json").exit_code == 1
