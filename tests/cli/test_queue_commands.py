"""`clarinet sweep`, `queue`, `stop`, `resume`, `clone`, `rm`, `tag` and `note`."""

import json
import shlex
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from clarinet_tui.cli.main import app
from clarinet_tui.devices.device import Device
from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.queue.supervisor import SUPERVISOR_LOCK
from clarinet_tui.runs.lock import current_process
from core.errors import InputError
from core.events import Stopped
from tests.support.events import started, step
from tests.support.histories import make_run, open_history, write_events


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runs directory without a supervisor."""
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
    monkeypatch.setenv("CLARINET_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("CLARINET_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    open_history(tmp_path / "runs").close()
    return tmp_path / "runs"


def succeed(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def fail(*arguments: str) -> str:
    """Return the message of the InputError that `main` turns into exit code 2."""
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, InputError), (result.output, result.exception)
    return str(result.exception)


def sweep(*arguments: str) -> list[str]:
    ids: list[str] = json.loads(succeed("sweep", "--tasks", "M->U", "--preset", "smoke", "--json", *arguments))
    return ids


def list_runs() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(succeed("ls", "--json"))
    return rows


def test_dry_run_prints_commands_and_creates_nothing(runs: Path) -> None:
    arguments = ["sweep", "--methods", "clarinet,gac", "--tasks", "M->U", "--seeds", "1..2", "--dry-run"]
    lines = succeed(*arguments).splitlines()
    assert len(lines) == 4
    assert lines[0] == "clarinet run --headless --method clarinet --task 'M->U' --seed 1 --preset paper"
    assert json.loads(succeed(*arguments, "--json")) == lines
    assert [json.loads(line) for line in succeed(*arguments, "--jsonl").splitlines()] == lines
    options = ["--data-dir", "/my data", "--on-alarm", "sh -c 'x y'", "--on-end", "true", "--time-limit", "7200s"]
    assert [shlex.split(line)[-8:] for line in succeed(*arguments, *options).splitlines()] == [options] * 4
    assert "no-such-program-anywhere" in fail("sweep", "--seeds", "1,2", "--on-alarm", "no-such-program-anywhere")
    assert fail("sweep").startswith("sweep: expected a FILE, or what to train")
    assert read_queue(runs).entries == ()
    assert list_runs() == []


def test_queue_names_the_machine_of_its_supervisor(runs: Path) -> None:
    sweep("--seeds", "1")
    assert "No supervisor is running" in succeed("queue")
    other = msgspec.structs.replace(current_process(), host="gpu7\x1b[31m", boot="another")
    (runs / SUPERVISOR_LOCK).write_bytes(msgspec.json.encode(other))
    output = succeed("queue")
    assert "The queue belongs to gpu7" in output
    assert "here with: clarinet queue continue" in output
    assert "\x1b" not in output


def test_sweep_is_queued_and_listed_in_order(runs: Path) -> None:
    ids = sweep("--methods", "clarinet,gac+dann", "--seeds", "1..2", "--set", "stage1.epochs=1", "--grid", "epochs=1,2")
    assert len(ids) == 8
    assert [entry.id for entry in read_queue(runs).waiting] == ids
    assert {run["state"] for run in list_runs()} == {"queued"}
    queue = json.loads(succeed("queue", "ls", "--json"))
    assert [entry["id"] for entry in queue] == ids
    assert queue[0]["method"] == "clarinet"
    assert queue[0]["position"] == 1
    assert ids == [json.loads(line)["id"] for line in succeed("queue", "--jsonl").splitlines()]
    assert ids[0] in succeed("queue")


def test_start_options_are_queued_and_shown(runs: Path) -> None:
    (first,) = sweep("--not-before", "2999-01-01 08:00", "--time-limit", "2h30m", "--on-end", "true secret")
    (second,) = sweep("--after", first[:8])
    queue = read_queue(runs)
    assert (queue[first].time_limit, queue[first].on_end) == (9000, ("true", "secret"))
    assert queue[second].after == (first,)
    entries = json.loads(succeed("queue", "--json"))
    assert [entry["waits_for"] for entry in entries] == ["until 2999-01-01 08:00", f"run {first}"]
    assert (entries[0]["time_limit"], entries[1]["after"]) == (9000, [first])
    assert "secret" not in json.dumps(entries)
    assert "until 2999-01-01 08:00" in (listed := succeed("ls"))
    assert "?" not in listed
    assert "at most 2h30" in " ".join(succeed("queue").split())
    waits = ["--not-before", "2999-01-01 08:00:30", "--after", first, "--after", second]
    printed = shlex.split(succeed("sweep", "--preset", "smoke", "--dry-run", *waits))
    assert printed[-6:] == waits
    assert "--headless" not in printed, "which refuses them"
    assert "no run in" in fail("sweep", "--preset", "smoke", "--after", "zzz")
    assert "expected a duration" in fail("sweep", "--preset", "smoke", "--time-limit", "soon")
    assert fail("sweep", "--preset", "smoke", "--on", "slurm", "--time-limit", "2h").endswith("use --slurm time=LIMIT")


def test_flags_override_the_sweep_file(tmp_path: Path, runs: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'methods = ["gac"]\ntasks = ["U->M"]\nseeds = "1..3"\npreset = "smoke"\n[grid]\nstage1.rate = [1e-3, 1e-4]\n'
    )
    lines = succeed("sweep", "s.toml", "--seeds", "7", "--dry-run").splitlines()
    assert len(lines) == 2
    assert all("--seed 7" in line and "--task 'U->M'" in line for line in lines)
    (tmp_path / "s.toml").write_text("methods = 3")
    assert fail("sweep", "s.toml") == "s.toml: methods: expected a list of strings, got 3"
    assert "epocs: no such setting" in fail("sweep", "--tasks", "M->U", "--grid", "epocs=1,2")
    assert read_queue(runs).entries == ()


def test_move_pause_continue_cancel_and_slots(runs: Path) -> None:
    a, b, c = sweep("--seeds", "1..3")
    succeed("queue", "move", c, "--to", "1")
    succeed("queue", "pause", b)
    succeed("queue", "pause")
    queue = read_queue(runs)
    assert [entry.id for entry in queue.waiting] == [c, a, b]
    assert (queue.paused, queue[b].paused) == (True, True)
    assert "paused" in succeed("queue")
    succeed("queue", "continue")
    assert not read_queue(runs).paused
    assert "expected either run ids or --all" in fail("queue", "cancel")
    succeed("queue", "cancel", a)
    succeed("queue", "cancel", "--all")
    assert read_queue(runs).entries == ()
    succeed("queue", "slots", "cpu=2", "gpu=3")
    assert read_queue(runs).slots == {"cpu": 2, "gpu": 3}
    assert "cpu=x" in fail("queue", "slots", "cpu=x")


def test_cpu_slots_share_the_threads(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    succeed("queue", "slots", "cpu=4")
    sweep("--device", "cpu")
    (run,) = json.loads(succeed("ls", "--json"))
    assert json.loads(succeed("show", run["id"], "--json"))["config"]["threads"] == 2
    copy = succeed("clone", make_run(runs, device="cpu").id).split()[0]
    assert json.loads(succeed("show", copy, "--json"))["config"]["threads"] == 2


def test_stop_and_resume(runs: Path) -> None:
    (waiting,) = sweep()
    assert "removed from the queue" in succeed("stop", waiting)
    assert f"{waiting} queued" in succeed("resume", waiting)
    stopped = make_run(runs)
    write_events(stopped, [started(), step(1), Stopped(iteration=1)])
    succeed("resume", "--query", "state:stopped", "--retries", "2", "--device", "cpu")
    assert read_queue(runs)[stopped.id].retries == 2
    assert "is already queued" in fail("resume", stopped.id)
    assert "expected either run ids or --query" in fail("stop")
    assert "no run matches" in fail("stop", "--query", "tag:none")


def test_clone_changes_only_given_settings(runs: Path) -> None:
    original = make_run(runs, method="gac+dann", seed=3, epochs=7)
    new = succeed("clone", original.id, "--seed", "4", "--set", "stage1.epochs=2").split()[0]
    config = json.loads(succeed("show", new, "--json"))["config"]
    assert (config["method"], config["seed"], config["epochs"]) == ("gac+dann", 4, 7)
    assert (config["stage1"]["epochs"], config["stage1"]["seed"]) == (2, 4)


def test_tags_and_notes(runs: Path) -> None:
    first, second = make_run(runs), make_run(runs)
    assert succeed("tag", first.id, second.id, "--add", "icml", "--add", "draft") == "2 runs tagged\n"
    assert succeed("tag", second.id, "--drop", "icml") == "1 run untagged\n"
    succeed("note", first.id, "diverged, try a lower rate")
    assert succeed("ls", "tag:icml", "-q").split() == [first.id]
    assert set(succeed("ls", "tag:draft", "-q").split()) == {first.id, second.id}
    assert "diverged" in succeed("show", first.id)
    succeed("note", first.id, "")
    assert "diverged" not in succeed("show", first.id)
    assert "tag: expected" in fail("tag", first.id, "--add", "two words")
    assert "--add" in fail("tag", first.id)


def test_slots_of_an_absent_device_change_nothing_and_those_of_a_gpu_are_stored_by_uuid(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'got "bogus"' in fail("queue", "slots", "gpu=2", "bogus=3")
    assert "there is no cuda:7 here" in fail("queue", "slots", "cuda:7=2")
    for count in (0, 65):
        assert "expected 1 to 64" in fail("queue", "slots", "gpu=2", f"cpu={count}")
    assert "DEVICE=COUNT" in fail("queue", "slots", "cpu=" + "9" * 5000)
    assert read_queue(runs).slots == {}
    gpus = [Device(key=f"GPU-{name}", label=f"cuda:{number}", name="A100") for number, name in enumerate("ab")]
    monkeypatch.setattr("clarinet_tui.cli.queue.list_devices", lambda **_: gpus)
    succeed("queue", "slots", "cuda:1=2", "GPU-a=3")
    assert read_queue(runs).slots == {"GPU-b": 2, "GPU-a": 3}
    assert [read_queue(runs).slots_for(gpu.key) for gpu in gpus] == [3, 2]


def test_stop_and_rm_act_on_all_runs_or_none(runs: Path) -> None:
    first, second = sweep("--seeds", "1..2")
    idle = make_run(runs)
    assert f"run {idle.id}: is not running" in fail("stop", first, idle.id)
    assert {first, second} == {entry.id for entry in read_queue(runs).waiting}
    update_queue(runs, lambda queue: queue.with_changes([second], device_key="cpu"))
    assert f"clarinet stop {second}" in fail("rm", first, idle.id, second)
    with idle.hold_lock():
        assert f"run {idle.id}: is running" in fail("rm", first, idle.id)
    assert not (runs / ".trash").exists()
    assert first in read_queue(runs)


def test_rm_undo_and_empty(runs: Path) -> None:
    for name in ("abc1", "abc2"):
        make_run(runs, id=name)
        assert "--undo" in succeed("rm", name)
    assert list_runs() == []
    assert "abc1, abc2" in fail("rm", "--undo", "abc")
    assert "takes run ids" in fail("rm", "--undo")
    assert "takes run ids" in fail("rm", "--undo", "--query", "tag:x")
    assert "takes no ids" in fail("rm", "--empty", "--yes", "abc1")
    assert "abc2 restored" in succeed("rm", "--undo", "abc2")
    assert "abc1 restored" in succeed("rm", "--undo", "abc")
    assert {row["id"] for row in list_runs()} == {"abc1", "abc2"}
    succeed("rm", "abc1")
    refused = CliRunner().invoke(app, ["rm", "--empty"], input="n\n")
    assert (refused.exit_code, "Delete 1 removed run for good?" in refused.output) == (1, True)
    assert (runs / ".trash" / "abc1").exists()
    assert "1 deleted" in succeed("rm", "--empty", "--yes")
    assert "is not in" in fail("rm", "--undo", "abc1")


def test_absent_device_is_rejected_before_queueing(tmp_path: Path, runs: Path) -> None:
    run = make_run(runs)
    write_events(run, [started(), Stopped(iteration=1)])
    for arguments in (
        ["sweep", "--tasks", "M->U", "--preset", "smoke", "--device", "cuda:7"],
        ["sweep", "--tasks", "M->U", "--preset", "smoke", "--grid", "device=cpu,cuda:7"],
        ["clone", run.id, "--set", "device=cuda:7"],
        ["resume", run.id, "--device", "cuda:7"],
    ):
        assert "device: there is no cuda:7 here" in fail(*arguments)
    succeed("queue", "slots", "cpu=2")
    (tmp_path / "s.toml").write_text("device = 3\n")
    assert "device: expected auto, cpu" in fail("sweep", "s.toml")
    assert read_queue(runs).entries == ()
    assert [row["id"] for row in list_runs()] == [run.id]
