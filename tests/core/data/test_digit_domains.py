"""The known digits in every file format, in order of preference: read, listed and verified."""

import bz2
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.io import savemat

from core.data import synthetic
from core.data.digit_domains import DomainStatus, generate_domain, list_domains, read_mat, read_usps
from core.data.verification import verify_domain
from core.errors import InputError
from tests.support.image_folders import images, labels, load, mnist_folder, save, save_mat_files, save_mnistm_release

LABELS = labels(20, 10)


@pytest.fixture(autouse=True)
def _few_made_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "DEFAULT_SIZES", (40, 10))


def npz(data_dir: Path, name: str, side: int = 32, channels: int = 3, y: NDArray[np.int64] = LABELS) -> None:
    shape = (side, side, channels) if channels > 1 else (side, side)
    for split in ("train", "test"):
        save(data_dir / name / f"{split}.npz", x=images(len(y), shape), y=y)


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
    npz(tmp_path, "synth", y=labels(30, 10))
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


# -- listing and verifying -------------------------------------------------------------------------------------------


def statuses(data_dir: Path) -> dict[str, DomainStatus]:
    return {domain.name: domain for domain in list_domains(data_dir)}


def test_empty_folder_lists_the_command_for_each_domain(tmp_path: Path) -> None:
    domains = statuses(tmp_path / "none")
    assert list(domains) == ["mnist", "usps", "svhn", "mnistm", "synth", "digits"]
    assert [domain.present for domain in domains.values()] == [False] * 5 + [True]
    assert domains["svhn"].advice == "clarinet data fetch svhn"
    assert domains["mnistm"].advice.startswith("clarinet data make mnistm")
    assert domains["synth"].advice.startswith("clarinet data make synth")
    assert (domains["digits"].train, domains["digits"].test) == (1437, 360)


def test_images_of_present_domains_are_counted(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    save_mat_files(tmp_path / "synth", "synth_")
    save_mnistm_release(tmp_path / "mnistm")
    npz(tmp_path, "svhn", y=labels(9))
    domains = statuses(tmp_path)
    assert {name: (domain.train, domain.test) for name, domain in domains.items() if domain.present} == {
        "mnist": (40, 20),
        "synth": (20, 20),
        "mnistm": (20, 20),
        "svhn": (9, 9),
        "digits": (1437, 360),
    }
    assert domains["mnist"].origin == "torchvision files"
    assert domains["synth"].origin == "original files"
    assert domains["svhn"].origin == "train.npz, test.npz"


def test_files_with_damaged_headers_and_pixels_are_listed_and_verified(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    (tmp_path / "mnist" / "MNIST" / "raw" / "train-images-idx3-ubyte").write_bytes(b"torn!")
    (tmp_path / "synth").mkdir()
    for split in ("train", "test"):
        path = tmp_path / "synth" / f"synth_{split}_32x32.mat"
        savemat(path, {"X": images(32, (32, 3, 20)), "y": labels(20, 10)[:, None]}, do_compression=True)
        content = path.read_bytes()
        path.write_bytes(content[:500] + bytes(50) + content[550:])
    domains = statuses(tmp_path)
    assert (domains["mnist"].train, domains["synth"].test) == (None, None)
    assert verify_domain("synth", tmp_path)[-1].verdict == "bad"


def test_generated_data_is_listed_as_generated(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    generate_domain("mnistm", tmp_path)
    generate_domain("synth", tmp_path, train=20, test=10)
    domains = statuses(tmp_path)
    assert domains["synth"].origin == "generated, not the published images"
    assert "scikit-learn's two sample photographs" in domains["mnistm"].origin
    (tmp_path / "synth" / "made.json").write_text("{")
    assert "the record is damaged" in statuses(tmp_path)["synth"].origin


def test_generated_and_bundled_data_is_good(tmp_path: Path) -> None:
    generate_domain("synth", tmp_path, train=20, test=10)
    (finding,) = verify_domain("synth", tmp_path)
    assert finding.verdict == "good"
    assert "made here" in finding.message
    assert verify_domain("digits", tmp_path)[0].message == "1437 + 360 images of 8×8×1, labels 0 to 9, complete"


def test_wrong_checksums_and_counts_are_doubtful(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    findings = verify_domain("mnist", tmp_path)
    assert [finding.verdict for finding in findings] == ["doubtful"] * 5
    assert "checksum differs from the published file" in findings[0].message
    assert findings[-1].message.endswith("published with 60000 + 10000")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (labels(20, 9), "has no image of digit 9"),
        (labels(20, 10) + 1, "label 10 of image 9 is out of range"),
        (labels(20, 10) - 1, "image 0 has no label"),
    ],
)
def test_wrong_labels_are_bad(y: NDArray[np.int64], message: str, tmp_path: Path) -> None:
    npz(tmp_path, "svhn", y=y)
    (finding,) = verify_domain("svhn", tmp_path)
    assert finding.verdict == "bad"
    assert message in finding.message


def test_wrong_shapes_and_damaged_pictures_are_bad(tmp_path: Path) -> None:
    npz(tmp_path, "svhn", channels=2)
    save_mnistm_release(tmp_path / "mnistm")
    (tmp_path / "mnistm" / "mnist_m_test" / "00000002.png").write_text("torn")
    assert "images have 2 channels" in verify_domain("svhn", tmp_path)[0].message
    assert "cannot be read as an image" in verify_domain("mnistm", tmp_path)[0].message


def test_missing_domain_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="MNIST is missing"):
        verify_domain("mnist", tmp_path)
    with pytest.raises(InputError, match='"mnits": no such domain'):
        verify_domain("mnits", tmp_path)
