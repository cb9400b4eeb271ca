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


@pytest.mark.parametrize(
    ("labelled", "y", "ybar"),
    [
        ({"ybar": [1, 0, 2, 2, -1]}, [-1] * 4, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]]),
        ({"ybar": [[1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]]}, [-1] * 3, [[1, 1, 0], [0, 1, 0], [0, 1, 1]]),
        ({"y": [0, -1, 1, -1], "ybar": [2, 0, -1, -1]}, [0, -1, 1], [[0, 0, 1], [1, 0, 0], [1, 0, 1]]),
    ],
    ids=["complementary labels", "a mask", "both kinds"],
)
def test_given_labels_of_the_source_are_kept(
    labelled: dict[str, Any], y: list[int], ybar: list[list[int]], tmp_path: Path
) -> None:
    save(tmp_path / "a" / "train.npz", **arrays(len(labelled["ybar"]), **labelled))
    data = load(tmp_path / "a", arrays_folder(tmp_path / "b"), tmp_path, ybars_per_sample=2)
    assert data.source_train.y.tolist() == y
    assert data.source_train.ybar is not None
    assert data.source_train.ybar.astype(int).tolist() == ybar
    assert (data.classes, data.shape, data.source_test) == (("0", "1", "2"), (6, 5, 3), None)
    assert data.notes == ("a: 1 source images have no label of any kind and were left out",)


def test_test_images_of_the_source_have_complementary_labels_if_true_ones_are_known(tmp_path: Path) -> None:
    target = arrays_folder(tmp_path / "b")
    test = load(arrays_folder(tmp_path / "a"), target, tmp_path).source_test
    assert test is not None
    assert test.ybar is not None
    assert (test.ybar.sum(axis=1) == 1).all()
    save(tmp_path / "a" / "test.npz", x=images(4))
    unlabelled = load(tmp_path / "a", target, tmp_path).source_test
    assert unlabelled is not None
    assert (unlabelled.ybar, len(unlabelled)) == (None, 4)


def test_target_without_test_images_is_noted(tmp_path: Path) -> None:
    """Both domains are single files."""
    data = load(save(tmp_path / "a.npz", x=images(9), ybar=labels(9)), save(tmp_path / "b.npz", x=images(7)), tmp_path)
    assert (len(data.source_train), data.source_test, data.target_train.ybar) == (9, None, None)
    assert data.target_test is data.target_train
    assert data.notes == ("b.npz has no test images: the target is measured on what it was trained on",)


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


def test_grey_pictures_of_16_bits_and_of_a_folder_in_colour(tmp_path: Path) -> None:
    for name in "ab":
        picture_folder(tmp_path / name, mode="L")
    Image.fromarray(np.full((6, 8), 200 * 256, dtype=np.uint16)).save(tmp_path / "a" / "cat" / "9.png")
    data = load(tmp_path / "a", tmp_path / "b", tmp_path)
    assert data.shape == (6, 8, 1)
    assert data.source_train.x[3].max() == 200
    Image.new("RGB", (8, 6)).save(tmp_path / "a" / "dog" / "colour.png")
    data = load(tmp_path / "a", tmp_path / "b", tmp_path)
    assert data.shape == (6, 8, 3)
    assert (data.source_train.x[3] == 200).all()
    assert "b: grey images given three equal colours" in data.notes


def test_numbered_classes_are_sorted_by_value(tmp_path: Path) -> None:
    names = tuple(str(number) for number in (10, 9, 2, 0, 1, 3, 4, 5, 6, 7, 8))
    data = load(picture_folder(tmp_path / "a", names), picture_folder(tmp_path / "b", names), tmp_path)
    assert data.classes == tuple(str(number) for number in range(11))
    unnamed = load(
        arrays_folder(tmp_path / "c"), picture_folder(tmp_path / "d", ("2", "0", "1"), size=(5, 6)), tmp_path
    )
    assert unnamed.classes == ("0", "1", "2")


