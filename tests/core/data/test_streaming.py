"""Streamed images: the same pixels in each pass, read by the same processes, which get a file's name and no pixels."""

import multiprocessing
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from core.data.batches import ResidentImages, StreamedImages, _BatchDataset
from core.data.cache import find_in_file
from core.training.device_data import load_device_data
from tests.support.tiny import tiny_config, tiny_data, tiny_images

CPU = torch.device("cpu")
PIXELS = np.random.default_rng(1).integers(0, 256, (50, 6, 5, 3), dtype=np.uint8)


def reader_pids() -> set[int | None]:
    return {child.pid for child in multiprocessing.active_children()}


def test_passes_are_read_by_the_same_processes() -> None:
    before = reader_pids()
    streamed, resident = StreamedImages(PIXELS, CPU, True, workers=2), ResidentImages(PIXELS, CPU, True)
    pids = []
    for seed in (1, 2):
        order = torch.randperm(50, generator=torch.Generator().manual_seed(seed))
        for ours, expected in zip(streamed.batches(order, 8), resident.batches(order, 8), strict=True):
            assert torch.equal(ours, expected)
        pids.append(reader_pids() - before)
    assert len(pids[0]) == 2
    assert pids[0] == pids[1]
    streamed.close()
    assert reader_pids() == before


def test_a_pass_that_was_not_finished_does_not_reach_the_next_one() -> None:
    streamed = StreamedImages(PIXELS, CPU, True, workers=1)
    next(streamed.batches(torch.arange(40), 4))
    images = torch.cat(list(streamed.batches(torch.arange(40, 50), 4)))
    assert torch.equal(images, torch.cat(list(ResidentImages(PIXELS, CPU, True).batches(torch.arange(40, 50), 4))))


@pytest.mark.parametrize("rows", [slice(None), slice(7, 30)])
@pytest.mark.parametrize("is_mapped", [True, False])
def test_another_process_gets_the_name_of_a_file(rows: slice, is_mapped: bool, tmp_path: Path) -> None:
    """Where processes are not forked (macOS, Python 3.14), the array itself would be copied into each."""
    np.save(tmp_path / "pixels.npy", np.repeat(PIXELS, 20, axis=0))
    images = np.load(tmp_path / "pixels.npy", mmap_mode="r" if is_mapped else None)[rows]
    pickled = pickle.dumps(_BatchDataset(images))
    assert len(pickled) < 1000 < images.nbytes
    chosen = np.array([3, 0, 22])
    assert torch.equal(pickle.loads(pickled)[chosen], torch.from_numpy(images[chosen]))
    if is_mapped:
        assert find_in_file(images).path == str(tmp_path / "pixels.npy")


def test_a_domain_without_test_images_is_on_the_device_once() -> None:
    data = tiny_data()
    target = tiny_images(30, 5)
    placed = load_device_data(
        tiny_config(), data.__class__(**{**vars(data), "target_train": target, "target_test": target}), CPU
    )
    assert placed.target_test.images is placed.target
    assert len(placed.target_test.y) == 30
    apart = load_device_data(tiny_config(), data, CPU)
    assert apart.target_test.images is not apart.target
