"""Failed events: their cause, their place and what to do about it."""

import errno
import os
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
import torch

from clarinet_tui.logs.event_text import describe_event
from clarinet_tui.worker.failure import FRAMES, MAX_MESSAGE, make_failed
from core.errors import InputError
from core.events import Failed, Stepped

GPU_FULL = """CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 15.89 GiB of which 1.21 GiB
is free. Process 4242 has 14.68 GiB memory in use. Of the allocated memory 14.01 GiB is allocated by PyTorch."""


def catch(act: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any exception
        act()
    assert isinstance(caught.value, Exception)
    return caught.value


def fail(error: Exception) -> None:
    raise error


def test_fields_of_a_failure() -> None:
    last = Stepped(iteration=7, epoch=1, adaptation_epoch=None, stage="gac", metrics={}, seconds=2.5)
    failed = make_failed(catch(lambda: fail(RuntimeError("mat1 and mat2\n  cannot be multiplied"))), last)
    assert (failed.iteration, failed.seconds, failed.kind) == (7, 2.5, "RuntimeError")
    assert failed.message == "RuntimeError: mat1 and mat2 cannot be multiplied"
    assert failed.frames[0].startswith("test_failure.py:")
    assert failed.frames[0].endswith(" fail")
    assert describe_event(failed, 0, "abc") == f"failed: {failed.message}\n" + "\n".join(
        f"  at {frame}" for frame in failed.frames
    )


def test_empty_and_long_messages() -> None:
    assert make_failed(KeyError(), None).message == "KeyError"
    assert make_failed(ValueError("x" * 10_000), None).message == "ValueError: " + "x" * (MAX_MESSAGE - 13) + "…"

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        raise ValueError

    assert len(make_failed(catch(lambda: deep(20)), None).frames) == FRAMES


@pytest.mark.parametrize(
    ("act", "sizes"),
    [
        (lambda: torch.empty(10**14, dtype=torch.uint8), ": 93132.26 GiB more were requested; "),
        (lambda: np.zeros(10**15), ": 7.11 PiB more were requested; "),
        (lambda: bytearray(2**60), "; "),
        (
            lambda: fail(torch.OutOfMemoryError(GPU_FULL)),
            " on the GPU: 2.50 GiB more were requested, 1.21 GiB of 15.89 GiB were free; ",
        ),
        (lambda: fail(RuntimeError("CUDA error: out of memory")), " on the GPU; "),
        (lambda: fail(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling")), " on the GPU; "),
    ],
)
def test_out_of_memory_has_sizes_and_advice(act: Callable[[], object], sizes: str) -> None:
    failed = make_failed(catch(act), None)
    assert failed.kind == "out of memory"
    assert failed.message.startswith(f"out of memory{sizes}")
    for advice in ("another device", "memory_limit_gb", "batch_size"):
        assert advice in failed.message


def test_kinds_of_full_disk_and_wrong_input() -> None:
    with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123
        failed = make_failed(catch(lambda: full.write(b"x")), None)
    assert failed.kind == "disk full"
    assert os.strerror(errno.ENOSPC) in failed.message
    refused = make_failed(InputError("device: there is no cuda:7 here"), None)
    assert (refused.kind, refused.message) == ("wrong input", "device: there is no cuda:7 here")
    assert make_failed(PermissionError(errno.EACCES, "Permission denied", "x"), None).kind == "PermissionError"


def test_old_failure_without_kind_is_read() -> None:
    failed = msgspec.json.decode(b'{"event":"failed","iteration":3,"message":"x","seconds":1.0}', type=Failed)
    assert (failed.kind, failed.frames) == ("", [])
