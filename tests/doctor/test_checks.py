"""The checks of the machine, the runs directory and the cluster, with good and bad results."""

import fcntl
import os
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.local import find_torch
from clarinet_tui.doctor.checks import (
    check_clock,
    check_controller,
    check_data,
    check_database,
    check_devices,
    check_file_system,
    check_free_space,
    check_node,
    check_queue,
    check_supervisor,
    check_terminal,
    check_torch,
    check_torch_works,
    check_writing,
    file_system,
)
from clarinet_tui.history.database import DATABASE_NAME
from clarinet_tui.runs.lock import current_process, hold_lock
from tests.support.cli import imported_modules
from tests.support.histories import make_run, open_history
from tests.support.supervised import enqueue_directly
from tests.support.users import ALICE

CPU = Device(key="cpu", label="cpu", name="CPU")
GPU = Device(key="GPU-1", label="cuda:0", name="A100", memory_total=40 << 30)
UTF8 = {"TERM": "xterm-256color", "LANG": "en_US.UTF-8"}


def test_torch_is_found_without_importing_it() -> None:
    result = check_torch(find_torch(), gpus=0)
    assert (result.verdict, result.message[:2]) == ("good", "2.")
    checks = "from clarinet_tui.doctor.checks import check_torch\n"
    checks += "from clarinet_tui.devices.local import find_torch"
    assert "torch" not in imported_modules(f"{checks}\ncheck_torch(find_torch(), 0)")
    assert check_torch(None, gpus=0).verdict == "bad"


@pytest.mark.parametrize(
    ("text", "gpus", "verdict", "part"),
    [
        ("__version__ = '2.13.0+cu128'\ncuda: Optional[str] = '12.8'\nhip: str = None", 1, "good", "CUDA 12.8"),
        ("__version__ = '2.13.0'\ncuda: Optional[str] = None\nhip: Optional[str] = '6.4'", 0, "good", "ROCm 6.4"),
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None", 0, "good", "the CPU only"),
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None", 2, "warning", "2 GPUs cannot be used"),
        ("__version__ = None", 0, "bad", "not installed"),
        (None, 0, "bad", "cannot be read: No such file"),
    ],
)
def test_builds_of_torch(tmp_path: Path, text: str | None, gpus: int, verdict: str, part: str) -> None:
    if text is not None:
        (tmp_path / "version.py").write_text(text)
    result = check_torch(tmp_path, gpus)
    assert result.verdict == verdict
    assert part in result.message


@pytest.mark.parametrize(
    ("code", "verdict", "part"),
    [
        ('print(\'a warning\'); print(\'{"version": "2.13", "devices": ["cpu"]}\')', "good", "2.13 computes on cpu"),
        ("raise OSError('libcudart.so is missing')", "bad", "fails: OSError: libcudart.so is missing"),
        ("import os; os.kill(os.getpid(), 9)", "bad", "exit code -9"),
        ("import time; time.sleep(600)", "bad", "no answer within 5 s"),
    ],
)
def test_torch_in_a_process(code: str, verdict: str, part: str) -> None:
    result = check_torch_works([sys.executable, "-c", code], seconds=5.0)
    assert result.verdict == verdict
    assert part in result.message


def test_torch_computes_on_every_device() -> None:
    result = check_torch_works()
    assert result.verdict == "good", result.message
    assert "computes on cpu" in result.message


@pytest.mark.parametrize(
    ("devices", "verdict", "message"),
    [
        ([CPU], "good", "none: runs compute on the CPU"),
        ([GPU, CPU], "good", "1 GPU: cuda:0 A100 (40 GiB)"),
        ([replace(CPU, problem="no driver")], "warning", "no driver"),
        ([replace(CPU, note="an AMD GPU is not used")], "warning", "an AMD GPU is not used"),
        ([replace(GPU, throttling="heat"), CPU], "warning", "cuda:0: slowed down by heat"),
        ([replace(GPU, problem="is lost"), CPU], "warning", "cuda:0: is lost"),
    ],
)
def test_devices(devices: list[Device], verdict: str, message: str) -> None:
    result = check_devices(devices)
    assert (result.verdict, result.message) == (verdict, message)


def test_data(tmp_path: Path) -> None:
    result = check_data(tmp_path)
    assert result.verdict == "good"
    assert "UCI digits; missing: MNIST" in result.message
    assert "clarinet data list" in result.advice
    (tmp_path / "usps").write_text("not a folder")
    assert check_data(tmp_path).verdict == "good"


@pytest.mark.parametrize(
    ("environ", "size", "verdict", "part"),
    [
        (UTF8, None, "good", "none: "),
        (UTF8, (120, 40), "good", "xterm-256color, 256 colours, 120×40, UTF-8"),
        (UTF8 | {"COLORTERM": "truecolor"}, (0, 0), "good", "16 million"),
        (UTF8 | {"NO_COLOR": "1"}, (80, 24), "good", "no colours"),
        (UTF8 | {"TERM": "linux"}, (80, 24), "good", "16 colours"),
        (UTF8, (79, 24), "warning", "79×24"),
        (UTF8 | {"TERM": "dumb"}, (80, 24), "warning", "TERM is dumb"),
        ({"LANG": "C.utf8"}, (80, 24), "warning", "TERM is not set"),
        (UTF8 | {"LC_ALL": "C"}, (80, 24), "warning", "the locale is C:"),
    ],
)
def test_terminals(environ: dict[str, str], size: tuple[int, int] | None, verdict: str, part: str) -> None:
    result = check_terminal(environ, size)
    assert result.verdict == verdict
    assert part in result.message


