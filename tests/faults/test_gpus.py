"""A machine with four GPUs, of which one is busy and one full: which worker sees which, by the real supervisor."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clarinet_tui.devices.local import Device, list_devices
from clarinet_tui.queue.executor import LocalExecutor
from clarinet_tui.queue.queue_file import Entry, change_queue, read_queue
from clarinet_tui.queue.supervisor import Supervisor
from clarinet_tui.runs.directory import RunDirectory
from tests.support.nvml import BUSY, FREE, FULL, LARGE, build, environment, plug_in
from tests.support.supervised import begun, fed, make, put, until


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


def seen(run: RunDirectory) -> str:
    """CUDA_VISIBLE_DEVICES of the run's worker; "-" while it has none."""
    found = begun(run)
    return found[0][1] if found else "-"


def queue(runs: Path, **wishes: str) -> list[RunDirectory]:
    made = [make(runs, name, "steps=100000") for name in wishes]
    for run in made:
        put(run, device=wishes[run.id].removesuffix("+"), shares=wishes[run.id].endswith("+"))
    return made


def test_each_worker_sees_a_free_gpu_and_no_other(runs: Path, library: Path) -> None:
    wishes = {"auto1": "auto", "auto2": "auto", "auto3": "auto", "named": "cuda:2", "shares": "cuda:1+", "slow": "cpu"}
    auto1, auto2, auto3, named, shares, slow = queue(runs, **wishes)
    with fed(runs, environment(library)):
        until(lambda: all(begun(run) for run in (auto1, auto2, shares, slow)), runs)
        assert {seen(auto1), seen(auto2)} == {FREE, LARGE}
        assert (seen(shares), seen(slow)) == (BUSY, "")
        assert (seen(auto3), seen(named)) == ("-", "-")
        assert [begun(run)[0][2] for run in (auto1, shares, slow)] == ["cuda:0", "cuda:0", "cpu"]
        assert {entry.on for entry in read_queue(runs).started} == {FREE, LARGE, BUSY, "cpu"}
        change_queue(runs, lambda now: now.with_slots({FREE: 2}))
        until(lambda: begun(auto3), runs)
        assert (seen(auto3), seen(named)) == (FREE, "-")
        assert FULL not in {seen(run) for run in (auto1, auto2, auto3, shares)}


def test_what_a_batch_system_leaves_is_respected(runs: Path, library: Path) -> None:
    """CUDA_VISIBLE_DEVICES was there before: its second GPU is cuda:1."""
    wishes = {"auto1": "auto", "auto2": "auto", "named": "cuda:1+"}
    auto1, auto2, named = queue(runs, **wishes)
    inherited = environment(library, {"CUDA_VISIBLE_DEVICES": f"{LARGE},{BUSY}"})
    with fed(runs, inherited):
        until(lambda: begun(auto1) and begun(named), runs)
        assert (seen(auto1), seen(auto2), seen(named)) == (LARGE, "-", BUSY)


class Started(LocalExecutor):
    """Starts nothing, and notes what would have been started."""

    def __init__(self) -> None:
        super().__init__()
        self.did: list[tuple[str, str]] = []

    def start(self, run: RunDirectory, entry: Entry, device: Device) -> None:
        self.did.append((run.id, device.key))


@contextmanager
def holding(run: RunDirectory) -> Iterator[int]:
    """A process that holds the run, as a worker does that another supervisor has started."""
    code = "import sys; from pathlib import Path; from clarinet_tui.runs.directory import RunDirectory\n"
    code += f"with RunDirectory(Path({str(run.runs_dir)!r}), {run.id!r}).hold(): print(flush=True); sys.stdin.read()"
    process = subprocess.Popen([sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


@pytest.mark.parametrize("adopted", [True, False])
def test_an_adopted_worker_is_no_stranger_on_its_gpu(
    runs: Path, library: Path, adopted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two slots: a run may start beside our own worker, whoever has started that, and beside nobody else."""
    plug_in(library, monkeypatch)
    one, two = make(runs, "one"), make(runs, "two")
    put(one, on=BUSY)
    put(two, device="cuda:1")
    change_queue(runs, lambda now: now.with_slots({"gpu": 2}))
    with holding(one) as pid:
        monkeypatch.setenv("STANDIN_FOREIGN", str(pid if adopted else os.getpid()))
        workers = Started()
        Supervisor(runs, workers, devices=lambda: list_devices({}, seconds=0), say=lambda sentence: None).tend()
    assert workers.did == ([("two", BUSY)] if adopted else [])


def test_a_driver_that_fails_for_a_moment_makes_nobody_fail(
    runs: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(library, monkeypatch)
    put(make(runs, "one"), device="auto")
    workers = Started()
    now = [0.0]
    look = Supervisor(runs, workers, devices=lambda: list_devices({}, seconds=0), clock=lambda: now[0], say=print)
    monkeypatch.setenv("STANDIN_INIT", "999")
    look.tend()
    assert (workers.did, len(read_queue(runs).waiting)) == ([], 1)
    monkeypatch.delenv("STANDIN_INIT")
    now[0] += 60
    look.tend()
    assert workers.did == [("one", FREE)]
