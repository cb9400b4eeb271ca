"""What `clarinet doctor` looks at on this machine: Python, torch, devices, data, terminal. Nothing here loads torch."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clarinet_tui.devices.device import Device
from core.errors import InputError

Verdict = Literal["good", "warning", "bad"]
OLDEST_PYTHON = (3, 11)
SMALLEST = (80, 24)
"""Columns and lines of a terminal that the app needs."""
DEEP_SECONDS = 120.0
_ASK_TORCH = """
import json, torch
devices = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
for device in devices:
    torch.ones(64, 64, device=device).mm(torch.ones(64, 64, device=device)).sum().item()
print(json.dumps({"version": torch.__version__, "devices": devices}))
"""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what was found, and what to do about it."""

    name: str
    verdict: Verdict
    sentence: str
    advice: str = ""


def check_python(version: Sequence[int] = sys.version_info[:3]) -> Check:
    said = ".".join(map(str, version))
    if tuple(version[:2]) >= OLDEST_PYTHON:
        return Check("Python", "good", said)
    wanted = ".".join(map(str, OLDEST_PYTHON))
    return Check("Python", "bad", f"{said} is too old", f"use Python {wanted} or newer")


def torch_folder() -> Path | None:
    """Where torch is installed, found without importing it."""
    spec = importlib.util.find_spec("torch")
    return Path(spec.origin).parent if spec and spec.origin else None


def check_torch(folder: Path | None, gpus: int) -> Check:
    """From its own version.py. A build without CUDA on a machine with GPUs leaves them idle."""
    try:
        text = "" if folder is None else (folder / "version.py").read_text(errors="replace")
    except OSError as error:
        return Check("torch", "bad", f"{folder} cannot be read: {error.strerror}", "install torch again")
    version = _assigned(text, "__version__")
    if version is None:
        return Check(
            "torch", "bad", "is not installed: nothing can be trained", "install Clarinet again: torch comes with it"
        )
    cuda, hip = _assigned(text, "cuda"), _assigned(text, "hip")
    if cuda or hip:
        return Check("torch", "good", f"{version}, built for {f'CUDA {cuda}' if cuda else f'ROCm {hip}'}")
    if not gpus:
        return Check("torch", "good", f"{version}, built for the CPU only")
    said = f"{version} is built for the CPU only, and here {_count(gpus, 'GPU')} would stay idle"
    return Check("torch", "warning", said, "install a build of torch with CUDA: pytorch.org/get-started says how")


def _assigned(text: str, name: str) -> str | None:
    """A text that a module gives to a name."""
    found = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([^'\"\n]+)['\"]", text, re.MULTILINE)
    return found[1] if found else None


def check_torch_works(
    command: Sequence[str] = (sys.executable, "-P", "-c", _ASK_TORCH), seconds: float = DEEP_SECONDS
) -> Check:
    """In a process of its own: one product of two matrices on every device."""
    name, advice = "torch at work", "install torch again, or a build that fits the driver"
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return Check(name, "bad", f"has not answered within {seconds:g} s", "look at the load, and at nvidia-smi")
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return Check(name, "bad", f"fails: {why}", advice)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return Check(name, "good", f"{told['version']} computes on {', '.join(told['devices'])}")


def check_devices(devices: Sequence[Device]) -> Check:
    gpus = [device for device in devices if device.is_gpu]
    troubles = [f"{device.label}: {device.trouble}" for device in gpus if device.trouble]
    driver = [device.trouble for device in devices if not device.is_gpu and device.trouble]
    if driver:
        return Check("GPUs", "warning", driver[0], "mend the driver, or train on the CPU")
    if troubles:
        return Check("GPUs", "warning", "; ".join(troubles), "look at nvidia-smi")
    if not gpus:
        return Check("GPUs", "good", "none: runs compute on the CPU")
    names = ", ".join(f"{device.label} {device.name} ({(device.memory_total or 0) / 2**30:.0f} GiB)" for device in gpus)
    return Check("GPUs", "good", f"{_count(len(gpus), 'GPU')}: {names}")


def check_data(data_dir: Path) -> Check:
    """With nothing downloaded the offline task still works."""
    from core.data.catalogue import catalogue

    try:
        entries = catalogue(data_dir)
    except (InputError, OSError) as error:
        return Check("data", "bad", str(error), "clarinet data verify tells more")
    here = ", ".join(entry.title for entry in entries if entry.there)
    missing = ", ".join(entry.title for entry in entries if not entry.there)
    if not missing:
        return Check("data", "good", f"{data_dir}: all domains are here")
    return Check("data", "good", f"{data_dir}: {here}; not {missing}", "clarinet data list says how to get the others")


def check_terminal(environ: Mapping[str, str] = os.environ, size: tuple[int, int] | None = None) -> Check:
    """`size` is None where there is no terminal, and 0 where it does not tell."""
    if size is None:
        return Check("terminal", "good", "none here: this is a pipe or a job")
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        return Check("terminal", "warning", f"TERM is {term or 'not set'}", "export TERM=xterm-256color")
    charset = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    if "utf8" not in charset.lower().replace("-", ""):
        said = f"the locale is {charset or 'not set'}, so that lines and charts may look broken"
        return Check("terminal", "warning", said, "export LANG=C.UTF-8")
    said = f"{term}, {_colours(environ, term)}, {size[0]}×{size[1]}, UTF-8"
    if 0 < size[0] < SMALLEST[0] or 0 < size[1] < SMALLEST[1]:
        return Check("terminal", "warning", said, f"the app needs {SMALLEST[0]}×{SMALLEST[1]}: make the window larger")
    return Check("terminal", "good", said)


def _colours(environ: Mapping[str, str], term: str) -> str:
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return "16 million colours"
    return "256 colours" if "256color" in term else "16 colours"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
