"""Shared stage 1: its files, and runs that wait for each other."""

import json
import os
import signal
import stat
from collections.abc import Callable
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.stage1 import Stage1Directory, stage1_key
from clarinet_tui.worker.shared_stage1 import Stage1Sharing
from core.config import RunConfig
from core.events import PseudoLabelled, Stepped
from tests.support.forked_python import run_worker, start_worker
from tests.support.tiny import tiny_config, tiny_data
from tests.support.workers import events_named, make_task, read_events, repeatable, tiny_run, wait_until

DATA = tiny_data()
CONFIG = tiny_config("gac+dann")
GAC = tiny_config("gac")
LABELS = [number % 4 for number in range(40)]


# -- files and waiting ---------------------------------------------------------------------------------------------


class Run:
    """A run that shares stage 1, and its notices."""

    def __init__(self, runs_dir: Path, name: str, config: RunConfig = CONFIG) -> None:
        self.notices: list[str] = []
        self.directory = RunDirectory.create(runs_dir, config, id=name)
        self.sharing = Stage1Sharing(self.directory, config, DATA, "cpu", self.notices.append, poll_seconds=0.001)

    def prepare(self, polls: int = 0) -> bool:
        """Wait for `polls` checks, and then request a stop."""
        left = iter(range(polls))
        return self.sharing.prepare(lambda: next(left, None) is None)

    def make(self, labels: list[int] = LABELS, *, given: bool = False) -> PseudoLabelled:
        made = PseudoLabelled(iteration=10, label_hash="ab", accuracy=50.0, given=given, labels=labels, seconds=7.5)
        event = self.sharing.process_event(made)
        assert isinstance(event, PseudoLabelled)
        return event

    def step(self, stage: str) -> None:
        self.sharing.process_event(Stepped(iteration=4, epoch=1, adaptation_epoch=None, stage=stage, metrics={}))


def stage1_directory(runs_dir: Path) -> Stage1Directory:
    key = stage1_key(CONFIG, DATA, "cpu")
    assert key is not None
    return Stage1Directory(runs_dir, key)


def test_second_run_takes_the_labels_of_the_first(tmp_path: Path) -> None:
    first, second = Run(tmp_path, "first"), Run(tmp_path, "second")
    assert first.prepare()
    assert first.sharing.labels is None
    own = first.make()
    assert (own.origin, own.origin_seconds) == ("", 0.0)
    assert second.prepare()
    assert second.sharing.labels == LABELS
    given = second.make(given=True)
    assert (given.origin, given.origin_seconds) == ("first", 7.5)
    for run in (first, second):
        copied = json.loads(run.directory.stage1.read_bytes())
        assert copied == {"key": stage1_directory(tmp_path).key, "origin": "first", "seconds": 7.5}
    assert first.notices == second.notices == []


def test_run_waits_for_the_labels(tmp_path: Path) -> None:
    maker, waiter = Run(tmp_path, "maker"), Run(tmp_path, "waiter")
    assert maker.prepare()
    assert not waiter.prepare(polls=3)
    assert waiter.notices == [f"waiting for stage 1 of run maker (process {os.getpid()} on {os.uname()[1]})"]
    maker.make()
    assert waiter.prepare()
    assert waiter.sharing.labels == LABELS


def test_gac_takes_no_labels_but_makes_them_for_others(tmp_path: Path) -> None:
    alone, waiter, late = (Run(tmp_path, *one) for one in (("alone", GAC), ("waiter",), ("late", GAC)))
    assert alone.prepare()
    assert not waiter.prepare(polls=1)
    assert waiter.notices[0].startswith("waiting for stage 1 of run alone")
    assert late.prepare()  # without waiting
    alone.make()
    assert late.prepare()
    assert late.sharing.labels is None
    late.make(LABELS[::-1])
    assert waiter.prepare()
    assert waiter.sharing.labels == LABELS
    assert waiter.make(given=True).origin == "alone"
    assert alone.notices == late.notices == []


def test_waiting_run_takes_over_after_an_end_without_labels(tmp_path: Path) -> None:
    maker, waiter, third = (Run(tmp_path, name) for name in ("maker", "waiter", "third"))
    with closing(maker.sharing):
        assert maker.prepare()
        assert not waiter.prepare()
    assert waiter.prepare()
    assert waiter.sharing.labels is None
    assert not third.prepare(polls=1)
    assert "stage 1 of run waiter" in third.notices[-1]


