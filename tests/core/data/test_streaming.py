"""Domains too large for memory: mapped from files that are removed, and streamed by processes, with the same pixels."""

import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.data.batches import ResidentImages, StreamedImages, _BatchDataset
from core.data.cache import find_in_file
from core.data.task_data import ImageSet, TaskData
from core.training.train import DeviceData
from tests.support.image_folders import arrays_folder, load, picture_folder
from tests.support.tiny import tiny_config, tiny_data, tiny_images

ROOT = Path(__file__).parents[3]


def sets(data: TaskData) -> list[ImageSet]:
    image_sets = (data.source_train, data.source_test, data.target_train, data.target_test)
    return [images for images in image_sets if images is not None]


@pytest.mark.parametrize("settings", [{}, {"image_size": 9}, {"source_size": 2, "target_size": 3}])
@pytest.mark.parametrize("form", ["arrays", "pictures"])
def test_mapped_images_equal_images_in_memory(form: str, settings: dict[str, Any], tmp_path: Path) -> None:
    make = arrays_folder if form == "arrays" else picture_folder
    folders = make(tmp_path / "a"), make(tmp_path / "b")
    plain = load(*folders, tmp_path, **settings)
    mapped = load(*folders, tmp_path, **settings, memory_limit_gb=0.0)
    for in_memory, from_file in zip(sets(plain), sets(mapped), strict=True):
        assert not isinstance(in_memory.x, np.memmap)
        assert isinstance(from_file.x, np.memmap)
        assert from_file.x.dtype == np.uint8
        assert (in_memory.x == from_file.x).all()
    assert any((tmp_path / ".cache").iterdir())


def test_only_arrays_above_the_limit_are_mapped(tmp_path: Path) -> None:
    data = load(arrays_folder(tmp_path / "a"), arrays_folder(tmp_path / "b"), tmp_path, memory_limit_gb=0.001)
    assert not any(isinstance(images.x, np.memmap) for images in sets(data))
    assert not (tmp_path / ".cache").exists()


@pytest.mark.parametrize("writable", [True, False])
def test_files_are_removed_when_the_process_ends(writable: bool, tmp_path: Path) -> None:
    data_dir, temporary = tmp_path / "data", tmp_path / "temporary"
    for folder in (data_dir, temporary):
        folder.mkdir()
    arrays_folder(tmp_path / "a")
    program = (
        "import sys; from pathlib import Path; from core import resolve; from core.data.load import load_task;"
        "x = load_task(resolve(task=sys.argv[1], memory_limit_gb=0.0), Path(sys.argv[2])).source_train.x;"
        "print(Path(x.filename).parent if Path(x.filename).exists() else 'nowhere')"
    )
    data_dir.chmod(0o755 if writable else 0o555)
    ran = subprocess.run(
        [sys.executable, "-c", program, f"{tmp_path / 'a'}->{tmp_path / 'a'}", str(data_dir)],
        cwd=ROOT,
        env={"TMPDIR": str(temporary), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == str(data_dir / ".cache" if writable else temporary)
    assert not list(tmp_path.rglob("images-*"))


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
        assert find_in_file(images)[0] == str(tmp_path / "pixels.npy")


def test_a_domain_without_test_images_is_on_the_device_once() -> None:
    data = tiny_data()
    target = tiny_images(30, 5)
    placed = DeviceData(
        tiny_config(), data.__class__(**{**vars(data), "target_train": target, "target_test": target}), CPU
    )
    assert placed.target_test.images is placed.target
    assert len(placed.target_test.y) == 30
    apart = DeviceData(tiny_config(), data, CPU)
    assert apart.target_test.images is not apart.target
