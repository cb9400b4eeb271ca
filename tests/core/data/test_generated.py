"""Generated data: the same for the same seed, legible, saved completely, and always noted as generated."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

from core.data import synthetic as made
from core.data.digit_domains import generate_domain
from core.data.load import load_task
from core.data.synthetic import draw_digits, draw_scenes
from core.errors import InputError
from tests.support.image_folders import config, images, load, mnist_folder


def test_synthetic_digits_are_the_same_for_the_same_seed() -> None:
    x, y = draw_digits(60, seed=3)
    again, labels = draw_digits(60, seed=3)
    other, _ = draw_digits(60, seed=4)
    assert x.shape == (60, 32, 32, 3)
    assert x.dtype == np.uint8
    assert (x == again).all()
    assert (y == labels).all()
    assert (x != other).any()
    assert np.bincount(y).tolist() == [6] * 10


def test_label_is_the_digit_in_the_middle() -> None:
    labels = np.arange(300) % 10
    scenes = draw_scenes(labels, np.random.default_rng(0))
    assert (scenes.digits[np.arange(300), scenes.centre] == labels).all()
    assert (scenes.centre < scenes.length).all()
    assert set(scenes.length.tolist()) == {1, 2, 3}


def test_strokes_contrast_with_their_background() -> None:
    x, _ = draw_digits(200, seed=0)
    grey = x.astype(float) @ [0.299, 0.587, 0.114]
    middle = grey[:, 6:26, 6:26].reshape(200, -1)
    assert (middle.max(axis=1) - middle.min(axis=1)).min() > 15


def test_a_simple_classifier_reads_the_middle_digit() -> None:
    """A nearest mean of edges is far above chance, so that labels fit the images."""
    x, y = draw_digits(3000, seed=0)
    grey = x.astype(float).mean(axis=3)
    background = np.median(grey.reshape(len(grey), -1), axis=1)[:, None, None]
    ink = np.abs(grey - background).reshape(len(grey), -1)
    ink /= np.linalg.norm(ink, axis=1, keepdims=True)
    means = np.stack([ink[:2000][y[:2000] == digit].mean(axis=0) for digit in range(10)])
    means -= means.mean(axis=0)
    assert ((ink[2000:] @ means.T).argmax(axis=1) == y[2000:]).mean() > 0.35


def test_synthetic_digits_are_generated_once_and_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "DEFAULT_SIZES", (50, 20))
    reports: list[tuple[str, int, int]] = []
    first, second = (load_task(config("Y->D"), tmp_path, lambda *report: reports.append(report)) for _ in range(2))
    assert (first.source_train.x == second.source_train.x).all()
    assert first.notes == second.notes
    assert first.notes[0].startswith("SYN-DIGITS is made here by the published recipe, not the published images")
    assert [report for report in reports if report[0] == "Generating SYN-DIGITS"] == [
        ("Generating SYN-DIGITS", 50, 70),
        ("Generating SYN-DIGITS", 70, 70),
    ]
    assert not [path for path in (tmp_path / "synth").iterdir() if path.name.startswith(".")]


def test_nothing_is_saved_in_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "DEFAULT_SIZES", (30, 10))
    tmp_path.chmod(0o555)
    try:
        data = load("Y", "D", tmp_path)
        with pytest.raises(InputError, match="synth: cannot be written"):
            generate_domain("synth", tmp_path, train=10, test=10)
    finally:
        tmp_path.chmod(0o755)
    assert data.notes[-1] == "SYN-DIGITS was not kept: the data folder cannot be written"
    assert not list(tmp_path.iterdir())


def test_generating_again_replaces_the_files_unless_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[tuple[int, int]] = []
    generate_domain("synth", tmp_path, train=20, test=10)
    record = generate_domain("synth", tmp_path, train=30, test=10, seed=5, progress=lambda *done: reports.append(done))
    assert (record.train, record.test, record.seed) == (30, 10, 5)
    assert made.read_record(tmp_path / "synth") == record
    assert reports[-1] == (40, 40)
    assert len(load("Y", "D", tmp_path).source_train) == 30
    before = {path.name: path.read_bytes() for path in (tmp_path / "synth").iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(InputError, match="no space left"):
        generate_domain("synth", tmp_path, train=40, test=10)
    assert {path.name: path.read_bytes() for path in (tmp_path / "synth").iterdir()} == before


def test_mnist_m_is_the_difference_of_digit_and_photograph(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    photos = tmp_path / "photos"
    photos.mkdir()
    Image.new("RGB", (60, 40), (200, 100, 0)).save(photos / "plain.png")
    (photos / "notes.txt").write_text("no photograph")
    generate_domain("mnistm", tmp_path, photos=photos)
    data = load("m", "M", tmp_path)
    digits = images(40, (28, 28), seed=40).astype(int)
    with np.load(tmp_path / "mnistm" / made.TRAIN_FILE) as arrays:
        x = arrays["x"].astype(int)
    for channel, value in enumerate((200, 100, 0)):
        assert (x[..., channel] == np.abs(value - digits)).all()
    assert data.shape == (32, 32, 3)
    assert "MNIST-M is made here by the published recipe from 1 photographs of photos" in data.notes[0]


def test_origin_of_bundled_photographs_is_noted(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    record = generate_domain("mnistm", tmp_path, train=12, test=8, seed=1)
    first = (tmp_path / "mnistm" / made.TRAIN_FILE).read_bytes()
    generate_domain("mnistm", tmp_path, train=12, test=8, seed=1)
    assert record.photographs == "scikit-learn's two sample photographs"
    assert (record.train, record.test) == (12, 8)
    assert (tmp_path / "mnistm" / made.TRAIN_FILE).read_bytes() == first


def test_domain_that_cannot_be_generated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="get it with `clarinet data fetch mnist`"):
        generate_domain("mnistm", tmp_path)
    mnist_folder(tmp_path)
    with pytest.raises(InputError, match="--train: MNIST has 40 images to generate MNIST-M from, got 41"):
        generate_domain("mnistm", tmp_path, train=41)
    with pytest.raises(InputError, match="no such directory of photographs"):
        generate_domain("mnistm", tmp_path, photos=tmp_path / "none")
    with pytest.raises(InputError, match="contains no photographs"):
        generate_domain("mnistm", tmp_path, photos=tmp_path)
    with pytest.raises(InputError, match="photographs are for mnistm only"):
        generate_domain("synth", tmp_path, photos=tmp_path)
    with pytest.raises(InputError, match='"svhn" cannot be generated; choose one of synth, mnistm'):
        generate_domain("svhn", tmp_path)


def test_damaged_record_is_an_input_error(tmp_path: Path) -> None:
    generate_domain("synth", tmp_path, train=20, test=10)
    (tmp_path / "synth" / made.RECORD_FILE).write_bytes(msgspec.json.encode({"recipe": "one"}))
    with pytest.raises(InputError, match=r"made.json: is damaged"):
        load("Y", "D", tmp_path)
