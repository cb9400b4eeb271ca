"""Shared stage 1: the key of its labels, its files, and runs that wait for each other."""

import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.stage1 import Stage1Directory, stage1_key, stage1_role
from clarinet_tui.worker.shared_stage1 import SharedStage1
from core.config import RunConfig, Tag, settings_tagged
from core.events import PseudoLabelled, Stepped
from core.resolve import resolve
from core.training.train import train
from tests.support.child_processes import run_worker, start_worker
from tests.support.tiny import repeatable as without_clock
from tests.support.tiny import steps, tiny_config, tiny_data
from tests.support.workers import events_named, make_task, read_events, repeatable, tiny_run, wait_until

DATA = tiny_data()
CONFIG = tiny_config("gac+dann")
GAC = tiny_config("gac")
LABELS = [number % 4 for number in range(40)]
NOT_STAGE1 = {"method", "task", "seed", "preset", "name", "device", "stage1", "target_size"}
"""Settings that identify a run, or that other tests cover."""


# -- keys and signatures -------------------------------------------------------------------------------------------


def test_runs_with_one_stage_1_have_one_signature() -> None:
    def signature(method: str = "gac+dann", task: str = "Y->M", **settings: Any) -> str | None:
        role = stage1_role(resolve(method=method, task=task, preset="quick", **settings))
        return role and role.signature

    assert (
        signature()
        == signature("gac+cdan-e", epochs=9, device="cpu", name="mine")
        == signature(task="Y->S")
        == signature("gac")
    )
    others = [
        signature(seed=2),
        signature(task="Y->D"),
        signature(task="S->M"),
        signature(stage1={"rate": 0.1}),
        signature(threads=9),
    ]
    assert len({signature(), *others, signature(source_size=50), signature(complementary_loss="free")}) == 8
    assert [signature(method) for method in ("clarinet", "cdan-e", "source-only")] == [None, None, None]
    roles = [stage1_role(resolve(method=method, task="Y->D", preset="quick")) for method in ("gac", "gac+dan")]
    assert [role and role.takes_labels for role in roles] == [False, True]


def test_key_depends_on_images_labels_settings_and_kind_of_device(tmp_path: Path) -> None:
    source = DATA.source_train
    assert source.ybar is not None
    brighter, relabelled = source.x.copy(), source.ybar.copy()
    brighter[-1, -1, -1] ^= 1
    relabelled[0] = ~relabelled[0]
    weights = tmp_path / "weights.pt"
    keys = [stage1_key(CONFIG, DATA, "cpu"), stage1_key(CONFIG, DATA, "cuda:0")]
    for changed in ({"x": brighter}, {"ybar": relabelled}):
        data = dataclasses.replace(DATA, source_train=dataclasses.replace(source, **changed))
        keys.append(stage1_key(CONFIG, data, "cpu"))
    for content in ("a", "b"):
        weights.write_text(content)
        keys.append(stage1_key(tiny_config("gac+dann", weights=str(weights)), DATA, "cpu"))
    assert len(set(keys)) == 6
    assert None not in keys
    assert (
        stage1_key(tiny_config("gac+cdan-e", epochs=9), DATA, "cpu")
        == stage1_key(tiny_config("gac"), DATA, "cpu")
        == keys[0]
    )
    assert stage1_key(CONFIG, DATA, "cuda:1") == keys[1]
    assert stage1_key(tiny_config("clarinet"), DATA, "cpu") is None


@pytest.mark.parametrize(
    ("method", "task", "preset", "signature"),
    [
        ("gac+dan", "M->U", "paper", "82c28a999243e6d4"),
        ("gac", "S->M", "quick", "ce72c938f0d4473a"),
        ("gac+cdan-e", "Y->D", "smoke", "f3b9ca9f91aa808d"),
    ],
)
def test_signatures_of_existing_folders_stay_valid(method: str, task: str, preset: str, signature: str) -> None:
    role = stage1_role(resolve(method=method, task=task, preset=preset, threads=2, seed=3))
    assert role is not None
    assert role.signature == signature


def stage1_of(config: RunConfig) -> list[dict[str, Any]]:
    """All metrics of stage 1."""
    events = iter(train(config, data=DATA))
    before = list(itertools.takewhile(lambda event: not isinstance(event, PseudoLabelled), events))
    return [without_clock(step) for step in steps(before)]


