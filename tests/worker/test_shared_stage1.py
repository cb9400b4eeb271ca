"""Stage 1 is made once: what decides it, how its files are kept, and how runs wait for each other."""

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
from tests.support.child_processes import start_worker, run_worker
from tests.support.tiny import repeatable as without_clock
from tests.support.tiny import steps, tiny_config, tiny_data
from tests.support.workers import make_task, read_events, repeatable, events_named, tiny_run, wait_until

DATA = tiny_data()
CONFIG = tiny_config("gac+dann")
GAC = tiny_config("gac")
LABELS = [number % 4 for number in range(40)]
NOT_STAGE1 = {"method", "task", "seed", "preset", "name", "device", "stage1", "target_size"}
"""Settings that say what a run is, or that other tests are about."""


# -- what decides the labels ---------------------------------------------------------------------------------------


def test_runs_with_one_stage_1_have_one_signature() -> None:
    def signed(method: str = "gac+dann", task: str = "Y->M", **settings: Any) -> str | None:
        part = stage1_role(resolve(method=method, task=task, preset="quick", **settings))
        return part and part.signature

    assert signed() == signed("gac+cdan-e", epochs=9, device="cpu", name="mine") == signed(task="Y->S") == signed("gac")
    others = [signed(seed=2), signed(task="Y->D"), signed(task="S->M"), signed(stage1={"rate": 0.1}), signed(threads=9)]
    assert len({signed(), *others, signed(source_size=50), signed(complementary_loss="free")}) == 8
    assert [signed(method) for method in ("clarinet", "cdan-e", "source-only")] == [None, None, None]
    waiting = [stage1_role(resolve(method=method, task="Y->D", preset="quick")) for method in ("gac", "gac+dan")]
    assert [part and part.takes_labels for part in waiting] == [False, True]


def test_the_key_is_of_images_labels_settings_and_the_kind_of_device(tmp_path: Path) -> None:
    source = DATA.source_train
    assert source.ybar is not None
    brighter, relabelled = source.x.copy(), source.ybar.copy()
    brighter[-1, -1, -1] ^= 1
    relabelled[0] = ~relabelled[0]
    weights = tmp_path / "weights.pt"
    names = [stage1_key(CONFIG, DATA, "cpu"), stage1_key(CONFIG, DATA, "cuda:0")]
    for changed in ({"x": brighter}, {"ybar": relabelled}):
        data = dataclasses.replace(DATA, source_train=dataclasses.replace(source, **changed))
        names.append(stage1_key(CONFIG, data, "cpu"))
    for content in ("a", "b"):
        weights.write_text(content)
        names.append(stage1_key(tiny_config("gac+dann", weights=str(weights)), DATA, "cpu"))
    assert len(set(names)) == 6
    assert None not in names
    assert stage1_key(tiny_config("gac+cdan-e", epochs=9), DATA, "cpu") == stage1_key(tiny_config("gac"), DATA, "cpu") == names[0]
    assert stage1_key(CONFIG, DATA, "cuda:1") == names[1]
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
    """Every number of stage 1."""
    events = iter(train(config, data=DATA))
    before = list(itertools.takewhile(lambda event: not isinstance(event, PseudoLabelled), events))
    return [without_clock(step) for step in steps(before)]


def test_no_other_setting_changes_stage_1() -> None:
    """Whoever adds a setting that stage 1 learns with must tag it with Tag.STAGE1."""
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


def test_the_scheduler_needs_neither_torch_nor_numpy() -> None:
    code = "import sys, clarinet_tui.runs.stage1; sys.exit(bool({'torch', 'numpy'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-P", "-c", code], timeout=60).returncode == 0


# -- files and waiting ---------------------------------------------------------------------------------------------


