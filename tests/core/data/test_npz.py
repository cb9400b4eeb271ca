"""Reading .npz files; errors name the file."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.data.cache import Scratch
from core.data.custom_domains import count_images, read_arrays
from core.errors import InputError
from tests.support.image_folders import images, labels, load, save


def read(path: Path) -> Any:
    return read_arrays(path, Scratch(path.parent, float("inf")))


def test_grey_images_get_a_channel(tmp_path: Path) -> None:
    part = read(save(tmp_path / "train.npz", x=images(4, (7, 6)), y=np.array([0, 1, -1, 2], dtype=np.int8)))

    assert part.images.shape == (7, 6, 1)
    assert part.y.tolist() == [0, 1, -1, 2]
    assert part.y.dtype == np.int64
    assert part.ybar is None
    assert part.names is None


def test_labels_may_be_missing(tmp_path: Path) -> None:
    part = read(save(tmp_path / "train.npz", x=images(3)))

    assert part.y.tolist() == [-1, -1, -1]


def test_complementary_labels_are_numbers_or_a_mask(tmp_path: Path) -> None:
    numbers = read(save(tmp_path / "numbers.npz", x=images(3), ybar=np.array([0, -1, 4])))
    mask = read(save(tmp_path / "mask.npz", x=images(2), ybar=np.array([[0, 1, 0], [1, 0, 1]])))

    assert numbers.ybar.tolist() == [0, -1, 4]
    assert numbers.label_count == 5
    assert mask.ybar.tolist() == [[False, True, False], [True, False, True]]
    assert mask.label_count == 3


def test_classes_are_named(tmp_path: Path) -> None:
    part = read(save(tmp_path / "train.npz", x=images(3), y=labels(3), classes=np.array(["a", "b", "c"])))

    assert part.names == ("a", "b", "c")


def test_single_file_is_a_domain_without_a_test_set(tmp_path: Path) -> None:
    source = save(tmp_path / "photos.npz", x=images(9), ybar=labels(9))
    target = save(tmp_path / "scans.npz")
    data = load(source, target, tmp_path)

    assert len(data.source_train) == 9
    assert data.source_test is None
    assert data.target_test is data.target_train
    assert any("no test images" in note for note in data.notes)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no x": ({"y": labels(3)}, "has no array x"),
    "float pixels": ({"x": np.full((2, 4, 4), np.nan)}, "x: expected uint8 pixels from 0 to 255, got float64"),
    "flat": ({"x": images(4, (9,))}, r"x: expected \(N, H, W\) or \(N, H, W, C\), got \(4, 9\)"),
    "one image": ({"x": images(9, (8, 3))}, r"x: expected .*, got \(9, 8, 3\); one image is x\[None\]"),
    "no pixels": ({"x": images(4, (0, 5))}, "x: expected"),
    "no images": ({"x": images(0)}, "x contains no images"),
    "channels first": ({"x": images(2, (3, 32, 32))}, r"expected channels last, .* got \(2, 3, 32, 32\); transpose it"),
    "short y": ({"x": images(3), "y": labels(2)}, r"y: expected one label for each of 3 images, got \(2,\)"),
    "float y": ({"x": images(3), "y": np.zeros(3)}, "y: expected integers, -1 where unknown, got float64"),
    "nan": ({"x": images(2), "y": np.array([0, np.nan])}, "y contains values that are not finite; use -1"),
    "enormous y": (
        {"x": images(2), "y": np.array([0, 2**32 - 1], dtype=np.uint32)},
        "y: label 4294967295 of image 1 is out of range; classes count from 0 to 99999",
    ),
    "negative y": ({"x": images(2), "y": np.array([0, -2])}, "y: label -2 of image 1 is out of range"),
    "short ybar": ({"x": images(3), "ybar": labels(4)}, "ybar: expected one label for each of 3 images"),
    "short mask": ({"x": images(3), "ybar": np.zeros((2, 5))}, "ybar: expected one row for each of 3 images"),
    "strange mask": (
        {"x": images(2), "ybar": np.array([[0, 2], [1, 0]])},
        r"ybar: expected a mask \(N, K\) of 0 and 1",
    ),
    "nan mask": ({"x": images(1), "ybar": np.array([[0, np.nan]])}, "ybar contains values that are not finite"),
    "all ruled out": ({"x": images(2), "ybar": np.array([[1, 0], [1, 1]])}, "rules out every class of image 1"),
    "objects": ({"x": images(2), "y": np.array([0, None])}, "y is an array of Python objects"),
    "object names": ({"x": images(2), "classes": np.array(["a", None])}, "classes is an array of Python objects"),
    "number names": ({"x": images(2), "classes": np.arange(2)}, "classes: expected a list of names"),
    "same names": ({"x": images(2), "classes": np.array(["a", "a"])}, 'classes: "a" occurs more than once'),
}


@pytest.mark.parametrize(("arrays", "message"), BAD.values(), ids=BAD)
def test_wrong_arrays_are_refused(arrays: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = save(tmp_path / "train.npz", **arrays)

    with pytest.raises(InputError, match=message) as caught:
        read(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def flip_bits(content: bytes) -> bytes:
    middle = len(content) // 3
    return content[:middle] + bytes(255 ^ byte for byte in content[middle : middle + 50]) + content[middle + 50 :]


def encrypt(content: bytes) -> bytes:
    """Return an archive that says its first file is encrypted."""
    entry = content.index(b"PK\1\2") + 8
    return content[:6] + b"\1" + content[7:entry] + b"\1" + content[entry + 1 :]


@pytest.mark.parametrize("damage", [lambda _: b"not an archive", lambda content: content[:400], flip_bits, encrypt])
def test_damaged_file_is_refused(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "train.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).integers(0, 256, (9, 8, 8), dtype=np.uint8))
    path.write_bytes(damage(path.read_bytes()))

    count_images(path)  # a launch form counts what the user names, whatever it is
    with pytest.raises(InputError, match=r"is not a complete \.npz file"):
        read(path)


def test_array_that_claims_more_than_any_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open("x.npy", "w") as member:
        header = {"descr": "|u1", "fortran_order": False, "shape": (2**30, 2**10, 2**10)}
        np.lib.format.write_array_header_1_0(member, header)
    with pytest.raises(InputError, match=r"train\.npz: x cannot be read \(Unable to allocate 1.00 PiB"):
        read(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "train.npz")


def test_images_are_counted_without_reading_them(tmp_path: Path) -> None:
    assert count_images(save(tmp_path / "train.npz", x=images(17))) == 17
    (tmp_path / "other.npz").write_text("x")
    assert count_images(tmp_path / "other.npz") is None


@pytest.mark.parametrize("key", ["y", "ybar"])
@pytest.mark.parametrize("label", [2**64 - 1, 2**64 - 2, 2**63])
def test_an_unsigned_label_beyond_int64_is_not_taken_for_unknown(tmp_path: Path, key: str, label: int) -> None:
    np.savez(tmp_path / "train.npz", x=images(3), **{key: np.array([0, label, 1], dtype=np.uint64)})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=rf"train\.npz: {key}: label {label} of image 1 is out of range"):
        read(tmp_path / "train.npz")


def test_a_named_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "train.npz")
    assert count_images(tmp_path / "train.npz") is None
    with pytest.raises(InputError, match=r"train\.npz: is not a regular file"):
        read(tmp_path / "train.npz")
