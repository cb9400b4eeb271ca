"""The version of Clarinet and of what it runs on, without importing torch."""

import importlib.util
import platform
import re
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
        lines += [f"Python {platform.python_version()} ({sys.executable})", f"torch {_torch_build()}"]
        lines += [f"git commit {commit}"] if (commit := _source_commit()) else []
        lines += [f"{platform.system()} {platform.release()} {platform.machine()}"]
    return "\n".join(lines)


def _torch_build() -> str:
    """Return what torch's version.py assigns."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return "is not installed"
    try:
        text = Path(spec.origin).with_name("version.py").read_text(errors="replace")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    found = re.findall(r"^(__version__|cuda|hip)\b[^=\n]*=\s*['\"]([^'\"\n]+)['\"]", text, re.MULTILINE)
    values = dict(found)
    cuda, hip = values.get("cuda"), values.get("hip")
    built_for = f"CUDA {cuda}" if cuda else f"ROCm {hip}" if hip else "the CPU only"
    return f"{values.get('__version__', '?')}, built for {built_for}"


def _source_commit() -> str | None:
    """Return the commit of the repository that Clarinet runs from; None for an installed package."""
    from clarinet_tui.runs.environment import git_state

    root = Path(__file__).parents[1]
    state = git_state(root) if (root / ".git").exists() else None
    return None if state is None else str(state["commit"])[:12] + (" and uncommitted changes" if state["patch"] else "")