@pytest.mark.parametrize("largest", [-1, 2, 4])
def test_the_number_of_classes_is_that_of_the_source(tmp_path: Path, largest: int) -> None:
    """Labels of the target measure a model and never change it."""
    save(tmp_path / "a.npz", x=images(5), ybar=np.arange(5))
    save(tmp_path / "b.npz", x=images(3), y=np.array([-1, largest, -1]))
    assert load(tmp_path / "a.npz", tmp_path / "b.npz", tmp_path).classes == tuple("01234")
    save(tmp_path / "named.npz", x=images(5), ybar=np.arange(5), classes=np.array(list("012345678")))
    save(tmp_path / "c.npz", x=images(3), y=np.array([8, 0, 4]))
    data = load(tmp_path / "named.npz", tmp_path / "c.npz", tmp_path)
    assert (len(data.classes), data.target_train.y.tolist()) == (9, [8, 0, 4])


def test_an_unnamed_source_may_have_more_classes_than_the_folders_of_the_target_but_not_fewer(tmp_path: Path) -> None:
    target = picture_folder(tmp_path / "b", ("0", "1", "2"), size=(5, 6))
    save(tmp_path / "a.npz", x=images(4), ybar=np.arange(4))
    data = load(tmp_path / "a.npz", target, tmp_path)
    assert data.classes == tuple("0123")
    assert "b has no image of 3" in data.notes
    save(tmp_path / "a.npz", x=images(2), ybar=np.arange(2))
    with pytest.raises(InputError, match=r"have different classes: only .*b has 2"):
        load(tmp_path / "a.npz", target, tmp_path)


def test_classes_match_by_name_not_by_number(tmp_path: Path) -> None:
    names = np.array(["zebra", "ant", "cow"])
    save(tmp_path / "a" / "train.npz", x=images(3), y=np.array([0, 1, 2]), ybar=np.array([1, 2, 0]), classes=names)
    save(tmp_path / "b" / "train.npz", x=images(3), y=np.array([0, 1, 2]), classes=np.sort(names))
    data = load(tmp_path / "a", tmp_path / "b", tmp_path)
    assert [data.classes[label] for label in data.source_train.y] == ["zebra", "ant", "cow"]
    assert [data.classes[label] for label in data.target_train.y] == ["ant", "cow", "zebra"]

    pictures = picture_folder(tmp_path / "c", size=(5, 6))
    save(tmp_path / "d.npz", x=images(2), ybar=np.array([[1, 0], [0, 1]]), classes=np.array(["dog", "cat"]))
    assert load(pictures, tmp_path / "d.npz", tmp_path).classes == ("cat", "dog")
    masked = load(tmp_path / "d.npz", pictures, tmp_path)
    assert masked.source_train.ybar is not None
    assert [masked.classes[row.argmax()] for row in masked.source_train.ybar] == ["dog", "cat"]


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


def arrays(count: int, **values: Any) -> dict[str, Any]:
    """Return `count` images and the other arrays of a file."""
    return {"x": images(count)} | {name: np.array(value) for name, value in values.items()}


