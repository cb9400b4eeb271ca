"""What the installed torch is built for, read from its files without importing it."""

import functools
import importlib.util
import re
from pathlib import Path


def find_torch() -> Path | None:
    """Return the folder that torch is installed in, without importing it."""
    spec = importlib.util.find_spec("torch")
    return Path(spec.origin).parent if spec and spec.origin else None


def parse_assignment(text: str, name: str) -> str | None:
    """Return the string that a module's source assigns to a name."""
    match = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([^'\"\n]+)['\"]", text, re.MULTILINE)
    return match[1] if match else None


def read_backend(folder: Path | None) -> str:
    """Return "cuda", "hip" (AMD), "xpu" (Intel) or "cpu"."""
    try:
        text = "" if folder is None else (folder / "version.py").read_text(errors="replace")
    except OSError:
        text = ""
    return next((name for name in ("cuda", "hip", "xpu") if parse_assignment(text, name)), "cpu")


@functools.cache
def torch_backend() -> str:
    return read_backend(find_torch())
