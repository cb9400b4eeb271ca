"""`clarinet doctor`: one line per check, and an exit code."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from clarinet_tui.cli.main import app
from tests.support.histories import make_run, open_history

VERDICTS = {"good": "✓", "warning": "!", "bad": "✗"}


def doctor(folder: Path, *arguments: str) -> Result:
    directories = ["--runs-dir", str(folder / "runs"), "--data-dir", str(folder / "data")]
    return CliRunner(env={"CLARINET_DB": ""}).invoke(app, ["doctor", *arguments, *directories])


def test_empty_directory_passes_and_stays_empty(tmp_path: Path) -> None:
    done = doctor(tmp_path)
    assert done.exit_code == 0, done.stdout
    assert not list(tmp_path.iterdir())


def test_text_and_json_have_the_same_checks(tmp_path: Path) -> None:
    open_history(tmp_path / "runs").close()
    make_run(tmp_path / "runs")
    checks = json.loads(doctor(tmp_path, "--json").stdout)
    lines = doctor(tmp_path).stdout.splitlines()
    names = "Python, torch, GPUs, data, disk space, runs, writing, clock, run files, file system, history, journals"
    assert [check["name"] for check in checks if check["name"] != "Slurm"] == [  # which few machines have
        *names.split(", "),
        *("queue", "supervisor", "terminal"),
    ]
    assert set(checks[0]) == {"name", "verdict", "message", "advice"}
    for check in checks:
        assert any(line.startswith(VERDICTS[check["verdict"]]) and check["name"] in line for line in lines)


def test_failed_check_is_exit_1_with_advice(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "clarinet.db").write_bytes(b"\x1b[31mgarbage" * 1000)
    done = doctor(tmp_path)
    assert done.exit_code == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("✗")]
    assert "clarinet reindex" in line
    assert doctor(tmp_path, "--json").exit_code == 1