class Run:
    """A run's part in the sharing, and what it said."""

    def __init__(self, runs_dir: Path, name: str, config: RunConfig = CONFIG) -> None:
        self.heard: list[str] = []
        self.directory = RunDirectory.create(runs_dir, config, id=name)
        self.sharing = SharedStage1(self.directory, config, DATA, "cpu", self.heard.append, poll_seconds=0.001)

    def settle(self, looks: int = 0) -> bool:
        """Wait for so many looks, and be asked to stop then."""
        left = iter(range(looks))
        return self.sharing.prepare(lambda: next(left, None) is None)

    def make(self, labels: list[int] = LABELS) -> PseudoLabelled:
        return self.pass_on(labels, given=False)

    def pass_on(self, labels: list[int], given: bool) -> PseudoLabelled:
        made = PseudoLabelled(iteration=10, label_hash="ab", accuracy=50.0, given=given, labels=labels, seconds=7.5)
        passed = self.sharing.process_event(made)
        assert isinstance(passed, PseudoLabelled)
        return passed


def folder(runs_dir: Path) -> Stage1Directory:
    name = stage1_key(CONFIG, DATA, "cpu")
    assert name is not None
    return Stage1Directory(runs_dir, name)


def test_the_labels_of_the_first_run_are_given_to_the_second(tmp_path: Path) -> None:
    first, second = Run(tmp_path, "first"), Run(tmp_path, "second")
    assert first.settle()
    assert first.sharing.labels is None
    own = first.make()
    assert (own.origin, own.origin_seconds) == ("", 0.0)
    assert second.settle()
    assert second.sharing.labels == LABELS
    given = second.pass_on(LABELS, given=True)
    assert (given.origin, given.origin_seconds) == ("first", 7.5)
    for run in (first, second):
        copied = json.loads(run.directory.stage1.read_bytes())
        assert copied == {"key": folder(tmp_path).key, "origin": "first", "seconds": 7.5}
    assert first.heard == second.heard == []


def test_a_run_waits_until_the_labels_are_there(tmp_path: Path) -> None:
    maker, waiter = Run(tmp_path, "maker"), Run(tmp_path, "waiter")
    assert maker.settle()
    assert not waiter.settle(looks=3)
    assert waiter.heard == [f"waiting for stage 1, which run maker makes (process {os.getpid()} on {os.uname()[1]})"]
    maker.make()
    assert waiter.settle()
    assert waiter.sharing.labels == LABELS


def test_gac_takes_no_labels_but_makes_them_for_the_others(tmp_path: Path) -> None:
    alone, waiter, late = (Run(tmp_path, *one) for one in (("alone", GAC), ("waiter",), ("late", GAC)))
    assert alone.settle()
    assert not waiter.settle(looks=1)
    assert waiter.heard[0].startswith("waiting for stage 1, which run alone makes")
    assert late.settle()  # waits for nobody
    alone.make()
    assert late.settle()
    assert late.sharing.labels is None
    late.make(LABELS[::-1])
    assert waiter.settle()
    assert waiter.sharing.labels == LABELS
    assert waiter.pass_on(LABELS, given=True).origin == "alone"
    assert alone.heard == late.heard == []


def test_a_waiting_run_takes_over_from_one_that_ended_without_labels(tmp_path: Path) -> None:
    maker, waiter, third = (Run(tmp_path, name) for name in ("maker", "waiter", "third"))
    with maker.sharing:
        assert maker.settle()
        assert not waiter.settle()
    assert waiter.settle()
    assert waiter.sharing.labels is None
    assert not third.settle(looks=1)
    assert "which run waiter makes" in third.heard[-1]


def cut(stage1: Path) -> None:
    (stage1 / "labels.npy").write_bytes((stage1 / "labels.npy").read_bytes()[:-8])


def change(stage1: Path) -> None:
    content = bytearray((stage1 / "labels.npy").read_bytes())
    content[-8] ^= 1
    (stage1 / "labels.npy").write_bytes(content)


def remove(stage1: Path) -> None:
    (stage1 / "labels.npy").unlink()


def forge(stage1: Path) -> None:
    """A file that says what a hash of a pickle is."""
    from hashlib import sha256

    np.save(stage1 / "labels.npy", np.array([print], dtype=object), allow_pickle=True)
    origin = json.loads((stage1 / "origin.json").read_text())
    origin["sha256"] = sha256((stage1 / "labels.npy").read_bytes()).hexdigest()
    (stage1 / "origin.json").write_text(json.dumps(origin))