def damage_labels(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """Return a function that changes the content of a file of labels."""
    return lambda stage1: (stage1 / "labels.npy").write_bytes(change((stage1 / "labels.npy").read_bytes()))


def forge(stage1: Path) -> None:
    """Store a pickle with its correct hash."""
    np.save(stage1 / "labels.npy", np.array([print], dtype=object), allow_pickle=True)
    origin = json.loads((stage1 / "origin.json").read_text())
    origin["sha256"] = sha256((stage1 / "labels.npy").read_bytes()).hexdigest()
    (stage1 / "origin.json").write_text(json.dumps(origin))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_labels(lambda content: content[:-8]), "labels.npy: is damaged or incomplete"),
        (damage_labels(lambda content: content[:-8] + b"\7" * 8), "labels.npy: is damaged or incomplete"),
        (lambda stage1: (stage1 / "labels.npy").unlink(), "labels.npy: is missing"),
        (forge, "labels.npy: is not a file of labels"),
        (lambda stage1: (stage1 / "origin.json").write_text('{"run": 3}'), "origin.json: "),
    ],
)
def test_damaged_files_are_reported_and_replaced(
    tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    first = Run(tmp_path, "first")
    assert first.prepare()
    first.make()
    damage(stage1_directory(tmp_path).path)
    second, third = Run(tmp_path, "second"), Run(tmp_path, "third")
    assert second.prepare()
    assert second.sharing.labels is None
    assert len(second.notices) == 1
    assert message in second.notices[0]
    second.make(LABELS[::-1])
    assert third.prepare()
    assert (third.sharing.labels, third.notices) == (LABELS[::-1], [])


def test_labels_of_other_data_count_as_damage(tmp_path: Path) -> None:
    first, second = Run(tmp_path, "first"), Run(tmp_path, "second")
    assert first.prepare()
    first.make([4] * 40)
    assert second.prepare()
    assert "does not have 40 labels of 4 classes" in second.notices[0]


@pytest.mark.parametrize("spoil", [Path.touch, partial(Path.symlink_to, target="elsewhere")])
def test_without_a_usable_folder_a_run_trains_its_own_stage_1(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    (tmp_path / "elsewhere").mkdir()
    spoil(tmp_path / "stage1")
    run = Run(tmp_path, "alone")
    assert run.prepare()
    assert run.make().origin == ""
    (notice,) = run.notices
    assert notice.startswith("stage 1 is not shared with other runs: ")
    assert str(tmp_path / "stage1") in notice


def test_folder_that_becomes_unwritable_does_not_affect_the_run(tmp_path: Path) -> None:
    run = Run(tmp_path, "alone")
    assert run.prepare()
    (stage1_directory(tmp_path).path / "labels.npy").mkdir()
    assert run.make().labels == LABELS
    assert len(run.notices) == 1


def test_others_wait_for_the_stage_1_of_a_resumed_run(tmp_path: Path) -> None:
    resumed, waiter, later = (Run(tmp_path, name) for name in ("resumed", "waiter", "later"))
    resumed.step("gac")
    assert not waiter.prepare()
    resumed.make()
    assert waiter.prepare()
    later.step("dann")  # past stage 1, others need not wait
    assert Run(tmp_path, "new").prepare()


def test_resumed_run_neither_waits_nor_replaces_labels(tmp_path: Path) -> None:
    maker, resumed = Run(tmp_path, "maker"), Run(tmp_path, "resumed")
    assert maker.prepare()
    resumed.step("gac")
    resumed.make(LABELS[::-1])
    assert stage1_directory(tmp_path).read_labels(40, 4) is None
    maker.make()
    stored = stage1_directory(tmp_path).read_labels(40, 4)
    assert stored is not None
    assert stored[1].run == "maker"


# -- real workers --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_task(tmp_path_factory.mktemp("task"))


@pytest.fixture(scope="module")
def first(task: str, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run that made its own stage 1, with a umask that takes no permission away."""
    run, log = tiny_run(tmp_path_factory.mktemp("runs"), task, "first"), tmp_path_factory.mktemp("logs") / "log"
    assert start_worker(run, log=log, prepare=partial(os.umask, 0)).wait() == 0, log.read_text()
    return run


def test_other_users_can_write_no_file_of_a_worker(first: RunDirectory) -> None:
    for path in (first.checkpoint, first.model, first.journal, first.pseudo_labels, first.lock):
        assert stat.S_IMODE(path.stat().st_mode) == 0o644, path
    for folder in (first.path, first.runs_dir / "stage1"):
        paths = [folder, *folder.rglob("*")]
        assert [path for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o022] == []


def test_taken_labels_give_the_same_stage_2_and_record_their_origin(
    first: RunDirectory, task: str, tmp_path: Path
) -> None:
    second = tiny_run(first.runs_dir, task, "second")
    assert run_worker(second) == 0, second.log.read_text()
    (made,), (given,) = events_named(first, "pseudo-labels"), events_named(second, "pseudo-labels")
    assert (made["given"], made["origin"], given["given"], given["origin"]) == (False, "", True, "first")
    assert given["origin_seconds"] == made["seconds"]
    assert (given["label_hash"], given["accuracy"]) == (made["label_hash"], made["accuracy"])
    assert (
        f"pseudo-labels {made['label_hash']} of run first, accuracy {made['accuracy']:.2f} %" in second.log.read_text()
    )
    assert second.pseudo_labels.read_bytes() == first.pseudo_labels.read_bytes()
    stage2 = [
        [repeatable(event) for event in read_events(run) if event.get("stage") == "dann"] for run in (first, second)
    ]
    assert stage2[0] == stage2[1]
    assert len([event for event in stage2[0] if event["event"] == "step"]) == 10
    assert {event.get("stage") for event in read_events(second)} == {None, "dann"}
    alone = tiny_run(tmp_path, task, "alone", "gac")
    assert run_worker(alone) == 0, alone.log.read_text()
    (own,) = events_named(alone, "pseudo-labels")
    assert (own["given"], own["label_hash"], own["accuracy"]) == (False, made["label_hash"], made["accuracy"])
    assert [folder.name for folder in (tmp_path / "stage1").iterdir()] == [json.loads(first.stage1.read_bytes())["key"]]


def test_two_runs_started_at_once_train_stage_1_once(task: str, tmp_path: Path) -> None:
    runs = [tiny_run(tmp_path, task, name, method) for name, method in (("one", "gac+dann"), ("two", "gac+dan"))]
    workers = [start_worker(run) for run in runs]
    assert [worker.wait() for worker in workers] == [0, 0]
    labelled = {run.id: events_named(run, "pseudo-labels")[0] for run in runs}
    (maker,) = (name for name, event in labelled.items() if not event["given"])
    (taker,) = (name for name, event in labelled.items() if event["given"])
    assert labelled[taker]["origin"] == maker
    assert len(list((tmp_path / "stage1").iterdir())) == 1


def test_waiting_run_takes_over_from_a_killed_one(task: str, tmp_path: Path) -> None:
    maker, waiter = (tiny_run(tmp_path, task, name, stage1={"epochs": 40}) for name in ("maker", "waiter"))
    making = start_worker(maker)
    try:
        wait_until(making, maker, lambda: list((tmp_path / "stage1").glob("*/origin.json")))
        making.send_signal(signal.SIGSTOP)
        waiting = start_worker(waiter)
        wait_until(waiting, waiter, lambda: events_named(waiter, "notice"))
    finally:
        making.kill()
        making.wait()
    assert waiting.wait() == 0, waiter.log.read_text()
    assert events_named(waiter, "notice")[0]["message"].startswith(
        f"waiting for stage 1 of run maker (process {making.pid} on "
    )
    (labelled,) = events_named(waiter, "pseudo-labels")
    assert (labelled["given"], labelled["origin"], events_named(maker, "pseudo-labels")) == (False, "", [])


def test_waiting_run_can_be_stopped_and_started_again(first: RunDirectory, task: str) -> None:
    runs_dir = first.runs_dir / "others"
    made = Stage1Directory(first.runs_dir, json.loads(first.stage1.read_bytes())["key"])
    elsewhere = Stage1Directory(runs_dir, made.key)
    run = tiny_run(runs_dir, task, "patient")
    with elsewhere.hold_lock():
        elsewhere.write_origin("other")
        worker = start_worker(run)
        wait_until(worker, run, lambda: events_named(run, "notice"))
        worker.terminate()
        assert worker.wait() == 143, run.log.read_text()
    assert [event["event"] for event in read_events(run)] == ["notice", "sample", "stopped"]
    assert "stage 1 of run other" in read_events(run)[0]["message"]
    assert not run.has_checkpoint
    for file in made.path.iterdir():
        (elsewhere.path / file.name).write_bytes(file.read_bytes())
    assert run_worker(run) == 0, run.log.read_text()
    assert events_named(run, "pseudo-labels")[0]["origin"] == "first"
