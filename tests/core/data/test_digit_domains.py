"""The known digits in every file format, in order of preference, and the error if they are missing."""

import bz2
from pathlib import Path

import numpy as np
import pytest

from core.data import digit_domains as known
from core.data.digit_domains import read_mat, read_usps
from core.errors import InputError
from tests.support.image_folders import images, labels, load, mnist_folder, save, save_mat_files, save_mnistm_release


@pytest.fixture(autouse=True)
def _few_made_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "DEFAULT_SIZES", (40, 10))


def npz(data_dir: Path, name: str, side: int = 32, channels: int = 3, count: int = 20) -> None:
    shape = (side, side, channels) if channels > 1 else (side, side)
    for split in ("train", "test"):
        save(data_dir / name / f"{split}.npz", x=images(count, shape), y=labels(count, 10).astype(np.uint8))


def test_shapes_of_grey_and_colour_digits(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    npz(tmp_path, "usps", side=16, channels=1)
    npz(tmp_path, "svhn", side=28)

    assert load("M", "U", tmp_path).shape == (28, 28, 1)
    assert load("S", "M", tmp_path).shape == (32, 32, 3)
    assert load("S", "D", tmp_path).shape == (28, 28, 1)
    assert load("M", "U", tmp_path, image_size=20).shape == (20, 20, 1)


def test_counts_other_than_the_published_ones_are_noted(tmp_path: Path) -> None:
    npz(tmp_path, "svhn")

    assert load("S", "D", tmp_path).notes == ("SVHN: 20 + 20 images, published with 73257 + 26032",)


@pytest.mark.parametrize("inner", ["", "mnist_m"])
def test_release_of_mnist_m_is_read(inner: str, tmp_path: Path) -> None:
    save_mnistm_release(tmp_path / "mnistm" / inner)
    data = load("m", "D", tmp_path)

    assert data.source_train.y.tolist() == [number % 10 for number in range(20)]
    assert data.source_train.x[:, 0, 0, 0].tolist() == list(range(20))


def test_error_names_the_wrong_line_and_the_missing_picture_of_the_release(tmp_path: Path) -> None:
    save_mnistm_release(tmp_path / "mnistm")
    (tmp_path / "mnistm" / "mnist_m_train" / "00000003.png").unlink()
    with pytest.raises(InputError, match=r"00000003.png: cannot be read as an image"):
        load("m", "D", tmp_path)
    (tmp_path / "mnistm" / "mnist_m_train_labels.txt").write_text("00000000.png 1\n00000001.png x\n")
    with pytest.raises(InputError, match=r'labels.txt: line 2: expected "name.png 7", got "00000001.png x"'):
        load("m", "D", tmp_path)


@pytest.mark.parametrize(("letter", "name", "prefix"), [("Y", "synth", "synth_"), ("S", "svhn", "")])
def test_label_ten_of_matlab_files_is_zero(letter: str, name: str, prefix: str, tmp_path: Path) -> None:
    save_mat_files(tmp_path / name, prefix)
    x, y = read_mat(tmp_path / name / f"{prefix}train_32x32.mat")
    data = load(letter, "D", tmp_path)

    assert x.shape == (20, 32, 32, 3)
    assert (x == images(20, (32, 32, 3))).all()
    assert y.tolist() == [number % 10 for number in range(20)]
    assert data.source_train.y.tolist() == y.tolist()
    assert data.source_train.x.flags.c_contiguous


def test_originals_are_preferred_to_arrays_and_arrays_to_generated_files(tmp_path: Path) -> None:
    load("Y", "D", tmp_path, preset="smoke")
    generated_notes = load("Y", "D", tmp_path, preset="smoke").notes
    npz(tmp_path, "synth", count=30)
    arrays = load("Y", "D", tmp_path).source_train
    save_mat_files(tmp_path / "elsewhere", "synth_")
    for path in (tmp_path / "elsewhere").iterdir():
        path.rename(tmp_path / "synth" / path.name)
    original = load("Y", "D", tmp_path).source_train

    assert any("made here" in note for note in generated_notes)
    assert len(arrays) == 30
    assert len(original) == 20


def test_usps_pixels_equal_those_of_torchvision(tmp_path: Path) -> None:
    values = np.random.default_rng(0).uniform(-1, 1, (3, 256)).round(3)
    lines = (
        f"{label} " + " ".join(f"{index}:{value:g}" for index, value in enumerate(row, 1))
        for label, row in zip((10, 1, 4), values, strict=True)
    )
    (tmp_path / "usps.bz2").write_bytes(bz2.compress(" \n".join(lines).encode()))
    x, y = read_usps(tmp_path, train=True)

    assert y.tolist() == [9, 0, 3]
    assert (x == ((values.astype(np.float32) + 1) / 2 * 255).astype(np.uint8).reshape(3, 16, 16, 1)).all()


def test_bundled_digits_have_a_fixed_split(tmp_path: Path) -> None:
    data = load("Y", "D", tmp_path, preset="smoke", target_size=0, test_size=0)
    again = load("Y", "D", tmp_path, preset="smoke", target_size=0, test_size=0, seed=2)

    assert (len(data.target_train), len(data.target_test)) == (1437, 360)
    assert set(data.target_test.y.tolist()) == set(range(10))
    assert (data.target_test.x == again.target_test.x).all()
    assert data.target_test.x.max() == 255


@pytest.mark.parametrize(
    ("letter", "command"), [("M", "fetch mnist"), ("U", "fetch usps"), ("S", "fetch svhn"), ("m", "make mnistm")]
)
def test_error_of_a_missing_domain_names_the_command(letter: str, command: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"is missing; get it with `clarinet data {command}`"):
        load(letter, "D", tmp_path)


def test_arrays_without_test_images_are_refused(tmp_path: Path) -> None:
    npz(tmp_path, "svhn")
    (tmp_path / "svhn" / "test.npz").unlink()

    with pytest.raises(InputError, match=r"svhn/test.npz: no such file"):
        load("S", "D", tmp_path)


@pytest.mark.parametrize(
    ("path", "name", "message"),
    [
        ("mnist/MNIST/raw/train-images-idx3-ubyte", "M", "is damaged; delete it and fetch mnist again"),
        ("usps/usps.bz2", "U", "is damaged .*; delete it and fetch usps again"),
        ("svhn/train_32x32.mat", "S", "cannot be read"),
    ],
)
def test_error_names_the_damaged_file(path: str, name: str, message: str, tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    save_mat_files(tmp_path / "svhn", "")
    (tmp_path / "usps").mkdir()
    (tmp_path / "usps" / "usps.t.bz2").write_bytes(b"")
    (tmp_path / path).write_bytes(b"torn!")

    with pytest.raises(InputError, match=message) as caught:
        load(name, "D", tmp_path)
    assert str(caught.value).startswith(str(tmp_path / path))