def garble(stage1: Path) -> None:
    (stage1 / "origin.json").write_text('{"run": 3}')


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (cut, "labels.npy is damaged or incomplete"),
        (change, "labels.npy is damaged or incomplete"),
        (remove, "labels.npy is missing"),
        (forge, "labels.npy is not a file of labels"),
        (garble, "origin.json is damaged"),
    ],
)
def test_damaged_files_are_told_and_made_anew(tmp_path: Path, damage: Callable[[Path], None], sentence: str) -> None:
    first = Run(tmp_path, "first")
    assert first.settle()
    first.make()
    damage(folder(tmp_path).path)
    second, third = Run(tmp_path, "second"), Run(tmp_path, "third")
    assert second.settle()
    assert second.sharing.labels is None
    assert len(second.heard) == 1
    assert sentence in second.heard[0]
    second.make(LABELS[::-1])
    assert third.settle()
    assert (third.sharing.labels, third.heard) == (LABELS[::-1], [])


def test_labels_of_other_data_are_damage(tmp_path: Path) -> None:
    first, second = Run(tmp_path, "first"), Run(tmp_path, "second")
    assert first.settle()
    first.make([4] * 40)
    assert second.settle()
    assert "does not have 40 labels of 4 classes" in second.heard[0]


def block(stage1: Path) -> None:
    stage1.write_text("a file where the folder should be")


def link(stage1: Path) -> None:
    outside = stage1.with_name("outside")
    outside.mkdir()
    stage1.symlink_to(outside)


@pytest.mark.parametrize("spoil", [block, link])
def test_where_it_cannot_be_shared_a_run_makes_its_own_and_says_so_once(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(tmp_path / "stage1")
    run = Run(tmp_path, "alone")
    assert run.settle()
    assert run.make().origin == ""
    assert len(run.heard) == 1
    assert run.heard[0].startswith("stage 1 is not shared with other runs: ")
    assert str(tmp_path / "stage1") in run.heard[0]


def test_a_folder_that_becomes_unwritable_costs_the_run_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path, "alone")
    assert run.settle()
    (folder(tmp_path).path / "labels.npy").mkdir()
    assert run.make().labels == LABELS
    assert len(run.heard) == 1


def stepped(stage: str) -> Stepped:
    return Stepped(iteration=4, epoch=1, adaptation_epoch=None, stage=stage, measured={})


def test_a_resumed_run_goes_on_with_its_own_stage_1_and_others_wait_for_it(tmp_path: Path) -> None:
    resumed, waiter, later = (Run(tmp_path, name) for name in ("resumed", "waiter", "later"))
    resumed.sharing.process_event(stepped("gac"))
    assert not waiter.settle()
    resumed.make()
    assert waiter.settle()
    later.sharing.process_event(stepped("dann"))  # past stage 1, it holds nothing up
    assert Run(tmp_path, "new").settle()


def test_a_resumed_run_waits_for_nobody_and_disturbs_nobody(tmp_path: Path) -> None:
    maker, resumed = Run(tmp_path, "maker"), Run(tmp_path, "resumed")
    assert maker.settle()
    resumed.sharing.process_event(stepped("gac"))
    resumed.make(LABELS[::-1])
    assert folder(tmp_path).read_labels(40, 4) is None
    maker.make()
    found = folder(tmp_path).read_labels(40, 4)
    assert found is not None
    assert found[1].run == "maker"


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


