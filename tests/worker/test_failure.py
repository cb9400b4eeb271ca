"""Failure is data: what it was, where it happened, and what to do about it."""

import errno
import os
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
import torch

from clarinet_tui.logs.event_text import sentence
from clarinet_tui.worker.failure import FRAMES, LONGEST, failure
from core.errors import InputError
from core.events import Failed, Stepped
from core.training.train import train
from tests.support.tiny import tiny_config, tiny_data

GPU_FULL = """CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 15.89 GiB of which 1.21 GiB
is free. Process 4242 has 14.68 GiB memory in use. Of the allocated memory 14.01 GiB is allocated by PyTorch."""


def caught(act: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is what the test is about
        act()
    assert isinstance(caught.value, Exception)
    return caught.value


def fail(error: Exception) -> None:
    raise error


def test_kind_sentence_place_and_time_are_fields_of_their_own() -> None:
    last = Stepped(iteration=7, epoch=1, adaptation_epoch=None, stage="gac", measured={}, seconds=2.5)
    said = failure(caught(lambda: fail(RuntimeError("mat1 and mat2\n  cannot be multiplied"))), last)
    assert (said.iteration, said.seconds, said.kind) == (7, 2.5, "RuntimeError")
    assert said.message == "RuntimeError: mat1 and mat2 cannot be multiplied"
    assert said.frames[0].startswith("test_failure.py:")
    assert said.frames[0].endswith(" fail")
    assert sentence(said, 0, "abc") == f"failed: {said.message}\n" + "\n".join(f"  at {frame}" for frame in said.frames)


def test_a_bare_exception_and_a_long_one() -> None:
    assert failure(KeyError(), None).message == "KeyError"
    assert failure(ValueError("x" * 10_000), None).message == "ValueError: " + "x" * (LONGEST - 13) + "…"

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        raise ValueError

    assert len(failure(caught(lambda: deep(20)), None).frames) == FRAMES


@pytest.mark.parametrize(
    ("act", "sizes"),
    [
        (lambda: torch.empty(10**14, dtype=torch.uint8), ": 93132.26 GiB more were asked for; "),
        (lambda: np.zeros(10**15), ": 7.11 PiB more were asked for; "),
        (lambda: bytearray(2**60), "; "),
        (
            lambda: fail(torch.OutOfMemoryError(GPU_FULL)),
            " on the GPU: 2.50 GiB more were asked for, and 1.21 GiB of 15.89 GiB were free; ",
        ),
        (lambda: fail(RuntimeError("CUDA error: out of memory")), " on the GPU; "),
        (lambda: fail(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling")), " on the GPU; "),
    ],
)
def test_out_of_memory_is_told_with_sizes_and_a_way_out(act: Callable[[], object], sizes: str) -> None:
    said = failure(caught(act), None)
    assert said.kind == "out of memory"
    assert said.message.startswith(f"out of memory{sizes}")
    for remedy in ("another device", "memory_limit_gb", "batch_size"):
        assert remedy in said.message


def test_a_full_disk_and_wrong_input_have_kinds_of_their_own() -> None:
    with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123
        said = failure(caught(lambda: full.write(b"x")), None)
    assert said.kind == "disk full"
    assert os.strerror(errno.ENOSPC) in said.message
    refused = failure(InputError("device: there is no cuda:7 here"), None)
    assert (refused.kind, refused.message) == ("wrong input", "device: there is no cuda:7 here")
    assert failure(PermissionError(errno.EACCES, "Permission denied", "x"), None).kind == "PermissionError"


def test_a_loss_that_is_not_finite_is_a_kind_too() -> None:
    *_, last = train(tiny_config(classifier_rate=1e30, warmup_epochs=0), data=tiny_data())
    assert isinstance(last, Failed)
    assert (last.kind, last.frames) == ("not finite", [])


def test_journals_of_before_are_still_read() -> None:
    before = msgspec.json.decode(b'{"event":"failed","iteration":3,"message":"x","seconds":1.0}', type=Failed)
    assert (before.kind, before.frames) == ("", [])
