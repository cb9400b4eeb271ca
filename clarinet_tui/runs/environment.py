"""environment.json: the machine, the versions, the command and the code of a run."""

import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import find_json
from clarinet_tui.runs.lock import boot_id, host_name
from core.config import RunConfig
from core.files import replace_file

PACKAGES = ("clarinet-tui", "torch", "torchvision", "numpy", "scikit-learn", "pillow", "msgspec", "sqlite-utils")
MAX_PATCH_BYTES = 1 << 20


def write_environment(
    run: RunDirectory,
    config: RunConfig,
    *,
    device: str,
    hardware: dict[str, Any] | None = None,
    command: list[str] | None = None,
) -> None:
    """Write environment.json with mode 0600: the patch and the command line may contain secrets.

    What it had of the attempt before is added to its `earlier_attempts`.
    """
    fields: dict[str, Any] = {
        "time": time.time(),
        "host": host_name(),
        "boot": boot_id(),
        "pid": os.getpid(),
        "platform": sys.platform,
        "python": sys.version.split()[0],
        "device": device,
        "versions": versions(),
        "command": command if command is not None else list(sys.argv),
        "seeds": {"run": config.seed, "stage1": config.stage1.seed},
        "git": git_state(Path.cwd()),
        "hardware": hardware or {},
    }
    if before := read_environment(run):
        git, earlier = before.get("git"), before.get("earlier_attempts")
        last = {name: before.get(name) for name in ("time", "host", "device", "hardware")}
        last["commit"] = git.get("commit") if isinstance(git, dict) else None
        fields["earlier_attempts"] = [*(earlier if isinstance(earlier, list) else []), last]
    replace_file(run.environment, msgspec.json.format(msgspec.json.encode(fields)) + b"\n", 0o600)


def read_environment(run: RunDirectory) -> dict[str, Any]:
    """Return the content of environment.json; empty if it is missing or cannot be read."""
    return find_json(run.environment, dict[str, Any]) or {}


@dataclass(frozen=True)
class Environment:
    """What environment.json records of the last attempt, as text; empty where it is missing or has another type."""

    host: str
    device: str
    hardware: str
    """Model, driver and libraries of the device, and the threads of the CPU."""
    platform: str
    versions: tuple[tuple[str, str], ...]
    """Of Python, and of packages."""
    commit: str
    """Of the directory where the run was started."""
    patch: str
    """Uncommitted changes."""
    command: str

    @property
    def main_versions(self) -> str:
        known = dict(self.versions)
        names = ("clarinet-tui", "python", "torch", "numpy")
        return ", ".join(f"{name} {known[name]}" for name in names if name in known)

    @property
    def code(self) -> str:
        """The commit, and whether it had changes."""
        return f"{self.commit[:12]}{' with uncommitted changes' if self.patch else ''}" if self.commit else ""

    @property
    def short_commit(self) -> str:
        """The beginning of the commit, with a hash of uncommitted changes after a +."""
        patch = self.patch.encode(errors="replace")
        changed = f"+{blake2b(patch, digest_size=2).hexdigest()}" if patch else ""
        return f"{self.commit[:7]}{changed}" if self.commit else ""


def describe_environment(fields: Mapping[str, Any]) -> Environment:
    """Describe the content of environment.json without trusting its types."""
    git, versions, command = fields.get("git"), fields.get("versions"), fields.get("command")
    git = git if isinstance(git, dict) else {}
    known = {"python": fields.get("python"), **(versions if isinstance(versions, dict) else {})}
    return Environment(
        **{name: str(fields.get(name) or "") for name in ("host", "device", "platform")},
        hardware=format_hardware(fields),
        versions=tuple((str(name), str(value)) for name, value in known.items() if value),
        commit=commit if isinstance(commit := git.get("commit"), str) else "",
        patch=str(git.get("patch") or ""),
        command=shlex.join(map(str, command)) if isinstance(command, list) else "",
    )


def hardware_names(environment: Mapping[str, Any]) -> list[str]:
    """Return the different models of GPU or CPU that the attempts of a run have used, the last one first."""
    earlier = environment.get("earlier_attempts")
    attempts = [environment, *(reversed(earlier) if isinstance(earlier, list) else ())]
    recorded = [attempt.get("hardware") for attempt in attempts if isinstance(attempt, dict)]
    names = [hardware.get("name") for hardware in recorded if isinstance(hardware, dict)]
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def format_hardware(environment: Mapping[str, Any]) -> str:
    """Return the hardware of the last attempt on a line, without trusting its types; empty if it is not recorded."""
    hardware = environment.get("hardware")
    if not isinstance(hardware, dict):
        return ""
    named = {"driver": "driver {}", "cuda": "CUDA {}", "rocm": "ROCm {}", "cudnn": "cuDNN {}", "threads": "{} threads"}
    known = [text.format(hardware[name]) for name, text in named.items() if hardware.get(name)]
    return ", ".join([str(hardware.get("name") or "?"), *known])


def versions() -> dict[str, str]:
    """Return the versions of the installed packages, without importing them."""
    from importlib.metadata import PackageNotFoundError, version  # imports many modules

    installed = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return the commit and the uncommitted patch of a folder; None without git or a repository."""
    commit = _git(folder, "rev-parse", "HEAD", limit=64)
    if commit is None:
        return None
    # The state of a submodule's files would be read with the settings of the submodule.
    arguments = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "HEAD")
    patch = _git(folder, *arguments, limit=MAX_PATCH_BYTES + 1, settings=_without_filters(folder)) or b""
    return {
        "commit": commit.decode(errors="replace").strip(),
        "patch": patch[:MAX_PATCH_BYTES].decode(errors="replace"),
        "patch_cut": len(patch) > MAX_PATCH_BYTES,
    }


def _without_filters(folder: Path) -> dict[str, str]:
    """Return settings that disable every configured filter: `git diff` would run its command on changed files."""
    listed = _git(folder, "config", "--null", "--name-only", "--get-regexp", r"^filter\.", limit=MAX_PATCH_BYTES) or b""
    names = sorted({os.fsdecode(key).rpartition(".")[0] for key in listed.split(b"\0") if key})
    settings = {f"{name}.{setting}": "" for name in names for setting in ("clean", "smudge", "process")}
    return settings | {f"{name}.required": "false" for name in names}


def _git(folder: Path, *arguments: str, limit: int, settings: Mapping[str, str] = {}) -> bytes | None:
    """Return at most `limit` bytes of git's output, without running commands that the repository configures."""
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}  # of objects that a partial clone lacks
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    start = int(count) if count.isdecimal() else 0  # after the settings of the user
    environment |= {"GIT_CONFIG_COUNT": str(start + len(settings))} if settings else {}
    for number, (name, value) in enumerate(settings.items(), start):  # as variables, names may have any character
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError:
        return None
    timer = threading.Timer(10.0, process.kill)
    timer.start()
    try:
        with process:
            assert process.stdout is not None
            output = process.stdout.read(limit)
            is_cut = len(output) == limit
            if is_cut:
                process.kill()
    finally:
        timer.cancel()
    return output if process.returncode == 0 or is_cut else None
