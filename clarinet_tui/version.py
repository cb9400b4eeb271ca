"""The version of Clarinet and of what it runs on, without importing torch."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def version_text(verbose: bool = False) -> str:
    """Return the version; with `verbose` also Python, torch, its CUDA and the git commit of the source."""
    try:
        number = version("clarinet-tui")
    except PackageNotFoundError:
        number = "of a source tree that is not installed"
    lines = [f"clarinet {number}"]
    if verbose:
        from clarinet_tui.devices.local import find_torch
        from clarinet_tui.doctor.checks import check_torch
        from clarinet_tui.runs.environment import git_state

        torch = check_torch(find_torch(), gpus=0).message
        lines += [f"Python {platform.python_version()} ({sys.executable})", f"torch {torch}"]
        root = Path(__file__).parents[1]
        if (root / ".git").exists() and (state := git_state(root)):  # not an installed package
            changes = " and uncommitted changes" if state["patch"] else ""
            lines.append(f"git commit {state['commit'][:12]}{changes}")
        lines.append(f"{platform.system()} {platform.release()} {platform.machine()}")
    return "\n".join(lines)