def test_no_other_setting_changes_stage_1() -> None:
    """A setting that stage 1 depends on must be tagged with Tag.STAGE1."""
    expected = stage1_of(CONFIG)
    assert len(expected) == 10
    settings = msgspec.to_builtins(CONFIG)
    others = settings.keys() - settings_tagged(Tag.STAGE1) - NOT_STAGE1
    assert len(others) > 20
    for name in sorted(others):
        changed = tiny_config("gac+dann", stage1=settings["stage1"], **{name: another(name, settings[name])})
        assert changed != CONFIG
        assert stage1_of(changed) == expected, name
    assert stage1_of(tiny_config("gac+dann", seed=2, stage1=settings["stage1"])) == expected
    assert stage1_of(tiny_config("gac+dann", class_priors="loss-index")) != expected


def another(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        kind = RunConfig.__annotations__[name].__origin__
        return next(choice for choice in get_args(kind) if choice != value)
    return value / 2 or 0.5 if isinstance(value, float) else value + 1


def test_roles_need_neither_torch_nor_numpy() -> None:
    code = "import sys, clarinet_tui.runs.stage1; sys.exit(bool({'torch', 'numpy'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-P", "-c", code], timeout=60).returncode == 0


# -- files and waiting ---------------------------------------------------------------------------------------------


class Run:
    """A run that shares stage 1, and its notices."""

    def __init__(self, runs_dir: Path, name: str, config: RunConfig = CONFIG) -> None:
        self.notices: list[str] = []
        self.directory = RunDirectory.create(runs_dir, config, id=name)
        self.sharing = SharedStage1(self.directory, config, DATA, "cpu", self.notices.append, poll_seconds=0.001)

    def prepare(self, polls: int = 0) -> bool:
        """Wait for `polls` checks, and then request a stop."""
        left = iter(range(polls))
        return self.sharing.prepare(lambda: next(left, None) is None)

    def make(self, labels: list[int] = LABELS) -> PseudoLabelled:
        return self.process_labels(labels, given=False)

    def process_labels(self, labels: list[int], given: bool) -> PseudoLabelled:
        made = PseudoLabelled(iteration=10, label_hash="ab", accuracy=50.0, given=given, labels=labels, seconds=7.5)
        event = self.sharing.process_event(made)
        assert isinstance(event, PseudoLabelled)
        return event


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
    given = second.process_labels(LABELS, given=True)
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
    assert waiter.process_labels(LABELS, given=True).origin == "alone"
    assert alone.notices == late.notices == []


def test_waiting_run_takes_over_after_an_end_without_labels(tmp_path: Path) -> None:
    maker, waiter, third = (Run(tmp_path, name) for name in ("maker", "waiter", "third"))
    with maker.sharing:
        assert maker.prepare()
        assert not waiter.prepare()
    assert waiter.prepare()
    assert waiter.sharing.labels is None
    assert not third.prepare(polls=1)
    assert "stage 1 of run waiter" in third.notices[-1]


def cut(stage1: Path) -> None:
    (stage1 / "labels.npy").write_bytes((stage1 / "labels.npy").read_bytes()[:-8])


def change(stage1: Path) -> None:
    content = bytearray((stage1 / "labels.npy").read_bytes())
    content[-8] ^= 1
    (stage1 / "labels.npy").write_bytes(content)


def remove(stage1: Path) -> None:
    (stage1 / "labels.npy").unlink()


def forge(stage1: Path) -> None:
    """Store a pickle with its correct hash."""
    from hashlib import sha256

    np.save(stage1 / "labels.npy", np.array([print], dtype=object), allow_pickle=True)
    origin = json.loads((stage1 / "origin.json").read_text())
    origin["sha256"] = sha256((stage1 / "labels.npy").read_bytes()).hexdigest()
    (stage1 / "origin.json").write_text(json.dumps(origin))


def garble(stage1: Path) -> None:
    (stage1 / "origin.json").write_text('{"run": 3}')


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "labels.npy is damaged or incomplete"),
        (change, "labels.npy is damaged or incomplete"),
        (remove, "labels.npy is missing"),
        (forge, "labels.npy is not a file of labels"),
        (garble, "origin.json is damaged"),
    ],
)
def test_damaged_files_are_reported_and_replaced(tmp_path: Path, damage: Callable[[Path], None], message: str) -> None:
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


def block(stage1: Path) -> None:
    stage1.write_text("a file where the folder should be")


def link(stage1: Path) -> None:
    outside = stage1.with_name("outside")
    outside.mkdir()
    stage1.symlink_to(outside)