BAD_PAIRS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        arrays(4, y=[0, 1, 2, 1], ybar=[1, 2, 0, 1]),
        {},
        "a/train.npz: image 3: its complementary label 1 is also its true",
    ),
    (
        arrays(2, y=[0, -1], ybar=[[1, 0, 0], [1, 0, 0]]),
        {},
        "image 0: its complementary label 0 is also its true label",
    ),
    (arrays(2, y=[0, 2], classes=list("ab")), arrays(2), "y: label 2 of image 1 is out of range; there are 2 classes"),
    (
        arrays(2, ybar=[0, 5], classes=list("ab")),
        arrays(2),
        "ybar: label 5 of image 1 is out of range; there are 2 classes",
    ),
    (
        arrays(2, ybar=[[1, 0], [0, 1]]),
        arrays(3, y=[0, 1, 3]),
        r"b/train.npz: has labels from 0 to 3, but the source .*a has 2 classes; use -1 for images of other",
    ),
    (
        arrays(5, ybar=[0, 1, 2, 3, 4]),
        arrays(3, y=[8, 0, 4]),
        "b/train.npz: has labels from 0 to 8, but the source .*a",
    ),
    (
        arrays(2, ybar=[[1, 0], [0, 1]]),
        arrays(3, ybar=[0, 1, 2]),
        "b/train.npz: has labels from 0 to 2, but the source",
    ),
    (arrays(3, y=[0, 2, 0]), {}, "a/train.npz: the source has no image of class 1"),
    (arrays(3), {}, "the source has no labels; give complementary labels"),
    (arrays(2, y=[0, 0]), arrays(2), "labels contain only 1 class; a task needs two or more"),
    ({"x": images(3, (9, 9, 3)), "y": labels(3)}, {}, "b/train.npz: images are 6×5, .* 9×9; set image_size"),
    ({"x": images(3, (6, 5, 4)), "y": labels(3)}, {}, "images have 3 channels, the task's have 4"),
    (
        arrays(3, y=labels(3), classes=list("abc")),
        arrays(3, y=labels(3), classes=list("bcd")),
        "have different classes: only .*a.* has a; only .*b.* has d",
    ),
    (
        arrays(2, y=labels(2), classes=list("ac")),
        arrays(3, y=labels(3), classes=list("abc")),
        "have different classes: only .*b has b",
    ),
    (arrays(2, ybar=[0, 1], classes=["a", "é\udce9"]), arrays(2), r"a: class '\\xe9\\udce9': expected a name in UTF-8"),
    (arrays(2, ybar=[0, 1], classes=["a", "b" * 1001]), arrays(2), "expected a name in UTF-8 of at most 1000 letters"),
    (
        arrays(3, y=labels(3), classes=list("abc")),
        {},
        "b/train.npz: labels are numbers, but the classes are named a, b, c; add an array `classes`",
    ),
]


@pytest.mark.parametrize(("source", "target", "message"), BAD_PAIRS, ids=[message for *_, message in BAD_PAIRS])
def test_mismatched_domains_are_refused(
    source: dict[str, Any], target: dict[str, Any], message: str, tmp_path: Path
) -> None:
    save(tmp_path / "a" / "train.npz", **source)
    save(tmp_path / "b" / "train.npz", **target)
    with pytest.raises(InputError, match=message) as caught:
        load(tmp_path / "a", tmp_path / "b", tmp_path)
    assert "\n" not in str(caught.value)


def test_too_many_labels_an_image_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ybars_per_sample: 3 classes have 2 wrong labels an image, got 3"):
        load(arrays_folder(tmp_path / "a"), arrays_folder(tmp_path / "b"), tmp_path, ybars_per_sample=3)


def test_the_target_may_lack_a_class_which_is_noted_and_the_source_may_not(tmp_path: Path) -> None:
    whole = picture_folder(tmp_path / "a", ("cat", "dog", "eel"))
    for name in ("without folder", "empty folder"):
        lacking = picture_folder(tmp_path / name, ("cat", "eel"))
        if name == "empty folder":
            (lacking / "dog").mkdir()
        data = load(whole, lacking, tmp_path)
        assert data.classes == ("cat", "dog", "eel")
        assert data.target_test.y.tolist() == [0, 0, 0, 2, 2, 2]
        assert f"{name} has no image of dog" in data.notes
    with pytest.raises(InputError, match="the source has no image of class dog"):
        load(lacking, whole, tmp_path)


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
    path = tmp_path / "train.npz"
    part = read(save(path, x=images(4, (7, 6)), y=np.array([0, 1, -1, 2], dtype=np.int8)))
    assert part.images.shape == (7, 6, 1)
    assert (part.y.tolist(), part.y.dtype) == ([0, 1, -1, 2], np.int64)
    assert (part.ybar, part.names) == (None, None)
    assert read(save(path, x=images(3))).y.tolist() == [-1, -1, -1]
    named = read(save(path, x=images(3), y=labels(3), classes=np.array(["a", "b", "c"])))
    assert named.names == ("a", "b", "c")
    numbers = read(save(path, x=images(3), ybar=np.array([0, -1, 4])))
    assert (numbers.ybar.tolist(), numbers.label_count) == ([0, -1, 4], 5)
    mask = read(save(path, x=images(2), ybar=np.array([[0, 1, 0], [1, 0, 1]])))
    assert (mask.ybar.tolist(), mask.label_count) == ([[False, True, False], [True, False, True]], 3)


