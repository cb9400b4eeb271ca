"""`clarinet devices` as a user types it, on a machine with four GPUs and on one whose library cannot be loaded."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from typer.testing import CliRunner

from clarinet_tui.cli.main import app
from clarinet_tui.runs.memory_peaks import record_memory_peak
from core.resolve import resolve
from tests.support.cli import CLARINET
from tests.support.known import known
from tests.support.nvml import ELSEWHERE, UUIDS, environment, install_standin

HOSTILE = "\x1b[31mred"


def devices(library: Path, *arguments: str, **steering: object) -> str:
    """Run the command in this process, which is faster."""
    with pytest.MonkeyPatch.context() as patch:
        install_standin(library, patch)
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        for name, value in steering.items():
            patch.setenv(name, str(value))
        done = CliRunner().invoke(app, ["devices", *arguments])
    assert (done.exit_code, done.stderr) == (0, ""), done.exception
    return done.stdout


@contextmanager
def watching(library: Path, *arguments: str, stdout: int = subprocess.PIPE) -> Iterator["subprocess.Popen[str]"]:
    command, variables = [*CLARINET, "devices", "--watch", *arguments], environment(library, {"TERM": "xterm"})
    with subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=variables) as process:
        try:
            yield process
        finally:
            process.kill()


def test_json_has_every_visible_device_with_the_same_keys(library: Path) -> None:
    found: list[dict[str, Any]] = json.loads(devices(library, "--json", STANDIN_FOREIGN=ELSEWHERE))
    assert [(device["label"], device["key"]) for device in found] == [
        *((f"cuda:{index}", uuid) for index, uuid in enumerate(UUIDS)),
        ("cpu", "cpu"),
    ]
    keys = "key label name cores memory_total memory_used utilization temperature power energy compute_mode"
    keys += " memory_errors throttling driver processes problem note"
    assert [" ".join(device) for device in found] == [keys] * 5
    assert found[1]["processes"] == [
        {"pid": ELSEWHERE, "owner": None, "command": None, "memory": 9 << 30, "computes": True}
    ]

    listed = json.loads(devices(library, "--json", CUDA_VISIBLE_DEVICES="3,0"))
    assert [(device["label"], device["key"]) for device in listed] == [
        ("cuda:0", UUIDS[3]), ("cuda:1", UUIDS[0]), ("cpu", "cpu")
    ]  # fmt: skip


def test_unloadable_library_is_no_error_and_a_driver_failure_is_shown(library: Path, tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("no library")
    command, variables = [*CLARINET, "devices", "--json"], environment(tmp_path)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=variables)
    assert (done.returncode, done.stderr) == (0, "")
    (cpu,) = json.loads(done.stdout)
    assert (cpu["key"], cpu["problem"]) == ("cpu", None)
    lines = devices(library, STANDIN_INIT=18).splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["device", "cpu"]
    assert "version mismatch" in lines[2]


def test_table_lists_processes_without_control_characters(library: Path, tmp_path: Path) -> None:
    sleep = known(shutil.which("sleep"))
    shutil.copy(sleep, tmp_path / HOSTILE)
    with subprocess.Popen([tmp_path / HOSTILE, "60"]) as process:
        try:
            output = devices(library, STANDIN_FOREIGN=process.pid, STANDIN_DRAWS=process.pid, STANDIN_UNSUPPORTED=2)
        finally:
            process.kill()
    rows = {line.split()[0]: line.rstrip() for line in output.splitlines()}
    assert list(rows) == ["device", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cpu"]
    assert rows["cuda:0"].endswith(f"[31mred {process.pid} graphics")
    assert re.search(r" 97 % +10\.0/24\.0 GiB +71 +344 +\S+: \[31mred \d+ \(9\.0 GiB\)$", rows["cuda:1"])
    assert rows["cuda:2"].split()[-3:] == ["?", "?", "?"]
    assert "\x1b" not in output


def test_warnings_are_shown_below_the_table(library: Path) -> None:
    output = devices(library, STANDIN_ECC=0, STANDIN_HOT=3, STANDIN_EXCLUSIVE=3, STANDIN_FOREIGN=0)
    assert "A100-SXM4-80GB, exclusive" in output
    assert output.splitlines()[6:] == [
        "cuda:0: 2 uncorrected memory errors (ECC) since its driver was loaded: reset it",
        "cuda:3: slowed down by heat",
    ]


@pytest.mark.parametrize(
    ("peak", "advice"),
    [
        (3 << 30, "of a GPU: `clarinet queue slots gpu=4` starts 4 on each."),
        (15 << 30, "of a GPU: one at a time fits on each."),
    ],
)
def test_slots_are_recommended_from_the_peak_memory_of_runs(
    library: Path, tmp_path: Path, peak: int, advice: str
) -> None:
    record_memory_peak(tmp_path, resolve({"preset": "smoke", "task": "U->M"}), peak)
    last = devices(library, "--runs-dir", str(tmp_path), STANDIN_FOREIGN=0).splitlines()[-1]
    assert last == f"Runs here have used up to {peak >> 30}.0 GiB {advice}"


def test_watch_prints_tables_or_a_list_per_line_until_ctrl_c(library: Path) -> None:
    with watching(library) as tables, watching(library, "--json") as lists:
        for _ in range(2):
            table = [known(tables.stdout).readline().split()[0] for _ in range(6)]
            assert table == ["device", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cpu"]
            assert json.loads(known(lists.stdout).readline())[-1]["label"] == "cpu"
        for process in (tables, lists):
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60)[1] == ""
            assert process.returncode == 0


def test_watch_redraws_and_restores_the_terminal(library: Path) -> None:
    ours, theirs = pty.openpty()
    with watching(library, stdout=theirs) as process, open(ours, "rb", buffering=0) as screen:  # noqa: PTH123 - a pty
        os.close(theirs)
        output = read_until(screen, rb"cpu.*\x1b\[\d*A.*cpu")
        assert b"last minute" in output
        assert "█".encode() in output, "GPU 1 is busy, and the bars show it"
        assert b"\x1b[?25l" in output, "the cursor is hidden while the table is redrawn"
        process.send_signal(signal.SIGINT)
        assert b"\x1b[?25h" in read_until(screen, rb"\x1b\[\?25h"), "and shown again"
        assert process.wait(60) == 0
        assert known(process.stderr).read() == ""


def read_until(screen: IO[bytes], pattern: bytes) -> bytes:
    """Return what a terminal received up to the pattern."""
    output = b""
    while not re.search(pattern, output, re.DOTALL):
        more = screen.read(4096)
        assert more, output
        output += more
    return output
