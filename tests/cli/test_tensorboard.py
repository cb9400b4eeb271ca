"""`clarinet export --format tensorboard`, read back with TensorBoard's own reader."""

import contextlib
import math
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.directory_watcher import DirectoryDeletedError
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from clarinet_tui.analysis.tensorboard import _name_folders
from clarinet_tui.cli.export import export_tensorboard
from clarinet_tui.history.queries import ITERATION_KEYS, read_evaluations, read_iterations
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Finished
from tests.support.cli import invoke
from tests.support.events import evaluation, resumed, started, step
from tests.support.histories import make_run, open_history
from tests.support.trained_runs import make_trained_run, read_runs
from tests.support.ui_runs import run_row
from tests.support.waiting import TIMEOUT, wait_until


def read_back(folder: Path) -> Any:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0})
    events.Reload()
    return events


def scalars(events: Any, tag: str) -> dict[int, float]:
    return {event.step: event.value for event in events.Scalars(tag)}


def test_scalars_confusion_matrices_and_settings_are_read_back(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    make_trained_run(runs, "one", [50.0, 60.0, 70.0], method="gac+dann", seed=3)
    db = read_runs(runs).db
    for _ in range(2):  # the second export replaces the first
        done = invoke(runs, "export", "one", "--format", "tensorboard", "--out", str(tmp_path / "tb"))
        assert done.exit_code == 0, done.exception
    events = read_back(tmp_path / "tb" / "gac+dann seed 3 one")
    count = 0
    for prefix, rows in (("", read_iterations(db, "one")), ("evaluation/", read_evaluations(db, "one"))):
        for row in rows:
            for name, value in row.items():
                if name not in ITERATION_KEYS and isinstance(value, int | float):
                    assert math.isclose(scalars(events, prefix + name)[row["iteration"]], value, rel_tol=1e-6), name
                    count += 1
    assert count > 100
    assert f"({count} scalars of 1 run)" in done.stdout
    assert sum(len(events.Scalars(tag)) for tag in events.Tags()["scalars"]) == count
    assert {image.encoded_image_string[:4] for image in events.Images("evaluation/confusion")} == {b"\x89PNG"}
    settings = events.PluginTagToContent("hparams")
    assert settings.keys() == {"_hparams_/experiment", "_hparams_/session_start_info"}
    assert b"classifier_rate" in settings["_hparams_/session_start_info"]


def test_follow_waits_for_a_run_to_start_and_writes_what_it_adds_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clarinet_tui.cli.export.FOLLOW_INTERVAL", 0.05)
    runs = tmp_path / "runs"
    open_history(runs).close()
    run = make_run(runs, "one")
    options = {"follow": True}
    writer = threading.Thread(target=export_tensorboard, args=([run], tmp_path / "tb", runs), kwargs=options)
    with run.hold_lock(), JournalWriter(run.journal) as journal:
        writer.start()
        wait_for(tmp_path / "tb" / "clarinet seed 1 one", lambda events: events.PluginTagToContent("hparams"))
        journal.append(started())
        for number in range(1, 11):
            journal.append(step(number))
        journal.sync_or_wait()
        wait_for(
            tmp_path / "tb" / "clarinet seed 1 one", lambda events: len(scalars(events, "complementary_loss")) == 10
        )
        journal.append(resumed(5))
        for number in range(6, 15):
            journal.append(step(number, {"complementary_loss": 7.0}))
        journal.append(evaluation(14, confusion=[[3, 1], [0, 4]]))
        journal.append(Finished(iteration=14, epoch=1, target_accuracy=None, source_accuracy=None))
    writer.join(TIMEOUT)
    assert not writer.is_alive()
    events = read_back(tmp_path / "tb" / "clarinet seed 1 one")
    expected = {number: 7.0 if number > 5 else number / 4 for number in range(1, 15)}
    assert scalars(events, "complementary_loss") == expected
    assert len(events.Images("evaluation/confusion")) == 1


def export(runs: Path, *arguments: str) -> list[str]:
    """Export into the folder `tb`, and return the names of its folders."""
    done = invoke(runs, "export", *arguments, "--format", "tensorboard", "--out", str(runs.parent / "tb"))
    assert done.exit_code == 0, done.exception
    return sorted(path.name for path in (runs.parent / "tb").iterdir())


def test_folders_name_variant_seed_and_the_shortest_id_that_is_unique(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    make_run(runs, id="3lb8aa", method="basset", seed=1, classifier_rate=0.03)
    make_run(runs, id="3lb8ab", method="basset", seed=2, classifier_rate=0.03)
    make_run(runs, id="abcdefghi", method="basset", seed=1, classifier_rate=0.01)
    assert export(runs, "method:basset") == [
        "basset classifier_rate=0.01 seed 1 abcd",
        "basset classifier_rate=0.03 seed 1 3lb8aa",
        "basset classifier_rate=0.03 seed 2 3lb8ab",
    ]


def test_a_later_export_renames_a_folder_and_leaves_one_curve_of_each_run(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "tb"
    for run, rate in (("aaa111", 0.01), ("bbb222", 0.03)):
        make_trained_run(runs, run, [50.0, 60.0], method="basset", classifier_rate=rate)
    assert export(runs, "aaa111") == ["basset seed 1 aaa1"]
    steps = scalars(read_back(out / "basset seed 1 aaa1"), "evaluation/target_accuracy")
    both = ["basset classifier_rate=0.01 seed 1 aaa1", "basset classifier_rate=0.03 seed 1 bbb2"]
    # The name of the first folder is kept until its run is exported again; that of the second tells them apart.
    assert export(runs, "bbb222") == [both[1], "basset seed 1 aaa1"]
    assert export(runs, "aaa111") == both
    assert scalars(read_back(out / both[0]), "evaluation/target_accuracy") == steps


def test_folders_of_earlier_versions_are_continued(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "tb"
    for run in ("aaa111", "bbb222"):
        make_trained_run(runs, run, [50.0, 60.0], method="basset")
    first, second = export(runs, "--all")
    for name, earlier in ((first, "aaa111"), (second, "bbb222")):  # as they were named
        (out / name).rename(out / earlier)
        for path in (out / earlier).iterdir():
            path.rename(path.with_name(path.name.rpartition(".")[0]))
    (out / "notes").mkdir()
    (out / "notes" / "mine.txt").touch()
    assert export(runs, "aaa111") == ["basset seed 1 aaa1", "bbb222", "notes"]
    for path in (out / "bbb222").iterdir():  # an earlier version has written into the folder of both names
        (out / second).mkdir()
        path.with_name(f"{path.name}.run-bbb222").write_bytes(path.read_bytes())
        path.with_name(f"{path.name}.run-bbb222").rename(out / second / f"{path.name}.run-bbb222")
    assert export(runs, "--all") == [first, second, "notes"]
    for name in (first, second):
        events = read_back(out / name)
        assert [event.step for event in events.Scalars("evaluation/target_accuracy")] == [10, 20]


def test_names_of_folders_are_taken_by_every_file_system() -> None:
    evil = "a/b\\c:d*e?f\"g<h>|\n\x1b'é" + "x" * 300
    rows = [run_row(id=f"run{task}", task=f"{evil}->{task}", method=f"..{evil}") for task in "UM"]
    names = _name_folders(rows, ["runU", "runM", "runM2"])
    assert set(names) == {"runU", "runM"}
    for name in names.values():
        assert re.fullmatch(r"[A-Za-z0-9._=+,() -]+", name)
        assert len(name) < 150
        assert name == name.strip(" .-")
    assert [name.rpartition(" ")[2] for name in names.values()] == ["runU", "runM"]
    rows = [
        run_row(id=run, method="clarinet", seed=1, task=task) for run, task in (("aaaa1", "U->M"), ("bbbb1", "M->U"))
    ]
    two = _name_folders(rows, ["aaaa1", "bbbb1"])
    assert two == {"aaaa1": "clarinet U to M seed 1 aaaa", "bbbb1": "clarinet M to U seed 1 bbbb"}


def wait_for(folder: Path, is_there: Callable[[Any], object]) -> None:
    def is_written() -> object:
        with contextlib.suppress(KeyError, DirectoryDeletedError):  # no such tag yet, no such directory yet
            return is_there(read_back(folder))
        return False

    wait_until(is_written)
