"""environment.json: with what, where and from which code a run was made. Readable by its owner only."""

import os
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clarinet_tui.runs.atomic_files import replace_file
from clarinet_tui.runs.process import boot_id, host_name
from core.config import RunConfig

if TYPE_CHECKING:
    from clarinet_tui.runs.directory import RunDirectory

PACKAGES = ("clarinet-tui", "torch", "torchvision", "numpy", "scikit-learn", "pillow", "msgspec", "sqlite-utils")
LARGEST_PATCH = 1 << 20
GIT_SECONDS = 10.0


def write_environment(
    run: "RunDirectory",
    config: RunConfig,
    *,
    device: str,
    command: list[str] | None = None,
    folder: Path | None = None,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Patch and command line may hold secrets, so that the file's mode is 0600. The label hash is in the journal."""
    said = {
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
        "git": git_state(folder or Path.cwd()),
        **(extra or {}),
    }
    replace_file(run.environment, msgspec.json.format(msgspec.json.encode(said)) + b"\n", 0o600)
    return said


def read_environment(run: "RunDirectory") -> dict[str, Any]:
    """What was written; empty where there is nothing to read."""
    try:
        said = msgspec.json.decode(run.environment.read_bytes())
    except (OSError, msgspec.DecodeError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def versions() -> dict[str, str]:
    """Asked of the installation, so that nothing is imported."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit and uncommitted patch of the working folder; None where there is no git or no repository."""
    commit = _git(folder, "rev-parse", "HEAD", limit=64)
    if commit is None:
        return None
    patch = _git(folder, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", limit=LARGEST_PATCH + 1)
    patch = patch or b""
    return {
        "commit": commit.decode(errors="replace").strip(),
        "patch": patch[:LARGEST_PATCH].decode(errors="replace"),
        "patch_cut": len(patch) > LARGEST_PATCH,
    }


def _git(folder: Path, *arguments: str, limit: int) -> bytes | None:
    """At most `limit` bytes of git's answer. Nothing that the repository configures is executed."""
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError:
        return None
    return _bounded(process, limit)


def _bounded(process: "subprocess.Popen[bytes]", limit: int) -> bytes | None:
    import threading

    alarm = threading.Timer(GIT_SECONDS, process.kill)
    alarm.start()
    try:
        assert process.stdout is not None
        with process.stdout as stream:
            answer = stream.read(limit)
        cut = len(answer) == limit
        if cut:
            process.kill()
        return answer if process.wait() == 0 or cut else None
    finally:
        alarm.cancel()
