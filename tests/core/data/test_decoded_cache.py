"""Photographs are read once: sizes and pixels are kept, found by path, time and size, and ignored when damaged."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from core.data.cache import MAGIC, UNUSED_SECONDS
from core.data.task_data import TaskData
from core.errors import InputError
from tests.support.image_folders import load, picture_folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The image files that were opened, in order."""
    paths: list[Path] = []
    pillow_open = Image.open

    def record(path: Path, **options: Any) -> Image.Image:
        paths.append(path)
        return pillow_open(path, **options)

    monkeypatch.setattr(Image, "open", record)
    return paths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        picture_folder(tmp_path / name, count=5)
    return tmp_path


def read(folder: Path, **settings: object) -> TaskData:
    return load(folder / "a", folder / "b", folder / "data", **settings)


def cache_files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "data" / ".cache").glob("*") if path.suffix != ".lock")


def test_files_are_opened_for_their_sizes_and_pixels_only_by_the_first_run(folder: Path, opened: list[Path]) -> None:
    first = read(folder)
    assert len(opened) == 2 * 20
    opened.clear()
    for settings in ({}, {"method": "gac"}, {"seed": 2}, {"source_fraction": 0.5}, {"source_size": 2}):
        again = read(folder, **settings)
        assert opened == [], settings
        if not settings:
            assert np.array_equal(again.source_train.x, first.source_train.x)
            again.source_train.x[:] = 7  # copy on write
    assert np.array_equal(read(folder).source_train.x, first.source_train.x)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in cache_files(folder))


def test_changed_files_and_other_sizes_are_decoded_again(folder: Path, opened: list[Path]) -> None:
    read(folder)
    for settings in ({"image_size": 4}, {"image_size": 4, "fit": "cut"}):
        opened.clear()
        read(folder, **settings)
        assert len(opened) == 20
    opened.clear()
    Image.new("RGB", (8, 6), (1, 2, 3)).save(folder / "a" / "cat" / "0.png")
    assert (read(folder).source_train.x[0] == (1, 2, 3)).all()
    assert {path.parent.parent.name for path in opened} == {"a"}
    opened.clear()
    (folder / "b" / "cat" / "0.png").unlink()
    assert len(read(folder).target_train) == 9
    assert {path.parent.parent.name for path in opened} == {"b"}


def test_few_of_many_files_are_decoded_alone(folder: Path, opened: list[Path]) -> None:
    data = read(folder, source_size=2, target_size=2, test_size=2)
    assert len(opened) == 20 + 4
    assert len(cache_files(folder)) == 2, "the sizes of each domain's images are kept, their pixels are not"
    rows = [int(image[0, 0, 0]) for image in data.source_train.x]
    assert rows == [int(image[0, 0, 0]) for image in read(folder).source_train.x if image[0, 0, 0] in rows]


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 5)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(MAGIC) + 9] ^= 1
    path.write_bytes(content)


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def pickled(path: Path) -> None:
    path.write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.".ljust(path.stat().st_size, b"x"))


@pytest.mark.parametrize("damage", [truncate, flip, link, pipe, pickled, Path.unlink])
def test_damaged_and_hostile_files_are_ignored_and_replaced(
    damage: Callable[[Path], None], folder: Path, opened: list[Path]
) -> None:
    expected = read(folder).source_train.x.copy()
    for path in cache_files(folder):
        damage(path)
    opened.clear()
    for _ in range(2):
        assert np.array_equal(read(folder).source_train.x, expected)
        assert len(opened) == 2 * 20


def test_nothing_is_kept_in_a_read_only_folder(folder: Path, opened: list[Path]) -> None:
    (folder / "data").mkdir()
    (folder / "data").chmod(0o500)
    expected = read(folder).source_train.x
    assert np.array_equal(read(folder).source_train.x, expected)
    assert len(opened) == 2 * 2 * 20
    assert list((folder / "data").iterdir()) == []


def test_files_that_are_not_used_are_removed(folder: Path) -> None:
    read(folder)
    old = cache_files(folder)
    for path in old:
        os.utime(path, (0, time.time() - UNUSED_SECONDS - 60))
    read(folder, image_size=4)
    assert sum(path.exists() for path in old) == 2, "the sizes were used again"


def test_unreadable_file_leaves_no_pixels(folder: Path) -> None:
    torn = folder / "a" / "dog" / "torn.jpg"
    Image.effect_noise((64, 48), 90).save(torn)
    os.truncate(torn, torn.stat().st_size // 2)
    with pytest.raises(InputError, match=r"dog/torn.jpg: cannot be read"):
        read(folder, image_size=8)
    assert len(cache_files(folder)) == 2, "only the sizes"


def test_runs_that_start_together_read_files_once(folder: Path) -> None:
    code = """
import sys
from pathlib import Path
from PIL import Image
from tests.support.image_folders import load
pillow_open, count = Image.open, 0
def record(path, **options):
    global count
    count += 1
    return pillow_open(path, **options)
Image.open = record
folder = Path(sys.argv[1])
load(folder / "a", folder / "b", folder / "data")
print(count)
"""
    command = [sys.executable, "-c", code, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)]
    counts = [int(process.communicate()[0]) for process in processes]
    assert sum(counts) == 2 * 20
