"""Custom data: arrays and folders of pictures, with true labels, complementary ones or both."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from core.data.cache import Scratch
from core.data.custom_domains import count_images, read_arrays
from core.data.load import load_task
from core.errors import InputError
from core.events import Evaluated, Finished
from core.resolve import resolve
from core.training.train import train
from tests.support.image_folders import arrays_folder, config, images, labels, load, mnist_folder, picture_folder, save


def test_a_source_with_complementary_labels_only(tmp_path: Path) -> None:
    ybar = np.array([1, 0, 2, 2, 1, -1])
    save(tmp_path / "a" / "train.npz", x=images(6), ybar=ybar)
    data = load(tmp_path / "a", arrays_folder(tmp_path / "b"), tmp_path)

    train = data.source_train
    assert data.classes == ("0", "1", "2")
    assert train.y.tolist() == [-1] * 5
    assert train.ybar is not None
    assert train.ybar.argmax(axis=1).tolist() == ybar[:5].tolist()
    assert (train.ybar.sum(axis=1) == 1).all()
    assert data.source_test is None
    assert data.shape == (6, 5, 3)
    assert data.notes == ("a: 1 source images have no label of any kind and were left out",)


def test_true_and_complementary_labels_in_one_file(tmp_path: Path) -> None:
    save(tmp_path / "a" / "train.npz", x=images(4), y=np.array([0, -1, 1, -1]), ybar=np.array([2, 0, -1, -1]))
    data = load(tmp_path / "a", arrays_folder(tmp_path / "b"), tmp_path, ybars_per_sample=2)

    assert data.source_train.ybar is not None
    assert data.source_train.ybar.astype(int).tolist() == [[0, 0, 1], [1, 0, 0], [1, 0, 1]]
    assert data.source_train.y.tolist() == [0, -1, 1]


def test_mask_is_kept_unchanged(tmp_path: Path) -> None:
    mask = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1]], dtype=bool)
    save(tmp_path / "a" / "train.npz", x=images(3), ybar=mask)
    data = load(tmp_path / "a", arrays_folder(tmp_path / "b"), tmp_path)

    assert data.source_train.ybar is not None
    assert (data.source_train.ybar == mask).all()


def test_source_test_images_have_complementary_labels(tmp_path: Path) -> None:
    data = load(arrays_folder(tmp_path / "a"), arrays_folder(tmp_path / "b"), tmp_path)

    assert data.source_test is not None
    assert data.source_test.ybar is not None
    assert (data.source_test.ybar.sum(axis=1) == 1).all()
    assert data.source_train.ybar is not None
    assert (data.source_test.ybar != data.source_train.ybar).any()


def test_unlabelled_source_test_images_stay_unlabelled(tmp_path: Path) -> None:
    save(tmp_path / "a" / "train.npz")
    save(tmp_path / "a" / "test.npz", x=images(4))
    data = load(tmp_path / "a", arrays_folder(tmp_path / "b"), tmp_path)

    assert data.source_test is not None
    assert data.source_test.ybar is None
    assert len(data.source_test) == 4


def test_target_without_test_images_is_noted(tmp_path: Path) -> None:
    save(tmp_path / "b" / "train.npz", x=images(7))
    data = load(arrays_folder(tmp_path / "a"), tmp_path / "b", tmp_path)

    assert data.target_test is data.target_train
    assert data.target_train.ybar is None
    assert data.notes == ("b has no test images: the target is measured on what it was trained on",)


@pytest.mark.parametrize("split", [True, False])
def test_pictures_in_class_folders(split: bool, tmp_path: Path) -> None:
    for name in "ab":
        picture_folder(tmp_path / name / "train" if split else tmp_path / name)
        if split:
            picture_folder(tmp_path / name / "test", count=2)
    (tmp_path / "a" / ".hidden").mkdir()
    stray = next((tmp_path / "a").rglob("cat"))
    (stray / "notes.txt").write_text("not a picture")
    (stray / "._0.png").write_text("not a picture either")
    data = load(tmp_path / "a", tmp_path / "b", tmp_path)

    assert data.classes == ("cat", "dog")
    assert data.shape == (6, 8, 3)
    assert data.source_train.y.tolist() == [0, 0, 0, 1, 1, 1]
    assert data.source_train.x[:, 0, 0, 0].tolist() == [0, 10, 20, 100, 110, 120]
    assert (data.source_test is not None) == split
    assert (data.target_test is data.target_train) == (not split)


def test_pictures_without_class_folders_are_unlabelled(tmp_path: Path) -> None:
    loose = tmp_path / "b"
    loose.mkdir()
    Image.new("RGB", (8, 6)).save(loose / "one.jpeg")
    data = load(picture_folder(tmp_path / "a"), loose, tmp_path)

    assert data.target_train.y.tolist() == [-1]


def test_pictures_of_several_sizes_are_resized(tmp_path: Path) -> None:
    for name in "ab":
        picture_folder(tmp_path / name)
        Image.new("RGB", (30, 40), (9, 9, 9)).save(tmp_path / name / "cat" / "large.png")

    data = load(tmp_path / "a", tmp_path / "b", tmp_path)
    smaller = load(tmp_path / "a", tmp_path / "b", tmp_path, image_size=16)

    assert data.shape == (224, 224, 3)
    assert "a: resized to 224×224 (the pictures differ in size)" in data.notes
    assert smaller.shape == (16, 16, 3)
    assert "b: resized to 16×16 (image_size)" in smaller.notes


def test_grey_and_16_bit_pictures(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a", mode="L")
    picture_folder(tmp_path / "b", mode="L")
    deep = np.full((6, 8), 200 * 256, dtype=np.uint16)
    Image.fromarray(deep).save(tmp_path / "a" / "cat" / "9.png")
    data = load(tmp_path / "a", tmp_path / "b", tmp_path)

    assert data.shape == (6, 8, 1)
    assert data.source_train.x[3].max() == 200


def test_numbered_classes_are_sorted_by_value(tmp_path: Path) -> None:
    names = tuple(str(number) for number in (10, 9, 2, 0, 1, 3, 4, 5, 6, 7, 8))
    data = load(picture_folder(tmp_path / "a", names), picture_folder(tmp_path / "b", names), tmp_path)

    assert data.classes == tuple(str(number) for number in range(11))


def test_classes_match_by_name_not_by_number(tmp_path: Path) -> None:
    names = np.array(["zebra", "ant", "cow"])
    save(tmp_path / "a" / "train.npz", x=images(3), y=np.array([0, 1, 2]), ybar=np.array([1, 2, 0]), classes=names)
    save(tmp_path / "b" / "train.npz", x=images(3), y=np.array([0, 1, 2]), classes=np.sort(names))
    data = load(tmp_path / "a", tmp_path / "b", tmp_path)

    assert [data.classes[label] for label in data.source_train.y] == ["zebra", "ant", "cow"]
    assert [data.classes[label] for label in data.target_train.y] == ["ant", "cow", "zebra"]


def test_mask_columns_match_by_name(tmp_path: Path) -> None:
    mask = np.array([[True, False], [False, True]])
    picture_folder(tmp_path / "b", size=(5, 6))
    save(tmp_path / "a" / "train.npz", x=images(2), ybar=mask, classes=np.array(["dog", "cat"]))
    data = load(tmp_path / "b", tmp_path / "a", tmp_path)
    swapped = load(tmp_path / "a", tmp_path / "b", tmp_path)

    assert data.classes == ("cat", "dog")
    assert swapped.source_train.ybar is not None
    assert [swapped.classes[row.argmax()] for row in swapped.source_train.ybar] == ["dog", "cat"]


def test_unnamed_labels_match_numbered_folders(tmp_path: Path) -> None:
    pictures = picture_folder(tmp_path / "b", ("0", "1", "2"), size=(5, 6))
    data = load(arrays_folder(tmp_path / "a"), pictures, tmp_path)

    assert data.classes == ("0", "1", "2")


def test_known_digits_get_the_shape_of_custom_images(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    digits = tuple("0123456789")
    data = load("M", picture_folder(tmp_path / "b", digits, size=(20, 12)), tmp_path)

    assert data.shape == (12, 20, 3)
    assert data.source_train.x.shape == (40, 12, 20, 3)
    assert data.classes == digits


def test_image_size_resizes_both_domains(tmp_path: Path) -> None:
    save(tmp_path / "a" / "train.npz", x=images(3, (9, 7)), y=labels(3))
    data = load(tmp_path / "a", arrays_folder(tmp_path / "b"), tmp_path, image_size=12)

    assert data.shape == (12, 12, 3)
    assert "a: resized from 9×7 to 12×12" in data.notes


def two(tmp_path: Path, source: dict[str, Any], target: dict[str, Any] | None = None) -> tuple[Path, Path]:
    save(tmp_path / "a" / "train.npz", **source)
    return tmp_path / "a", save(tmp_path / "b" / "train.npz", **(target or {})).parent


BAD_PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "contradiction": (
        {"x": images(4), "y": np.array([0, 1, 2, 1]), "ybar": np.array([1, 2, 0, 1])},
        {},
        r"a/train.npz: image 3: its complementary label 1 is also its true label",
    ),
    "contradicting mask": (
        {"x": images(2), "y": np.array([0, -1]), "ybar": np.array([[1, 0, 0], [1, 0, 0]])},
        {},
        "image 0: its complementary label 0 is also its true label",
    ),
    "beyond the names": (
        {"x": images(2), "y": np.array([0, 2]), "classes": np.array(["a", "b"])},
        {"x": images(2), "classes": np.array(["a", "b"])},
        "y: label 2 of image 1 is out of range; there are 2 classes",
    ),
    "ybar beyond the names": (
        {"x": images(2), "ybar": np.array([0, 5]), "classes": np.array(["a", "b"])},
        {"x": images(2)},
        "ybar: label 5 of image 1 is out of range; there are 2 classes",
    ),
    "narrow mask": (
        {"x": images(2), "ybar": np.array([[1, 0], [0, 1]])},
        {"x": images(3), "y": np.array([0, 1, 3])},
        "ybar: expected a column for each of 4 classes, got 2",
    ),
    "absent class": (
        {"x": images(3), "y": np.array([0, 2, 0])},
        {},
        "a/train.npz: the source has no image of class 1",
    ),
    "no labels": ({"x": images(3)}, {}, "the source has no labels; give complementary labels"),
    "one class": (
        {"x": images(2), "y": np.zeros(2, dtype=int)},
        {"x": images(2)},
        "labels contain only 1 class; a task needs two or more",
    ),
    "sizes": (
        {"x": images(3, (9, 9, 3)), "y": labels(3)},
        {},
        "b/train.npz: images are 6×5, .* 9×9; set image_size",
    ),
    "channels": ({"x": images(3, (6, 5, 4)), "y": labels(3)}, {}, "images have 3 channels, the task's have 4"),
    "other names": (
        {"x": images(3), "y": labels(3), "classes": np.array(["a", "b", "c"])},
        {"x": images(3), "y": labels(3), "classes": np.array(["b", "c", "d"])},
        "have different classes: only .*a.* has a; only .*b.* has d",
    ),
    "name that is not UTF-8": (
        {"x": images(2), "ybar": np.arange(2), "classes": np.array(["a", "caf\udce9"])},
        {"x": images(2)},
        r"a: class 'caf\\udce9': expected a name in UTF-8",
    ),
    "long name": (
        {"x": images(2), "ybar": np.arange(2), "classes": np.array(["a", "b" * 1001])},
        {"x": images(2)},
        "expected a name in UTF-8 of at most 1000 letters",
    ),
    "numbers against names": (
        {"x": images(3), "y": labels(3), "classes": np.array(["a", "b", "c"])},
        {},
        "b/train.npz: labels are numbers, but the classes are named a, b, c; add an array `classes`",
    ),
}


@pytest.mark.parametrize(("source", "target", "message"), BAD_PAIRS.values(), ids=BAD_PAIRS)
def test_mismatched_domains_are_refused(
    source: dict[str, Any], target: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load(*two(tmp_path, source, target), tmp_path)

    assert "\n" not in str(caught.value)


def test_too_many_labels_an_image_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ybars_per_sample: 3 classes have 2 wrong labels an image, got 3"):
        load(*two(tmp_path, {}), tmp_path, ybars_per_sample=3)


def test_empty_class_folder_in_the_source_is_refused(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a")
    (tmp_path / "a" / "emu").mkdir()
    picture_folder(tmp_path / "b", ("cat", "dog", "emu"))

    with pytest.raises(InputError, match="the source has no image of class emu"):
        load(tmp_path / "a", tmp_path / "b", tmp_path)
    data = load(tmp_path / "b", tmp_path / "a", tmp_path)
    assert data.classes == ("cat", "dog", "emu"), "the target may lack a class"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"a: contains no images \(png, jpg, jpeg\)"),
        ("images", r"contain no images .*; if the classes are in .*images, name that folder"),
        ("test.npz", "has test images but no training images"),
    ],
)
def test_folders_without_training_images_are_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    if content == "images":
        picture_folder(tmp_path / "a" / content)
    elif content:
        save(tmp_path / "a" / content)

    with pytest.raises(InputError, match=message):
        load(tmp_path / "a", picture_folder(tmp_path / "b"), tmp_path)


@pytest.mark.parametrize("damage", ["header", "pixels"])
def test_error_names_the_unreadable_picture(damage: str, tmp_path: Path) -> None:
    picture_folder(tmp_path / "a")
    broken = tmp_path / "a" / "dog" / "1.png"
    whole = broken.read_bytes()
    broken.write_bytes(b"no picture" if damage == "header" else whole[: len(whole) - 25])

    with pytest.raises(InputError, match=r"dog/1.png: cannot be read as an image; repair or remove it"):
        load(tmp_path / "a", picture_folder(tmp_path / "b"), tmp_path)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (("cat", "dog"), ("cat", "eel", "fox"), "only .*a has dog; only .*b has eel, fox"),
        (("cat", "eel"), ("cat", "dog", "eel"), "have different classes: only .*b has dog"),
    ],
)
def test_different_class_folders_are_listed(
    source: tuple[str, ...], target: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        load(picture_folder(tmp_path / "a", source), picture_folder(tmp_path / "b", target), tmp_path)


def test_reading_headers_and_pixels_is_reported(tmp_path: Path) -> None:
    source, target = (picture_folder(tmp_path / name, ("cat", "dog"), count=40) for name in ("a", "b"))
    reported: list[tuple[str, int, int]] = []
    load_task(config(f"{source}->{target}"), tmp_path, lambda *report: reported.append(report))
    for title in ("a", "b"):
        assert [report[1:] for report in reported if report[0] == f"Reading sizes of {title}"] == [(64, 80), (80, 80)]
        assert reported.index((f"Reading sizes of {title}", 80, 80)) < reported.index((f"Reading {title}", 80, 80))


def read(path: Path) -> Any:
    return read_arrays(path, Scratch(path.parent, float("inf")))


def test_grey_images_get_a_channel_and_labels_and_names_may_be_missing(tmp_path: Path) -> None:
    part = read(save(tmp_path / "train.npz", x=images(4, (7, 6)), y=np.array([0, 1, -1, 2], dtype=np.int8)))

    assert part.images.shape == (7, 6, 1)
    assert part.y.tolist() == [0, 1, -1, 2]
    assert part.y.dtype == np.int64
    assert part.ybar is None
    assert part.names is None
    assert read(save(tmp_path / "train.npz", x=images(3))).y.tolist() == [-1, -1, -1]
    named = read(save(tmp_path / "train.npz", x=images(3), y=labels(3), classes=np.array(["a", "b", "c"])))
    assert named.names == ("a", "b", "c")


def test_complementary_labels_are_numbers_or_a_mask(tmp_path: Path) -> None:
    numbers = read(save(tmp_path / "numbers.npz", x=images(3), ybar=np.array([0, -1, 4])))
    mask = read(save(tmp_path / "mask.npz", x=images(2), ybar=np.array([[0, 1, 0], [1, 0, 1]])))

    assert numbers.ybar.tolist() == [0, -1, 4]
    assert numbers.label_count == 5
    assert mask.ybar.tolist() == [[False, True, False], [True, False, True]]
    assert mask.label_count == 3


def test_single_file_is_a_domain_without_a_test_set(tmp_path: Path) -> None:
    source = save(tmp_path / "photos.npz", x=images(9), ybar=labels(9))
    target = save(tmp_path / "scans.npz")
    data = load(source, target, tmp_path)

    assert len(data.source_train) == 9
    assert data.source_test is None
    assert data.target_test is data.target_train
    assert any("no test images" in note for note in data.notes)


BAD_ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
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


@pytest.mark.parametrize(("arrays", "message"), BAD_ARRAYS.values(), ids=BAD_ARRAYS)
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


FEW = {"preset": "smoke", "epochs": 1, "warmup_epochs": 1, "batch_size": 4, "threads": 1, "device": "cpu"}


def test_target_may_lack_a_class_which_is_noted(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a", ("cat", "dog", "eel"))
    for target in ("without folder", "empty folder"):
        picture_folder(tmp_path / target, ("cat", "eel"))
    (tmp_path / "empty folder" / "dog").mkdir()
    for target in ("without folder", "empty folder"):
        data = load(tmp_path / "a", tmp_path / target, tmp_path)
        assert data.classes == ("cat", "dog", "eel")
        assert data.target_test.y.tolist() == [0, 0, 0, 2, 2, 2]
        assert f"{target} has no image of dog" in data.notes


@pytest.mark.parametrize("method", ["clarinet", "gac+cdan-e"])
def test_target_without_labels_is_trained_and_scored_without_them(method: str, tmp_path: Path) -> None:
    picture_folder(tmp_path / "a", ("cat", "dog"), count=8)
    (tmp_path / "b").mkdir()
    for path in (picture_folder(tmp_path / "c") / "cat").iterdir():
        for copy in range(3):
            (tmp_path / "b" / f"{copy}{path.name}").write_bytes(path.read_bytes())
    settings = {**FEW, "stage1": {"epochs": 1, "batch_size": 4}, "method": method}
    config = resolve(settings, task=f"{tmp_path / 'a'}->{tmp_path / 'b'}")
    events = list(train(config, data=load_task(config, tmp_path)))
    evaluations = [event for event in events if isinstance(event, Evaluated)]
    assert evaluations
    for event in evaluations:
        assert (event.target_accuracy, event.target_loss, event.confusion) == (None, None, None)
        assert event.target_information is not None
    assert isinstance(events[-1], Finished)
    assert events[-1].target_accuracy is None


def test_a_class_may_have_a_single_image(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a", ("cat",), count=15)
    picture_folder(tmp_path / "a", ("dog", "eel"), count=1)
    picture_folder(tmp_path / "b", ("cat", "dog", "eel"), count=2)
    config = resolve(FEW, task=f"{tmp_path / 'a'}->{tmp_path / 'b'}", method="basset", epoch_iterations=3)
    events = list(train(config, data=load_task(config, tmp_path)))
    assert isinstance(events[-1], Finished)


def test_grey_and_colour_in_one_folder_become_colour(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a")
    picture_folder(tmp_path / "b", mode="L")
    Image.new("L", (8, 6), 77).save(tmp_path / "a" / "dog" / "grey.png")
    data = load(tmp_path / "a", tmp_path / "b", tmp_path)
    assert data.shape == (6, 8, 3)
    assert (data.source_train.x == 77).all(axis=(1, 2, 3)).any()
    assert "b: grey images given three equal colours" in data.notes