BAD_ARRAYS: list[tuple[dict[str, Any], str]] = [
    ({"y": labels(3)}, "has no array x"),
    ({"x": np.full((2, 4, 4), np.nan)}, "x: expected uint8 pixels from 0 to 255, got float64"),
    ({"x": images(4, (9,))}, r"x: expected \(N, H, W\) or \(N, H, W, C\), got \(4, 9\)"),
    ({"x": images(9, (8, 3))}, r"x: expected .*, got \(9, 8, 3\); one image is x\[None\]"),
    ({"x": images(4, (0, 5))}, "x: expected"),
    (arrays(0), "x contains no images"),
    ({"x": images(2, (3, 32, 32))}, r"expected channels last, .* got \(2, 3, 32, 32\); transpose it"),
    (arrays(3, y=[0, 1]), r"y: expected one label for each of 3 images, got \(2,\)"),
    (arrays(3, y=[0.0, 0.0, 0.0]), "y: expected integers, -1 where unknown, got float64"),
    (arrays(2, y=[0, np.nan]), "y contains values that are not finite; use -1"),
    (arrays(2, y=[0, 2**32 - 1]), "y: label 4294967295 of image 1 is out of range; classes count from 0 to 99999"),
    (arrays(2, y=[0, -2]), "y: label -2 of image 1 is out of range"),
    (arrays(3, ybar=labels(4)), "ybar: expected one label for each of 3 images"),
    (arrays(3, ybar=np.zeros((2, 5))), "ybar: expected one row for each of 3 images"),
    (arrays(2, ybar=[[0, 2], [1, 0]]), r"ybar: expected a mask \(N, K\) of 0 and 1"),
    (arrays(1, ybar=[[0, np.nan]]), "ybar contains values that are not finite"),
    (arrays(2, ybar=[[1, 0], [1, 1]]), "rules out every class of image 1"),
    (arrays(2, y=[0, None]), "y is an array of Python objects"),
    (arrays(2, classes=["a", None]), "classes is an array of Python objects"),
    (arrays(2, classes=[0, 1]), "classes: expected a list of names"),
    (arrays(2, classes=["a", "a"]), 'classes: "a" occurs more than once'),
]


@pytest.mark.parametrize(("content", "message"), BAD_ARRAYS, ids=[message for _, message in BAD_ARRAYS])
def test_wrong_arrays_are_refused(content: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = save(tmp_path / "train.npz", **content)
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
    assert count_images(path) == 9
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


@pytest.mark.parametrize("key", ["y", "ybar"])
@pytest.mark.parametrize("label", [2**64 - 1, 2**64 - 2, 2**63])
def test_an_unsigned_label_beyond_int64_is_not_taken_for_unknown(tmp_path: Path, key: str, label: int) -> None:
    np.savez(tmp_path / "train.npz", x=images(3), **{key: np.array([0, label, 1], dtype=np.uint64)})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=rf"train\.npz: {key}: label {label} of image 1 is out of range"):
        read(tmp_path / "train.npz")


def test_a_missing_file_and_a_named_pipe_are_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "train.npz")
    os.mkfifo(tmp_path / "train.npz")
    assert count_images(tmp_path / "train.npz") is None
    with pytest.raises(InputError, match=r"train\.npz: is not a regular file"):
        read(tmp_path / "train.npz")


FEW = {"preset": "smoke", "epochs": 1, "warmup_epochs": 1, "batch_size": 4, "threads": 1, "device": "cpu"}


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
