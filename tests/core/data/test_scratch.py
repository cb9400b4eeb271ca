"""Domains too large for memory are mapped from files, with the same content, and their files are removed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.data.task_data import ImageSet, TaskData
from tests.support.image_folders import arrays_folder, load, picture_folder

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
