"""`clarinet export --format tensorboard`, read back with TensorBoard's own reader."""

import contextlib
import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.directory_watcher import DirectoryDeletedError
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from clarinet_tui.cli.export import export_tensorboard
from clarinet_tui.history.queries import ITERATION_KEYS, read_evaluations, read_iterations
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Finished
from tests.support.cli import invoke
from tests.support.events import evaluation, resumed, started, step
from tests.support.histories import make_run, open_history
from tests.support.trained_runs import make_trained_run, read_runs
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
    events = read_back(tmp_path / "tb" / "one")
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
        wait_for(tmp_path / "tb" / "one", lambda events: events.PluginTagToContent("hparams"))
        journal.append(started())
        for number in range(1, 11):
            journal.append(step(number))
        journal.sync_or_wait()
        wait_for(tmp_path / "tb" / "one", lambda events: len(scalars(events, "complementary_loss")) == 10)
        journal.append(resumed(5))
        for number in range(6, 15):
            journal.append(step(number, {"complementary_loss": 7.0}))
        journal.append(evaluation(14, confusion=[[3, 1], [0, 4]]))
        journal.append(Finished(iteration=14, epoch=1, target_accuracy=None, source_accuracy=None))
    writer.join(TIMEOUT)
    assert not writer.is_alive()
    events = read_back(tmp_path / "tb" / "one")
    expected = {number: 7.0 if number > 5 else number / 4 for number in range(1, 15)}
    assert scalars(events, "complementary_loss") == expected
    assert len(events.Images("evaluation/confusion")) == 1


def wait_for(folder: Path, is_there: Callable[[Any], object]) -> None:
    def is_written() -> object:
        with contextlib.suppress(KeyError, DirectoryDeletedError):  # no such tag yet, no such directory yet
            return is_there(read_back(folder))
        return False

    wait_until(is_written)
