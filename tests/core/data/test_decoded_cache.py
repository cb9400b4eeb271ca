"""Decoded photographs are kept: found by path, time and size, decoded once, and ignored when damaged."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from core.data import decoding
from core.data.decoded_cache import MAGIC, UNUSED_SECONDS
from core.data.images import decode_image
from core.data.task_data import TaskData
from core.errors import InputError
from tests.support.image_folders import load, picture_folder


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were decoded, in order."""
    paths: list[Path] = []

    def record(path: Path, shape: tuple[int, int, int], *, cut: bool) -> object:
        paths.append(path)
        return decode_image(path, shape, cut=cut)

    monkeypatch.setattr(decoding, "decode_image", record)
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


def test_files_are_decoded_once_for_all_runs(folder: Path, decoded: list[Path]) -> None:
    first = read(folder)
    assert len(decoded) == 20
    for settings in ({}, {"method": "gac"}, {"seed": 2}, {"source_fraction": 0.5}, {"source_size": 2}):
        again = read(folder, **settings)
        assert len(decoded) == 20, settings
        if not settings:
            assert np.array_equal(again.source_train.x, first.source_train.x)
            again.source_train.x[:] = 7  # copy on write
    assert np.array_equal(read(folder).source_train.x, first.source_train.x)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in cache_files(folder))


def test_changed_files_and_other_sizes_are_decoded_again(folder: Path, decoded: list[Path]) -> None:
    read(folder)
    for settings in ({"image_size": 4}, {"image_size": 4, "fit": "cut"}):
        decoded.clear()
        read(folder, **settings)
        assert len(decoded) == 20
    decoded.clear()
    Image.new("RGB", (8, 6), (1, 2, 3)).save(folder / "a" / "cat" / "0.png")
    assert (read(folder).source_train.x[0] == (1, 2, 3)).all()
    assert {path.parent.parent.name for path in decoded} == {"a"}
    decoded.clear()
    (folder / "b" / "cat" / "0.png").unlink()
    assert len(read(folder).target_train) == 9
    assert {path.parent.parent.name for path in decoded} == {"b"}


def test_few_of_many_files_are_decoded_alone(folder: Path, decoded: list[Path]) -> None:
    data = read(folder, source_size=2, target_size=2, test_size=2)
    assert len(decoded) == 4
    assert cache_files(folder) == []
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
    damage: Callable[[Path], None], folder: Path, decoded: list[Path]
) -> None:
    expected = read(folder).source_train.x.copy()
    for path in cache_files(folder):
        damage(path)
    decoded.clear()
    assert np.array_equal(read(folder).source_train.x, expected)
    assert len(decoded) == 20
    assert np.array_equal(read(folder).source_train.x, expected)
    assert len(decoded) == 20


def test_nothing_is_kept_in_a_read_only_folder(folder: Path, decoded: list[Path]) -> None:
    (folder / "data").mkdir()
    (folder / "data").chmod(0o500)
    expected = read(folder).source_train.x
    assert np.array_equal(read(folder).source_train.x, expected)
    assert len(decoded) == 40
    assert list((folder / "data").iterdir()) == []


def test_files_that_are_not_used_are_removed(folder: Path) -> None:
    read(folder)
    old = cache_files(folder)
    for path in old:
        os.utime(path, (0, time.time() - UNUSED_SECONDS - 60))
    read(folder, image_size=4)
    assert not any(path.exists() for path in old)


def test_error_of_an_unreadable_file_leaves_nothing(folder: Path) -> None:
    torn = folder / "a" / "dog" / "torn.jpg"
    Image.effect_noise((64, 48), 90).save(torn)
    os.truncate(torn, torn.stat().st_size // 2)
    with pytest.raises(InputError, match=r"dog/torn.jpg: cannot be read"):
        read(folder, image_size=8)
    assert cache_files(folder) == []


def test_runs_that_start_together_decode_once(folder: Path) -> None:
    code = """
import sys
from pathlib import Path
from core.data import decoding
from tests.support.image_folders import load
decode, count = decoding.decode_image, 0
def record(*args, **options):
    global count
    count += 1
    return decode(*args, **options)
decoding.decode_image = record
folder = Path(sys.argv[1])
load(folder / "a", folder / "b", folder / "data")
print(count)
"""
    command = [sys.executable, "-c", code, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)]
    counts = [int(process.communicate()[0]) for process in processes]
    assert sum(counts) == 20
