"""`clarinet run --headless` with real processes, real signals and own data."""

import json
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support import forked_python
from tests.support.cli import CLARINET, cli_environment
from tests.support.workers import make_task

SHORT = ["--preset", "smoke", "--set", "batch_size=8", "--set", "source_size=0", "--set", "threads=1"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two domains of own data, the source with complementary labels only, and a foreign package named `core`."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").write_text("raise RuntimeError('the wrong core')")
    make_task(tmp_path, true_labels=False)
    return tmp_path


def run(folder: Path, *arguments: str, start: Any = forked_python.run) -> Any:
    command = [*CLARINET, "run", *arguments]
    return start(command, cwd=folder, capture_output=True, text=True, timeout=120, env=cli_environment())


def start(folder: Path, *arguments: str, popen: Any = forked_python.Popen) -> Any:
    """Start a headless run with JSON lines, whose output can be read while it trains."""
    command = [*CLARINET, "run", "--headless", "--jsonl", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return popen(command, cwd=folder, **pipes, text=True, env=cli_environment())


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_json_lines_from_start_to_finish_and_no_foreign_core_package(folder: Path) -> None:
    assert (folder / "core").is_dir()
    arguments = ["--headless", "--jsonl", "--task", "photos->scans", "--method", "gac+cdan-e", *SHORT]
    done = run(folder, *arguments, start=subprocess.run)
    assert done.returncode == 0, done.stderr
    output = events(done.stdout)
    assert [output[0]["event"], output[-1]["event"]] == ["started", "finished"]
    steps = [event for event in output if event["event"] == "step"]
    assert [step["iteration"] for step in steps] == list(range(1, output[0]["iterations_total"] + 1))
    assert {"stage", "epoch", "complementary_loss", "ascended"} <= steps[0].keys()
    evaluation = next(event for event in output if event["event"] == "evaluation")
    assert evaluation["source_accuracy"] is None
    assert 0 <= evaluation["target_accuracy"] <= 100
    directory = folder / "runs" / output[0]["id"]
    assert {"config.toml", "journal.jsonl", "environment.json", "checkpoint.pt"} <= {
        path.name for path in directory.iterdir()
    }
    assert (folder / "runs" / "clarinet.db").exists()


def test_plain_lines_without_a_terminal(folder: Path) -> None:
    done = run(folder, "--headless", "--task", "photos->scans", *SHORT)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("run ") and ": clarinet on " in line for line in lines[:3])
    assert lines[-1].startswith("finished after ")
    assert "\x1b" not in done.stdout


def test_flags_override_the_settings_file_and_json_is_one_array(folder: Path) -> None:
    settings = 'task = "photos->scans"\npreset = "smoke"\nbatch_size = 8\nsource_size = 0\nepochs = 9\nthreads = 1\n'
    (folder / "mine.toml").write_text(settings)
    done = run(folder, "mine.toml", "--headless", "--json", "--epochs", "1", "--set", "warmup_epochs=1")
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert [output[0]["event"], output[-1]["event"]] == ["started", "finished"]
    assert output[0]["epochs_total"] == 2


def run_until_signal(
    folder: Path, arguments: list[str], steps: int, number: signal.Signals, popen: Any = forked_python.Popen
) -> tuple[list[dict[str, Any]], int]:
    """Signal a run after some iterations; return its events and its exit code."""
    output = []
    with start(folder, *arguments, popen=popen) as process:
        for line in process.stdout:
            output.append(json.loads(line))
            if sum(event["event"] == "step" for event in output) == steps and output[-1]["event"] == "step":
                process.send_signal(number)
    return output, process.returncode


