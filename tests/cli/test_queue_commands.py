"""`clarinet sweep`, `queue`, `stop`, `resume`, `clone`, `rm`, `tag` and `note`, as typed."""

import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from clarinet_tui.cli.main import app
from clarinet_tui.devices.device import Device
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.queue.supervisor_process import SUPERVISOR_LOCK
from clarinet_tui.runs.process import current_process
from core.errors import InputError
from core.events import Finished, Stopped
from tests.support.events import started, step
from tests.support.histories import make_run, open_history, write_events


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runs directory where nobody starts anything."""
    monkeypatch.setattr(requests, "ensure_supervisor", lambda runs_dir: None)
    monkeypatch.setenv("CLARINET_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("CLARINET_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    open_history(tmp_path / "runs").close()
    return tmp_path / "runs"


def clarinet(*words: str, **more: str) -> Result:
    return CliRunner().invoke(app, words, **more, catch_exceptions=True)  # type: ignore[arg-type]


def done(*words: str) -> str:
    result = clarinet(*words)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def refused(*words: str) -> str:
    """Wrong input reaches `main` as an InputError, which makes it exit code 2."""
    result = clarinet(*words)
    assert isinstance(result.exception, InputError), (result.output, result.exception)
    return str(result.exception)


def sweep(*words: str) -> list[str]:
    ids: list[str] = json.loads(done("sweep", "--tasks", "M->U", "--preset", "smoke", "--json", *words))
    return ids


def listed() -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(done("ls", "--json"))
    return found


def test_a_dry_run_prints_lines_and_makes_nothing(runs: Path) -> None:
    lines = done("sweep", "--methods", "clarinet,gac", "--tasks", "M->U", "--seeds", "1..2", "--dry-run").splitlines()
    assert len(lines) == 4
    assert lines[0] == "clarinet run --headless --method clarinet --task 'M->U' --seed 1"
    words = ["sweep", "--methods", "clarinet,gac", "--tasks", "M->U", "--seeds", "1..2", "--dry-run", "--json"]
    assert json.loads(done(*words)) == lines
    assert read_queue(runs).entries == ()
    assert listed() == []


def test_the_queue_of_another_machine_is_named(runs: Path) -> None:
    sweep("--seeds", "1")
    assert "Nobody feeds the queue" in done("queue")
    other = msgspec.structs.replace(current_process(), host="gpu7\x1b[31m")
    (runs / SUPERVISOR_LOCK).write_bytes(msgspec.json.encode(other))
    said = done("queue")
    assert "The queue is that of gpu7" in said
    assert "on this machine: clarinet queue continue" in said
    assert "\x1b" not in said


def test_a_sweep_is_queued_in_order_and_listed_as_such(runs: Path) -> None:
    ids = sweep("--methods", "clarinet,gac+dann", "--seeds", "1..2", "--set", "stage1.epochs=1", "--grid", "epochs=1,2")
    assert len(ids) == 8
    assert [entry.id for entry in read_queue(runs).waiting] == ids
    assert {run["state"] for run in listed()} == {"queued"}
    queue = json.loads(done("queue", "ls", "--json"))
    assert [entry["id"] for entry in queue["entries"]] == ids
    assert queue["entries"][0]["method"] == "clarinet"
    assert queue["entries"][0]["place"] == 1
    assert ids[0] in done("queue")


def test_a_sweep_file_with_flags_on_top(tmp_path: Path, runs: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'methods = ["gac"]\ntasks = ["U->M"]\nseeds = "1..3"\npreset = "smoke"\n[grid]\nstage1.rate = [1e-3, 1e-4]\n'
    )
    lines = done("sweep", "s.toml", "--seeds", "7", "--dry-run").splitlines()
    assert len(lines) == 2
    assert all("--seed 7" in line and "--task 'U->M'" in line for line in lines)
    (tmp_path / "s.toml").write_text("methods = 3")
    assert refused("sweep", "s.toml") == "s.toml: methods: expected a list of texts, got 3"
    assert "epocs: no such setting" in refused("sweep", "--tasks", "M->U", "--grid", "epocs=1,2")
    assert read_queue(runs).entries == ()


def test_move_pause_continue_cancel_and_slots(runs: Path) -> None:
    a, b, c = sweep("--seeds", "1..3")
    done("queue", "move", c, "--to", "1")
    done("queue", "pause", b)
    done("queue", "pause")
    queue = read_queue(runs)
    assert [entry.id for entry in queue.waiting] == [c, a, b]
    assert (queue.paused, queue[b].paused) == (True, True)
    assert "paused" in done("queue")
    done("queue", "continue")
    assert not read_queue(runs).paused
    assert "say which" in refused("queue", "cancel")
    done("queue", "cancel", a)
    done("queue", "cancel", "--all")
    assert read_queue(runs).entries == ()
    done("queue", "slots", "cpu=2", "gpu=3")
    assert read_queue(runs).slots == {"cpu": 2, "gpu": 3}
    assert "cpu=x" in refused("queue", "slots", "cpu=x")


def test_cpu_slots_share_the_threads(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    done("queue", "slots", "cpu=4")
    sweep("--device", "cpu")
    (run,) = json.loads(done("ls", "--json"))
    assert json.loads(done("show", run["id"], "--json"))["config"]["threads"] == 2
    copy = done("clone", make_run(runs, device="cpu").id).split()[0]
    assert json.loads(done("show", copy, "--json"))["config"]["threads"] == 2


def test_stop_and_resume(runs: Path) -> None:
    (waiting,) = sweep()
    assert "has left the queue" in done("stop", waiting)
    assert f"{waiting} queued" in done("resume", waiting)
    stopped = make_run(runs)
    write_events(stopped, [started(), step(1), Stopped(iteration=1)])
    done("resume", "--query", "state:stopped", "--retries", "2", "--device", "cpu")
    assert read_queue(runs)[stopped.id].retries == 2
    assert "is already queued" in refused("resume", stopped.id)
    assert "say which runs" in refused("stop")
    assert "no run matches" in refused("stop", "--query", "tag:none")


def test_clone_says_only_what_differs(runs: Path) -> None:
    original = make_run(runs, method="gac+dann", seed=3, epochs=7)
    made = done("clone", original.id, "--seed", "4", "--set", "stage1.epochs=2").split()[0]
    config = json.loads(done("show", made, "--json"))["config"]
    assert (config["method"], config["seed"], config["epochs"]) == ("gac+dann", 4, 7)
    assert (config["stage1"]["epochs"], config["stage1"]["seed"]) == (2, 4)


def test_rm_undo_and_empty(runs: Path) -> None:
    run = make_run(runs)
    write_events(run, [started(), Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None)])
    assert len(listed()) == 1
    assert "--undo" in done("rm", run.id)
    assert listed() == []
    done("rm", "--undo", run.id)
    assert [one["id"] for one in listed()] == [run.id]
    done("rm", run.id)
    assert clarinet("rm", "--empty", input="n\n").exit_code == 1
    assert (runs / ".trash" / run.id).exists()
    assert "1 deleted" in done("rm", "--empty", "--yes")
    assert "is not in" in refused("rm", "--undo", run.id)


def test_a_run_under_way_is_not_removed(runs: Path) -> None:
    (run_id,) = sweep()
    update_queue(runs, lambda queue: queue.with_changes([run_id], device_key="cpu"))
    assert f"clarinet stop {run_id}" in refused("rm", run_id)


def test_tags_and_notes_are_found_again(runs: Path) -> None:
    first, second = make_run(runs), make_run(runs)
    done("tag", first.id, second.id, "--add", "icml", "--add", "draft")
    done("tag", second.id, "--drop", "icml")
    done("note", first.id, "diverged, try a lower rate")
    assert done("ls", "tag:icml", "-q").split() == [first.id]
    assert set(done("ls", "tag:draft", "-q").split()) == {first.id, second.id}
    assert "diverged" in done("show", first.id)
    done("note", first.id, "")
    assert "diverged" not in done("show", first.id)
    assert "tag: expected" in refused("tag", first.id, "--add", "two words")
    assert "--add" in refused("tag", first.id)


def test_the_database_may_live_elsewhere(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLARINET_DB", "")
    run = make_run(runs)
    assert run.id in done("--db", str(tmp_path / "local" / "h.db"), "ls", "-q")
    assert (tmp_path / "local" / "h.db").exists()


def test_queue_alone_lists_for_programs_too(runs: Path) -> None:
    (run_id,) = sweep()
    assert [entry["id"] for entry in json.loads(done("queue", "--json"))["entries"]] == [run_id]


def test_slots_of_a_device_that_is_not_here_are_refused_and_nothing_is_changed(runs: Path) -> None:
    assert 'got "bogus"' in refused("queue", "slots", "gpu=2", "bogus=3")
    assert "there is no cuda:7 here" in refused("queue", "slots", "cuda:7=2")
    assert "expected 1 to 64" in refused("queue", "slots", "gpu=2", "cpu=65")
    assert "DEVICE=COUNT" in refused("queue", "slots", "cpu=" + "9" * 5000)
    assert read_queue(runs).slots == {}


def test_slots_of_one_gpu_are_kept_under_its_uuid(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = [Device(key=f"GPU-{name}", label=f"cuda:{number}", name="A100") for number, name in enumerate("ab")]
    monkeypatch.setattr("clarinet_tui.devices.local.list_devices", lambda **_: gpus)
    done("queue", "slots", "cuda:1=2", "GPU-a=3")
    assert read_queue(runs).slots == {"GPU-b": 2, "GPU-a": 3}
    assert [read_queue(runs).slots_for(gpu.key) for gpu in gpus] == [3, 2]


def test_all_are_stopped_or_removed_or_none(runs: Path) -> None:
    first, second = sweep("--seeds", "1..2")
    idle = make_run(runs)
    assert f"run {idle.id}: is not running" in refused("stop", first, idle.id)
    assert {first, second} == {entry.id for entry in read_queue(runs).waiting}
    update_queue(runs, lambda queue: queue.with_changes([second], device_key="cpu"))
    assert f"clarinet stop {second}" in refused("rm", first, idle.id, second)
    with idle.hold_lock():
        assert f"run {idle.id}: is running" in refused("rm", first, idle.id)
    assert not (runs / ".trash").exists()
    assert first in read_queue(runs)


def test_rm_takes_back_by_the_beginning_of_an_id_and_refuses_what_it_would_ignore(runs: Path) -> None:
    for name in ("abc1", "abc2"):
        done("rm", make_run(runs, id=name).id)
    assert "abc1, abc2" in refused("rm", "--undo", "abc")
    assert "say the ids" in refused("rm", "--undo")
    assert "say the ids" in refused("rm", "--undo", "--query", "tag:x")
    assert "without runs" in refused("rm", "--empty", "--yes", "abc1")
    assert "abc2 is back" in done("rm", "--undo", "abc2")
    assert "abc1 is back" in done("rm", "--undo", "abc")
    done("rm", "abc1")
    assert "Delete 1 removed run for good?" in clarinet("rm", "--empty", input="n\n").output


def test_one_run_is_one_run(runs: Path) -> None:
    make_run(runs, id="abc1"), make_run(runs, id="abc2")
    assert done("tag", "abc1", "--add", "x") == "1 run tagged\n"
    assert done("tag", "abc1", "abc2", "--drop", "x") == "2 runs untagged\n"


def test_a_device_that_is_not_here_is_refused_before_anything_is_queued(tmp_path: Path, runs: Path) -> None:
    run = make_run(runs)
    write_events(run, [started(), Stopped(iteration=1)])
    for words in (
        ["sweep", "--tasks", "M->U", "--preset", "smoke", "--device", "cuda:7"],
        ["sweep", "--tasks", "M->U", "--preset", "smoke", "--grid", "device=cpu,cuda:7"],
        ["clone", run.id, "--set", "device=cuda:7"],
        ["resume", run.id, "--device", "cuda:7"],
    ):
        assert "device: there is no cuda:7 here" in refused(*words)
    done("queue", "slots", "cpu=2")
    (tmp_path / "s.toml").write_text("device = 3\n")
    assert "device: expected auto, cpu" in refused("sweep", "s.toml")
    assert read_queue(runs).entries == ()
    assert [one["id"] for one in listed()] == [run.id]
