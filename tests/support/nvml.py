"""A simulated machine with four GPUs."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from ctypes import CDLL
from pathlib import Path

import pynvml
import pytest

SOURCE = Path(__file__).with_name("nvml_standin.c")
UUIDS = (
    "GPU-5a01c2d4-0000-4000-8000-000000000000",
    "GPU-5a7be9f0-1111-4000-8000-000000000001",
    "GPU-c3d40000-2222-4000-8000-000000000002",
    "GPU-f00dfeed-3333-4000-8000-000000000003",
)
FREE, BUSY, FULL, LARGE = UUIDS
SLICES = ("MIG-77aa0000-4444-4000-8000-000000000004", "MIG-77bb0000-5555-4000-8000-000000000005")
SLICE = SLICES[0]
ELSEWHERE = 4194305
"""A pid beyond the kernel's maximum, as a process of another container may have."""


def build(folder: Path) -> Path:
    """Compile the stand-in into `folder`, which is then given as LD_LIBRARY_PATH."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) to build the stand-in for NVIDIA's library")
    library = folder / "libnvidia-ml.so.1"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True, timeout=60)
    return folder


def environment(library: Path, variables: Mapping[str, object] | None = None) -> dict[str, str]:
    """Return the environment of a process that sees these GPUs; `variables` control them: see nvml_standin.c."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "STANDIN_"))}
    more = {name: str(value) for name, value in (variables or {}).items()}
    folders = os.pathsep.join(filter(None, (str(library), kept.get("LD_LIBRARY_PATH"))))
    return {**kept, "LD_LIBRARY_PATH": folders, "NO_COLOR": "1", **more}


def install_standin(library: Path, patch: pytest.MonkeyPatch) -> None:
    """Make this process see these GPUs until the test ends; `patch.setenv` controls them."""
    patch.setattr(pynvml, "nvmlLib", CDLL(str(library / "libnvidia-ml.so.1")))
    patch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
