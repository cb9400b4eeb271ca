"""Checks of the machine, with good and bad results."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.other_gpus import find_torch
from clarinet_tui.doctor.checks import (
    check_data,
    check_devices,
    check_python,
    check_terminal,
    check_torch,
    check_torch_works,
)
from tests.support.cli import imported_modules

CPU = Device(key="cpu", label="cpu", name="CPU")
GPU = Device(key="GPU-1", label="cuda:0", name="A100", memory_total=40 << 30)
UTF8 = {"TERM": "xterm-256color", "LANG": "en_US.UTF-8"}


def test_python() -> None:
    assert check_python().verdict == "good"


def test_torch_is_found_without_importing_it() -> None:
    result = check_torch(find_torch(), gpus=0)
    assert (result.verdict, result.message[:2]) == ("good", "2.")
    checks = "from clarinet_tui.doctor.checks import check_torch\n"
    checks += "from clarinet_tui.devices.other_gpus import find_torch"
    assert "torch" not in imported_modules(f"{checks}\ncheck_torch(find_torch(), 0)")


@pytest.mark.parametrize(
    ("text", "gpus", "verdict", "part"),
    [
        ("__version__ = '2.13.0+cu128'\ncuda: Optional[str] = '12.8'\nhip: str = None", 1, "good", "CUDA 12.8"),
        ("__version__ = '2.13.0'\ncuda: Optional[str] = None\nhip: Optional[str] = '6.4'", 0, "good", "ROCm 6.4"),
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None", 0, "good", "the CPU only"),
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None", 2, "warning", "2 GPUs cannot be used"),
        ("__version__ = None", 0, "bad", "not installed"),
    ],
)
def test_builds_of_torch(tmp_path: Path, text: str, gpus: int, verdict: str, part: str) -> None:
    (tmp_path / "version.py").write_text(text)
    result = check_torch(tmp_path, gpus)
    assert result.verdict == verdict
    assert part in result.message


def test_missing_torch(tmp_path: Path) -> None:
    assert check_torch(None, 0).verdict == check_torch(tmp_path, 0).verdict == "bad"


@pytest.mark.parametrize(
    ("code", "verdict", "part"),
    [
        ('print(\'a warning\'); print(\'{"version": "2.13", "devices": ["cpu"]}\')', "good", "2.13 computes on cpu"),
        ("raise OSError('libcudart.so is missing')", "bad", "fails: OSError: libcudart.so is missing"),
        ("import os; os.kill(os.getpid(), 9)", "bad", "exit code -9"),
    ],
)
def test_torch_in_a_process(code: str, verdict: str, part: str) -> None:
    result = check_torch_works([sys.executable, "-c", code])
    assert result.verdict == verdict
    assert part in result.message


def test_torch_computes_on_every_device() -> None:
    result = check_torch_works()
    assert result.verdict == "good", result.message
    assert "computes on cpu" in result.message


def test_hanging_torch_times_out() -> None:
    result = check_torch_works([sys.executable, "-c", "import time; time.sleep(60)"], seconds=0.2)
    assert (result.verdict, result.message) == ("bad", "no answer within 0.2 s")


@pytest.mark.parametrize(
    ("devices", "verdict", "message"),
    [
        ([CPU], "good", "none: runs compute on the CPU"),
        ([GPU, CPU], "good", "1 GPU: cuda:0 A100 (40 GiB)"),
        ([Device(key="cpu", label="cpu", name="CPU", problem="no driver")], "warning", "no driver"),
        (
            [Device(key="cpu", label="cpu", name="CPU", note="an AMD GPU is not used")],
            "warning",
            "an AMD GPU is not used",
        ),
        ([replace(GPU, throttling="heat"), CPU], "warning", "cuda:0: slowed down by heat"),
        ([Device(key="G", label="cuda:0", name="?", problem="is lost"), CPU], "warning", "cuda:0: is lost"),
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