def test_given_labels_change_nothing_in_stage_2_and_the_journal_names_their_origin(
    first: RunDirectory, task: str
) -> None:
    second = tiny_run(first.runs_dir, task, "second")
    assert run_worker(second) == 0, second.log.read_text()
    (made,), (given,) = events_named(first, "pseudo-labels"), events_named(second, "pseudo-labels")
    assert (made["given"], made["origin"], given["given"], given["origin"]) == (False, "", True, "first")
    assert given["origin_seconds"] == made["seconds"]
    assert (given["label_hash"], given["accuracy"]) == (made["label_hash"], made["accuracy"])
    assert f"pseudo-labels {made['label_hash']} of run first, {made['accuracy']:.2f} %" in second.log.read_text()
    assert second.pseudo_labels.read_bytes() == first.pseudo_labels.read_bytes()
    stage2 = [[repeatable(said) for said in read_events(run) if said.get("stage") == "dann"] for run in (first, second)]
    assert stage2[0] == stage2[1]
    assert len([said for said in stage2[0] if said["event"] == "step"]) == 10
    assert {said.get("stage") for said in read_events(second)} == {None, "dann"}


def test_a_two_step_run_goes_on_from_the_labels_of_a_run_of_gac(first: RunDirectory, task: str, tmp_path: Path) -> None:
    alone, second = tiny_run(tmp_path, task, "alone", "gac"), tiny_run(tmp_path, task, "second")
    for run in (alone, second):
        assert run_worker(run) == 0, run.log.read_text()
    (made,), (own,), (given,) = (events_named(run, "pseudo-labels") for run in (first, alone, second))
    assert (own["given"], own["label_hash"], own["accuracy"]) == (False, made["label_hash"], made["accuracy"])
    assert (given["given"], given["origin"], given["label_hash"]) == (True, "alone", made["label_hash"])
    stage2 = [[repeatable(said) for said in read_events(run) if said.get("stage") == "dann"] for run in (first, second)]
    assert stage2[0] == stage2[1]


def test_two_runs_started_at_once_make_stage_1_once(task: str, tmp_path: Path) -> None:
    runs = [tiny_run(tmp_path, task, name, method) for name, method in (("one", "gac+dann"), ("two", "gac+dan"))]
    workers = [start_worker(run) for run in runs]
    assert [worker.wait() for worker in workers] == [0, 0]
    labelled = {run.id: events_named(run, "pseudo-labels")[0] for run in runs}
    (maker,) = (name for name, event in labelled.items() if not event["given"])
    (taker,) = (name for name, event in labelled.items() if event["given"])
    assert labelled[taker]["origin"] == maker
    assert len(list((tmp_path / "stage1").iterdir())) == 1


def test_a_waiting_run_takes_over_from_a_killed_one(task: str, tmp_path: Path) -> None:
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
        f"waiting for stage 1, which run maker makes (process {making.pid} on "
    )
    (labelled,) = events_named(waiter, "pseudo-labels")
    assert (labelled["given"], labelled["origin"], events_named(maker, "pseudo-labels")) == (False, "", [])


def test_a_waiting_run_stops_when_asked_and_can_be_started_again(first: RunDirectory, task: str) -> None:
    runs_dir = first.runs_dir / "others"
    made = Stage1Directory(first.runs_dir, json.loads(first.stage1.read_bytes())["key"])
    elsewhere = Stage1Directory(runs_dir, made.key)
    run = tiny_run(runs_dir, task, "patient")
    with elsewhere.hold_lock():
        elsewhere.claim("ghost")
        worker = start_worker(run)
        wait_until(worker, run, lambda: events_named(run, "notice"))
        worker.terminate()
        assert worker.wait() == 143, run.log.read_text()
    assert [event["event"] for event in read_events(run)] == ["notice", "stopped"]
    assert "which run ghost makes" in read_events(run)[0]["message"]
    assert not run.has_checkpoint
    for file in made.path.iterdir():
        (elsewhere.path / file.name).write_bytes(file.read_bytes())
    assert run_worker(run) == 0, run.log.read_text()
    assert events_named(run, "pseudo-labels")[0]["origin"] == "first"


def test_a_run_that_cannot_share_makes_its_own_stage_1(task: str, tmp_path: Path) -> None:
    (tmp_path / "stage1").write_text("")
    run = tiny_run(tmp_path, task, "alone")
    assert run_worker(run) == 0, run.log.read_text()
    (notice,) = events_named(run, "notice")
    assert "stage 1 is not shared with other runs" in notice["message"]
    assert not events_named(run, "pseudo-labels")[0]["given"]
