"""Custom data: arrays and folders of pictures, with true labels, complementary ones or both."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from core.data.load import load_task
from core.errors import InputError
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


def test_grey_and_colour_domains_are_combined(tmp_path: Path) -> None:
    data = load(picture_folder(tmp_path / "a", mode="L"), picture_folder(tmp_path / "b"), tmp_path)

    assert data.shape == (6, 8, 3)
    assert "a: grey images given three equal colours" in data.notes


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


BAD: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
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


@pytest.mark.parametrize(("source", "target", "message"), BAD.values(), ids=BAD)
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


def test_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    with pytest.raises(InputError, match=r"a: contains no images \(png, jpg, jpeg\)"):
        load(tmp_path / "a", picture_folder(tmp_path / "b"), tmp_path)


def test_nested_class_folders_are_refused_with_a_hint(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a" / "images")

    with pytest.raises(InputError, match=r"contain no images .*; if the classes are in .*images, name that folder"):
        load(tmp_path / "a", picture_folder(tmp_path / "b"), tmp_path)


def test_test_images_without_training_images_are_refused(tmp_path: Path) -> None:
    save(tmp_path / "a" / "test.npz")

    with pytest.raises(InputError, match="has test images but no training images"):
        load(tmp_path / "a", arrays_folder(tmp_path / "b"), tmp_path)


@pytest.mark.parametrize("damage", ["header", "pixels"])
def test_error_names_the_unreadable_picture(damage: str, tmp_path: Path) -> None:
    picture_folder(tmp_path / "a")
    broken = tmp_path / "a" / "dog" / "1.png"
    whole = broken.read_bytes()
    broken.write_bytes(b"no picture" if damage == "header" else whole[: len(whole) - 25])

    with pytest.raises(InputError, match=r"dog/1.png: cannot be read as an image; repair or remove it"):
        load(tmp_path / "a", picture_folder(tmp_path / "b"), tmp_path)


def test_different_class_folders_are_listed(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a", ("cat", "dog"))
    picture_folder(tmp_path / "b", ("cat", "eel", "fox"))

    with pytest.raises(InputError, match=r"only .*a has dog; only .*b has eel, fox"):
        load(tmp_path / "a", tmp_path / "b", tmp_path)


def test_reading_headers_and_pixels_is_reported(tmp_path: Path) -> None:
    source, target = (picture_folder(tmp_path / name, ("cat", "dog"), count=40) for name in ("a", "b"))
    reported: list[tuple[str, int, int]] = []
    load_task(config(f"{source}->{target}"), tmp_path, lambda *report: reported.append(report))
    for title in ("a", "b"):
        assert [report[1:] for report in reported if report[0] == f"Reading sizes of {title}"] == [(64, 80), (80, 80)]
        assert reported.index((f"Reading sizes of {title}", 80, 80)) < reported.index((f"Reading {title}", 80, 80))
