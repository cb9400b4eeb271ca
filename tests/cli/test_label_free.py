"""A run whose target has no labels: no accuracy anywhere, and the epochs that scores without labels select."""

import re
from pathlib import Path

import pytest

from clarinet_tui.runs.directory import RunDirectory
from tests.support.cli import invalid, invoke, invoke_json
from tests.support.trained_runs import make_label_free_run


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return make_label_free_run(tmp_path, "aaa111")


def test_show_has_the_epochs_that_need_no_labels(run: RunDirectory) -> None:
    text = invoke(run.runs_dir, "show", "aaa").stdout
    group = text.partition("Epochs selected without labels")[2].split("\n\n")[0]
    assert [line.split() for line in group.strip().splitlines()] == [
        ["held-out", "risk", "epoch", "3", "(0.200)"],
        ["information", "epoch", "2", "(0.800)"],
    ]
    assert "accuracy" not in text
    content = invoke_json(run.runs_dir, "show", "aaa")
    assert content["target_accuracy"] is None
    assert content["selected_without_labels"] == {
        "risk": {"epoch": 3, "score": 0.2},
        "information": {"epoch": 2, "score": 0.8},
    }


def test_other_commands_leave_the_accuracy_out(run: RunDirectory, tmp_path: Path) -> None:
    (row,) = invoke_json(run.runs_dir, "ls")
    assert (row["state"], row["target_accuracy"]) == ("finished", None)
    listed = invoke(run.runs_dir, "ls").stdout
    assert "aaa111" in listed
    assert not re.search("none|nan", listed, re.IGNORECASE)
    for command in (["table"], ["report", "--out", str(tmp_path / "x.html")], ["metrics", "aaa"], ["logs", "aaa"]):
        done = invoke(run.runs_dir, *command)
        assert done.exit_code == 0, (command, done.exception)
    assert "no data to draw" in invalid(run.runs_dir, "plot", "classes")