def test_signal_saves_the_run_and_resume_continues_it(folder: Path) -> None:
    arguments = ["--task", "photos->scans", *SHORT, "--epochs", "400", "--run-id", "mine"]
    first, code = run_until_signal(folder, arguments, 32, signal.SIGINT, subprocess.Popen)
    assert (code, first[-1]["event"]) == (130, "stopped")
    assert "epochs = 400" in (folder / "runs" / "mine" / "config.toml").read_text()
    second, code = run_until_signal(folder, ["--resume", "mi"], 3, signal.SIGTERM)
    assert (code, second[-1]["event"]) == (143, "stopped")
    third, _ = run_until_signal(folder, ["--resume", "mi"], 1, signal.SIGTERM)
    for before, after in ((first, second), (second, third)):
        assert (after[0]["event"], after[0]["from_iteration"]) == ("resumed", before[-1]["iteration"])
        assert after[1]["iteration"] == before[-1]["iteration"] + 1


def test_requeued_job_resumes_under_its_id(folder: Path) -> None:
    arguments = ["--headless", "--jsonl", "--task", "photos->scans", *SHORT, "--run-id", "job17"]
    assert run(folder, *arguments).returncode == 0
    second = run(folder, *arguments)
    assert second.returncode == 0, second.stderr
    assert events(second.stdout)[0]["event"] == "resumed"
    assert "other settings" in run(folder, *arguments, "--seed", "5").stderr


def test_run_killed_before_its_first_checkpoint_starts_over(folder: Path) -> None:
    arguments = ["--task", "photos->scans", *SHORT, "--run-id", "killed"]
    assert run_until_signal(folder, arguments, 3, signal.SIGKILL)[1] == -signal.SIGKILL
    second = run(folder, "--headless", "--jsonl", "--resume", "killed")
    assert second.returncode == 0, second.stderr
    output = events(second.stdout)
    assert output[0]["event"] == "started"
    with closing(sqlite3.connect(folder / "runs" / "clarinet.db")) as history:
        rows, last = history.execute("SELECT count(*), max(iteration) FROM iterations").fetchone()
    assert rows == last == output[0]["iterations_total"]


def test_second_worker_of_a_run_is_refused(folder: Path) -> None:
    arguments = ["--task", "photos->scans", *SHORT, "--epochs", "500", "--run-id", "twice"]
    with start(folder, *arguments) as first:
        assert "started" in first.stdout.readline()
        second = run(folder, "--headless", *arguments)
        first.terminate()
        first.stdout.read()
    assert second.returncode == 2
    assert f"process {first.pid}" in second.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--headless", "--set", "epochs=ten"], 'command line: epochs: expected an integer ≥ 1, got "ten"'),
        (["--headless", "--set", "epoch=3"], "command line: epoch: no such setting; did you mean epochs?"),
        (["--headless", "--method", "clarinete"], 'method: no method "clarinete"; did you mean clarinet?'),
        (["--headless", "--task", "M->nowhere"], 'task: "nowhere" is neither a folder, an .npz file nor one of'),
        (["--headless", "--task", "photos->scans", *SHORT, "--set", "batch_size=64"], "64"),
        (["--headless", "--task", "M->U", *SHORT], "clarinet data fetch"),
        (["--headless", "--device", "cuda:7", *SHORT], "device: there is no cuda:7 here"),
        (["--headless", "--resume", "nothing"], "no run in runs has an id starting with 'nothing'"),
        (["--headless", "--run-id", "../escape"], "run id: expected 3 to 32 of 0-9 and a-z"),
        (["absent.toml", "--headless"], "absent.toml: No such file or directory"),
        (["--preset", "smoke"], "use --headless"),
    ],
)
def test_invalid_input_is_one_sentence_and_changes_nothing(folder: Path, arguments: list[str], message: str) -> None:
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    left = [path for path in (folder / "runs").rglob("*") if path.is_dir()] if (folder / "runs").exists() else []
    assert left == []


def test_closed_pipe_does_not_stop_the_run(folder: Path) -> None:
    with start(folder, "--task", "photos->scans", *SHORT, "--run-id", "piped") as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 0, process.stderr.read()
    assert '"event":"finished"' in (folder / "runs" / "piped" / "journal.jsonl").read_text()
