"""Checks of `clarinet doctor` on this machine: Python, torch, devices, data, terminal. Nothing here imports torch."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.other_gpus import parse_assignment
from clarinet_tui.text import format_count
from core.errors import InputError

Verdict = Literal["good", "warning", "bad"]
OLDEST_PYTHON = (3, 11)
MIN_TERMINAL = (80, 24)
"""Columns and lines that the app needs."""
_TORCH_PROBE = """
import json, torch
devices = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
for device in devices:
    torch.ones(64, 64, device=device).mm(torch.ones(64, 64, device=device)).sum().item()
print(json.dumps({"version": torch.__version__, "devices": devices}))
"""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check, and what to do about it."""

    name: str
    verdict: Verdict
    message: str
    advice: str = ""


def check_python(version: Sequence[int] = sys.version_info[:3]) -> CheckResult:
    text = ".".join(map(str, version))
    if tuple(version[:2]) >= OLDEST_PYTHON:
        return CheckResult("Python", "good", text)
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return CheckResult("Python", "bad", f"{text} is too old", f"use Python {oldest} or newer")


def check_torch(folder: Path | None, gpus: int) -> CheckResult:
    """Read torch's version.py; a build without CUDA cannot use the machine's GPUs."""
    try:
        text = "" if folder is None else (folder / "version.py").read_text(errors="replace")
    except OSError as error:
        return CheckResult("torch", "bad", f"{folder} cannot be read: {error.strerror}", "reinstall torch")
    version = parse_assignment(text, "__version__")
    if version is None:
        advice = "reinstall Clarinet, which depends on torch"
        return CheckResult("torch", "bad", "is not installed: nothing can be trained", advice)
    cuda, hip = parse_assignment(text, "cuda"), parse_assignment(text, "hip")
    if cuda or hip:
        return CheckResult("torch", "good", f"{version}, built for {f'CUDA {cuda}' if cuda else f'ROCm {hip}'}")
    if not gpus:
        return CheckResult("torch", "good", f"{version}, built for the CPU only")
    message = f"{version} is built for the CPU only: {format_count(gpus, 'GPU')} cannot be used"
    return CheckResult("torch", "warning", message, "install a build of torch with CUDA: see pytorch.org/get-started")


def check_torch_works(
    command: Sequence[str] = (sys.executable, "-P", "-c", _TORCH_PROBE), seconds: float = 120.0
) -> CheckResult:
    """Multiply two matrices on every device, in a process of its own."""
    name, advice = "torch computation", "reinstall torch, or install a build that fits the driver"
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return CheckResult(name, "bad", f"no answer within {seconds:g} s", "check the load and nvidia-smi")
    if result.returncode:
        error = (result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1]
        return CheckResult(name, "bad", f"fails: {error}", advice)
    torch: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return CheckResult(name, "good", f"{torch['version']} computes on {', '.join(torch['devices'])}")


def check_devices(devices: Sequence[Device]) -> CheckResult:
    gpus = [device for device in devices if device.is_gpu]
    problems = [f"{gpu.label}: {problem}" for gpu in gpus if (problem := gpu.problem or gpu.warning)]
    driver = [device.problem for device in devices if not device.is_gpu and device.problem]
    if driver:
        return CheckResult("GPUs", "warning", driver[0], "repair the driver, or train on the CPU")
    if problems:
        return CheckResult("GPUs", "warning", "; ".join(problems), "check nvidia-smi")
    if notes := [device.note for device in devices if device.note]:
        return CheckResult("GPUs", "warning", notes[0], "or train on the CPU")
    if not gpus:
        return CheckResult("GPUs", "good", "none: runs compute on the CPU")
    names = ", ".join(f"{device.label} {device.name} ({(device.memory_total or 0) / 2**30:.0f} GiB)" for device in gpus)
    return CheckResult("GPUs", "good", f"{format_count(len(gpus), 'GPU')}: {names}")


def check_data(data_dir: Path) -> CheckResult:
    """Missing data is not an error: the offline task needs none."""
    from core.data.catalogue import list_domains

    try:
        domains = list_domains(data_dir)
    except (InputError, OSError) as error:
        return CheckResult("data", "bad", str(error), "run clarinet data verify for details")
    available = ", ".join(domain.title for domain in domains if domain.is_present)
    missing = ", ".join(domain.title for domain in domains if not domain.is_present)
    if not missing:
        return CheckResult("data", "good", f"{data_dir}: all domains are available")
    advice = "clarinet data list shows how to get the others"
    return CheckResult("data", "good", f"{data_dir}: {available}; missing: {missing}", advice)


def check_terminal(environ: Mapping[str, str] = os.environ, size: tuple[int, int] | None = None) -> CheckResult:
    """`size` is None without a terminal, and 0 if the terminal does not report it."""
    if size is None:
        return CheckResult("terminal", "good", "none: the output goes to a pipe, a file or a job")
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        return CheckResult("terminal", "warning", f"TERM is {term or 'not set'}", "export TERM=xterm-256color")
    charset = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    if "utf8" not in charset.lower().replace("-", ""):
        message = f"the locale is {charset or 'not set'}: lines and charts may look broken"
        return CheckResult("terminal", "warning", message, "export LANG=C.UTF-8")
    message = f"{term}, {_colours(environ, term)}, {size[0]}×{size[1]}, UTF-8"
    if 0 < size[0] < MIN_TERMINAL[0] or 0 < size[1] < MIN_TERMINAL[1]:
        advice = f"the app needs {MIN_TERMINAL[0]}×{MIN_TERMINAL[1]}: make the window larger"
        return CheckResult("terminal", "warning", message, advice)
    return CheckResult("terminal", "good", message)


def _colours(environ: Mapping[str, str], term: str) -> str:
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return "16 million colours"
    return "256 colours" if "256color" in term else "16 colours"