@pytest.mark.parametrize("spoil", [block, link])
def test_without_a_usable_folder_a_run_trains_its_own_stage_1(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    spoil(tmp_path / "stage1")
    run = Run(tmp_path, "alone")
    assert run.prepare()
    assert run.make().origin == ""
    assert len(run.notices) == 1
    assert run.notices[0].startswith("stage 1 is not shared with other runs: ")
    assert str(tmp_path / "stage1") in run.notices[0]


def test_folder_that_becomes_unwritable_does_not_affect_the_run(tmp_path: Path) -> None:
    run = Run(tmp_path, "alone")
    assert run.prepare()
    (stage1_directory(tmp_path).path / "labels.npy").mkdir()
    assert run.make().labels == LABELS
    assert len(run.notices) == 1


def stepped(stage: str) -> Stepped:
    return Stepped(iteration=4, epoch=1, adaptation_epoch=None, stage=stage, measured={})


def test_others_wait_for_the_stage_1_of_a_resumed_run(tmp_path: Path) -> None:
    resumed, waiter, later = (Run(tmp_path, name) for name in ("resumed", "waiter", "later"))
    resumed.sharing.process_event(stepped("gac"))
    assert not waiter.prepare()
    resumed.make()
    assert waiter.prepare()
    later.sharing.process_event(stepped("dann"))  # past stage 1, others need not wait
    assert Run(tmp_path, "new").prepare()


def test_resumed_run_neither_waits_nor_replaces_labels(tmp_path: Path) -> None:
    maker, resumed = Run(tmp_path, "maker"), Run(tmp_path, "resumed")
    assert maker.prepare()
    resumed.sharing.process_event(stepped("gac"))
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
    """A run that made its own stage 1."""
    run = tiny_run(tmp_path_factory.mktemp("runs"), task, "first")
    assert run_worker(run) == 0, run.log.read_text()
    return run


def test_taken_labels_give_the_same_stage_2_and_record_their_origin(first: RunDirectory, task: str) -> None:
    second = tiny_run(first.runs_dir, task, "second")
    assert run_worker(second) == 0, second.log.read_text()
    (made,), (given,) = events_named(first, "pseudo-labels"), events_named(second, "pseudo-labels")
    assert (made["given"], made["origin"], given["given"], given["origin"]) == (False, "", True, "first")
    assert given["origin_seconds"] == made["seconds"]
    assert (given["label_hash"], given["accuracy"]) == (made["label_hash"], made["accuracy"])
    assert f"pseudo-labels {made['label_hash']} of run first, {made['accuracy']:.2f} %" in second.log.read_text()
    assert second.pseudo_labels.read_bytes() == first.pseudo_labels.read_bytes()
    stage2 = [
        [repeatable(event) for event in read_events(run) if event.get("stage") == "dann"] for run in (first, second)
    ]
    assert stage2[0] == stage2[1]
    assert len([event for event in stage2[0] if event["event"] == "step"]) == 10
    assert {event.get("stage") for event in read_events(second)} == {None, "dann"}


def test_two_step_run_takes_the_labels_of_a_run_of_gac(first: RunDirectory, task: str, tmp_path: Path) -> None:
    alone, second = tiny_run(tmp_path, task, "alone", "gac"), tiny_run(tmp_path, task, "second")
    for run in (alone, second):
        assert run_worker(run) == 0, run.log.read_text()
    (made,), (own,), (given,) = (events_named(run, "pseudo-labels") for run in (first, alone, second))
    assert (own["given"], own["label_hash"], own["accuracy"]) == (False, made["label_hash"], made["accuracy"])
    assert (given["given"], given["origin"], given["label_hash"]) == (True, "alone", made["label_hash"])
    stage2 = [
        [repeatable(event) for event in read_events(run) if event.get("stage") == "dann"] for run in (first, second)
    ]
    assert stage2[0] == stage2[1]


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
        elsewhere.claim("other")
        worker = start_worker(run)
        wait_until(worker, run, lambda: events_named(run, "notice"))
        worker.terminate()
        assert worker.wait() == 143, run.log.read_text()
    assert [event["event"] for event in read_events(run)] == ["notice", "stopped"]
    assert "stage 1 of run other" in read_events(run)[0]["message"]
    assert not run.has_checkpoint
    for file in made.path.iterdir():
        (elsewhere.path / file.name).write_bytes(file.read_bytes())
    assert run_worker(run) == 0, run.log.read_text()
    assert events_named(run, "pseudo-labels")[0]["origin"] == "first"


def test_worker_that_cannot_share_trains_its_own_stage_1(task: str, tmp_path: Path) -> None:
    (tmp_path / "stage1").write_text("")
    run = tiny_run(tmp_path, task, "alone")
    assert run_worker(run) == 0, run.log.read_text()
    (notice,) = events_named(run, "notice")
    assert "stage 1 is not shared with other runs" in notice["message"]
    assert not events_named(run, "pseudo-labels")[0]["given"]