@pytest.mark.parametrize(
    ("free", "verdict"), [(5 * 10**9, "good"), (5 * 10**9 - 1, "warning"), (2 * 10**8, "warning"), (10**8, "bad")]
)
def test_free_space(free: int, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=free if folder == tmp_path else None))
    assert check_free_space(tmp_path / "not" / "yet").verdict == verdict


def test_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The innermost mount counts, and of two mounts at one path the last; a history on a network disk is a warning."""
    assert file_system(Path("/proc")) == "proc"
    folders = {"/": "ext4", "/net work": "nfs4", "/twice": "nfs", "/twice/": "xfs"}
    mounts = [SimpleNamespace(mountpoint=f"{tmp_path}{folder}", fstype=kind) for folder, kind in folders.items()]
    monkeypatch.setattr("psutil.disk_partitions", lambda **options: mounts)
    for name in ("net work", "net works", "twice"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("net work")
    found = {name: file_system(tmp_path / name) for name in ("net work/runs", "net works", "twice", "link/runs")}
    assert found == {"net work/runs": "nfs4", "net works": "ext4", "twice": "xfs", "link/runs": "nfs4"}
    assert file_system(Path("/")) == ""
    result = check_file_system(tmp_path / "net work", tmp_path / "net work" / DATABASE_NAME)
    assert (result.verdict, "nfs4" in result.message, "CLARINET_DB" in result.advice) == ("warning", True, True)
    separate = check_file_system(tmp_path / "net work", tmp_path / "history.db")
    assert (separate.verdict, separate.message) == ("good", "nfs4, and the history on ext4")


def test_writing_and_locking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_writing(tmp_path).verdict == "good"
    assert "the first run creates runs there" in check_writing(tmp_path / "new" / "runs").message
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    assert check_writing(tmp_path / "file").verdict == "bad"
    assert check_writing(Path("/proc")).verdict == "bad"
    monkeypatch.setattr(fcntl, "flock", lambda file, operation: None)
    assert "locks have no effect" in check_writing(tmp_path).message


def test_clock(tmp_path: Path) -> None:
    assert check_clock(tmp_path).verdict == "good"
    result = check_clock(tmp_path, lambda: time.time() - 60)
    assert (result.verdict, result.message) == ("warning", "the disk's clock is 60 s ahead of ours")
    assert "behind" in check_clock(tmp_path, lambda: time.time() + 60).message
    assert check_clock(Path("/proc")).verdict == "warning"
    assert not list(tmp_path.iterdir())


def test_history(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_NAME
    assert "does not exist yet" in check_database(path).message
    open_history(tmp_path).close()
    before = path.read_bytes()
    assert check_database(path).verdict == "good"
    assert path.read_bytes() == before
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE _sqlite_migrations SET name = '9999'")
        connection.commit()
        assert "newer version" in check_database(path).message
        connection.execute("UPDATE _sqlite_migrations SET name = '0006'")
        connection.commit()
    assert check_database(path).verdict == "warning"
    assert check_database(path).advice == "clarinet ls rebuilds it"


def test_damaged_history(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_NAME
    open_history(tmp_path).close()
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 5] = b"\xff" * 8192
    path.write_bytes(content)
    assert check_database(path).verdict == "bad"
    path.write_bytes(b"garbage" * 1000)
    result = check_database(path)
    assert (result.verdict, "clarinet reindex" in result.message) == ("bad", True)
    path.write_bytes(b"")
    assert check_database(path).verdict == "warning"


def test_supervisor(tmp_path: Path) -> None:
    assert "not running" in check_supervisor(tmp_path).message
    lock = tmp_path / "supervisor.lock"
    with hold_lock(lock, "supervisor"):
        assert check_supervisor(tmp_path).message == f"process {os.getpid()} on {current_process().host}"
    assert "not running" in check_supervisor(tmp_path).message
    lock.write_bytes(msgspec.json.encode(msgspec.structs.replace(current_process(), host="gpu7", boot="another")))
    assert "on gpu7" in check_supervisor(tmp_path).message


def test_queue(tmp_path: Path) -> None:
    enqueue_directly(make_run(tmp_path, "one"))
    assert check_queue(tmp_path).message == "1 run waiting or started"
    os.mkfifo(tmp_path / "slurm.json")
    assert "slurm.json: not a list of Slurm jobs (is not a regular file)" in check_queue(tmp_path).message
    (tmp_path / "queue.json").write_bytes(b"\xff{")
    result = check_queue(tmp_path)
    assert (result.verdict, "queue.json: not a queue" in result.message) == ("bad", True)


@pytest.mark.parametrize("name", ["queue.0.json", "supervisor.0.lock", "slurm.0.json", ".trash.0"])
def test_a_file_that_another_user_has_put_in_place_of_ones_own(tmp_path: Path, name: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    (tmp_path / name).touch()
    for path in (tmp_path / name, tmp_path):
        os.chown(path, ALICE, -1)
    expected = f"{tmp_path / name}: belongs to user {ALICE}, but has the name of your own file: remove it"
    assert check_queue(tmp_path).message == expected


@pytest.mark.parametrize(
    ("answer", "verdict", "message"),
    [
        ("held", "good", "sees {} and its locks"),
        ("free", "warning", "sees {}, but not its locks (flock): a second attempt waits for a stale lease, 60 s"),
        ("missing", "bad", "does not see {}"),
    ],
)
def test_a_node_that_sees_less_is_named(tmp_path: Path, answer: str, verdict: str, message: str) -> None:
    result = check_node(tmp_path, lambda path: answer)
    assert (result.verdict, result.message) == (verdict, message.format(tmp_path))


def test_a_cluster_without_an_idle_node_or_a_configuration_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for result in (check_node(tmp_path), check_controller()):
        assert (result.verdict, "is not installed here: use a login node" in result.message) == ("warning", True)
