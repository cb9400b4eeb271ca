"""`from clarinet_tui import History`, and every example of its guide and reference."""

import doctest
import gc
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import clarinet_tui
from clarinet_tui import History, record
from core import resolve, train
from core.errors import InputError
from tests.support import forked_python
from tests.support.events import evaluation, started, step
from tests.support.histories import make_run, open_history, write_events
from tests.support.trained_runs import make_trained_run
from tests.support.workers import make_task

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "read-from-python.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    runs = tmp_path / "runs"
    open_history(runs).close()
    for seed in (1, 2):
        make_trained_run(runs, f"run{seed}", [20, 60 + seed], seed=seed)
    return runs


def test_results_are_plain_and_have_the_same_keys(runs: Path) -> None:
    with History(str(runs)) as history:
        rows = history.runs("seed:1..2", sort="target_accuracy")
        assert [run["id"] for run in rows] == ["run2", "run1"]
        assert {run["state"] for run in rows} == {"finished"}
        assert {type(run["state"]) for run in rows} == {str}
        assert rows[0].keys() == rows[1].keys()
        assert [run["id"] for run in history.runs(sort="seed", descending=False, limit=1)] == ["run1"]
        with pytest.raises(InputError, match="query"):
            history.runs("seed:many")
        assert history.config("run1")["stage1"]["epochs"] == 3
        assert history.evaluations("run2")[-1]["confusion"] == [[62, 38], [38, 62]]
        assert len(history.series("run1", "adversarial_loss", start=5, stop=8).x) == 3
        (cell,) = [cell for cell in history.table(seeds=2) if cell["runs"]]
        assert (cell["mean"], cell["published_mean"], cell["runs"]) == (61.5, 83.692, "run1 run2")
        assert all(cell["oracle"] for cell in history.table(select="best"))


def test_iterations_have_the_same_keys(tmp_path: Path) -> None:
    run = make_run(tmp_path, "aaa")
    write_events(
        run, [started(), step(1, {"mmd": 1.0}), step(2, {"mmd": float("nan"), "mine": 3.0}), evaluation(2, 50.0)]
    )
    with History(tmp_path) as history:
        rows = list(history.iterations("a" * 3))
        assert [row["mine"] for row in rows] == [None, 3.0]
        assert rows[1]["mmd"] != rows[1]["mmd"]
        (only,) = history.iterations("aaa", ["mine"], start=2, stop=3)
        assert only == {
            "run": "aaa", "iteration": 2, "epoch": 0, "adaptation_epoch": None, "stage": "clarinet", "seconds": 2 / 64,
            "mine": 3.0,
        }  # fmt: skip
        with pytest.raises(InputError, match="no 'target_accuracy' at iterations: expected one of mmd, mine"):
            history.iterations("aaa", ["target_accuracy"])
        with pytest.raises(InputError, match="no 'lambda'"):
            history.series("aaa", "lambda")


def test_new_lines_are_ingested_unless_read_only(runs: Path) -> None:
    write_events(make_run(runs, "new"), [started(), step(1)])
    with pytest.raises(InputError, match="no such directory"):
        History(runs / "nowhere")
    with History(runs, read_only=True) as history:
        assert history.runs() == []
        history.refresh()
        with pytest.raises(InputError, match="open the history without read_only"):
            history.evaluations("new")
    with History(runs, db=runs / "local.db") as history:
        assert len(history.runs()) == 3
    with History(runs) as history:
        assert history.runs("id:new")[0]["iteration"] == 1
        write_events(make_run(runs, "later"), [started(), step(1)])
        assert len(history.runs()) == 3
        history.refresh()
        assert history.runs(limit=1)[0]["id"] == "later"


@pytest.mark.parametrize("example", EXAMPLES, ids=["runs", "curves", "board"])
def test_examples_of_the_guide(
    example: str, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run the example in the directory with the runs."""
    run = make_run(runs, "zzz", task="Y->D")
    measured = {"complementary_loss": 0.5, "ascended": 1.0}
    write_events(run, [started(task="Y->D"), step(1, measured), step(2, measured), evaluation(2, 42.0, epoch=1)])
    monkeypatch.chdir(runs.parent)
    exec(compile(example, str(GUIDE), "exec"), {})
    printed = capsys.readouterr().out
    expected = {
        "limit=10": "run2 U->M 2 62.0 ()",
        "width=100": "2 points, the last one at 0.500\n2 of 2 steps were gradient ascents\nBest at epoch 1",
        "seeds=2": "U->M CLARINET: 61.50 ± 0.71 (2 seeds)\n  published 83.692, from runs run1 run2",
    }
    assert next(output for key, output in expected.items() if key in example) in printed


def test_examples_of_the_reference(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs.parent)
    with History(runs) as history:
        tests = doctest.DocTestFinder().find(History, globs={"History": History, "history": history})
        assert {test.name.rpartition(".")[2] for test in tests if not test.examples} <= {"__init__", "refresh", "close"}
        for test in tests:
            output: list[str] = []
            doctest.DocTestRunner().run(test, out=output.append)
            assert output == []


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = clarinet_tui.Nothing


def tiny_settings(task: str, **settings: Any) -> dict[str, Any]:
    usual = {"preset": "smoke", "batch_size": 8, "source_size": 0, "threads": 1, "device": "cpu"}
    return {"task": task, **usual, **settings}


def test_record_trains_and_records(tmp_path: Path) -> None:
    events = list(record(tiny_settings(make_task(tmp_path)), runs_dir=tmp_path / "runs", epochs=1, warmup_epochs=1))
    assert (events[0]["event"], events[-1]["event"]) == ("started", "finished")
    steps = [event for event in events if event["event"] == "step"]
    assert {type(event["complementary_loss"]) for event in steps} == {float}
    with History(tmp_path / "runs") as history:
        (run,) = history.runs()
        assert (run["id"], run["state"]) == (events[0]["id"], "finished")
        assert len(list(history.iterations(run["id"]))) == len(steps)


def test_the_example_of_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", forked_python.Popen)
    monkeypatch.chdir(tmp_path)
    (example,) = doctest.DocTestFinder().find(record, "record", globs={})
    report: list[str] = []
    assert doctest.DocTestRunner().run(example, out=report.append) == (0, 4), "".join(report)
    assert [row["state"] for row in History("runs").runs()] == ["finished"]


def test_record_that_is_left_early_saves_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", forked_python.Popen)
    for event in record(tiny_settings(make_task(tmp_path), epochs=100_000), runs_dir=tmp_path / "runs"):
        if event["event"] == "step":
            break
    del event
    gc.collect()
    with History(tmp_path / "runs") as history:
        (run,) = history.runs()
    assert run["state"] == "stopped"
    assert (tmp_path / "runs" / run["id"] / "checkpoint.pt").exists()


def test_record_refuses_wrong_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", forked_python.Popen)
    with pytest.raises(InputError, match="record: epochs: expected an integer"):
        record(epochs="ten")
    with pytest.raises(InputError, match=r"^batch_size: a batch of 64 is more than the 40 images"):
        list(record(tiny_settings(make_task(tmp_path), batch_size=64), runs_dir=tmp_path / "runs"))
    with History(tmp_path / "runs") as history:
        assert history.runs() == []


def test_training_without_recording_uses_the_data_directory_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLARINET_DATA", str(tmp_path / "elsewhere"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=str(tmp_path / "elsewhere")):
        next(train(resolve(task="M->U", preset="smoke", device="cpu")))
    assert not (tmp_path / "data").exists()
