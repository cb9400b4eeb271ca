"""The GPU of a worker: locked before torch is loaded, so that no other run takes it meanwhile."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from clarinet_tui.devices.gpu_lock import hold_gpu
from clarinet_tui.devices.placement import select_device
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.text import printable


@contextmanager
def hold_first_gpu(run: RunDirectory, keys: Sequence[str], *, queued: bool, share: bool) -> Iterator[None]:
    """Hold the lock of the first of these GPUs that is free, and make it the only visible one; without keys, nothing.

    Queued runs of one user and runs directory may share a GPU: their supervisor counts its slots.
    """
    if not keys:
        yield
        return
    group = f"{os.geteuid()}:{run.runs_dir.resolve()}" if queued else ""
    with hold_gpu(keys, run.id, group=group, share=share, notify=_warn) as key:
        os.environ.update(select_device(key))
        yield


def _warn(message: str) -> None:
    print(f"clarinet: {printable(message)}", file=sys.stderr)
