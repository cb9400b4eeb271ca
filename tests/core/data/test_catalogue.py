"""The list of domains, and their verification."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from core.data.catalogue import DomainStatus, Finding, list_domains, verify_domain
from core.data.digit_domains import generate_domain
from core.errors import InputError
from tests.support.image_folders import images, labels, mnist_folder, save, save_mat_files, save_mnistm_release


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
    for split, count in (("train", 9), ("test", 4)):
        save(tmp_path / "svhn" / f"{split}.npz", x=images(count, (32, 32, 3)), y=labels(count, 10))
    domains = statuses(tmp_path)

    assert {name: (domain.train, domain.test) for name, domain in domains.items() if domain.present} == {
        "mnist": (40, 20),
        "synth": (20, 20),
        "mnistm": (20, 20),
        "svhn": (9, 4),
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


def verdicts(findings: list[Finding]) -> list[str]:
    return [finding.verdict for finding in findings]


def test_generated_and_bundled_data_is_good(tmp_path: Path) -> None:
    generate_domain("synth", tmp_path, train=20, test=10)

    assert verdicts(verify_domain("synth", tmp_path)) == ["good"]
    assert "made here" in verify_domain("synth", tmp_path)[0].message
    assert verify_domain("digits", tmp_path)[0].message == "1437 + 360 images of 8×8×1, labels 0 to 9, complete"


def test_wrong_checksums_and_counts_are_doubtful(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    findings = verify_domain("mnist", tmp_path)

    assert verdicts(findings) == ["doubtful"] * 5
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
def test_wrong_labels_are_bad(y: np.ndarray, message: str, tmp_path: Path) -> None:
    for split in ("train", "test"):
        save(tmp_path / "svhn" / f"{split}.npz", x=images(20, (32, 32, 3)), y=y)
    findings = verify_domain("svhn", tmp_path)

    assert verdicts(findings) == ["bad"]
    assert message in findings[0].message


def test_wrong_shapes_and_damaged_pictures_are_bad(tmp_path: Path) -> None:
    for split in ("train", "test"):
        save(tmp_path / "svhn" / f"{split}.npz", x=images(20, (32, 32, 2)), y=labels(20, 10))
    save_mnistm_release(tmp_path / "mnistm")
    (tmp_path / "mnistm" / "mnist_m_test" / "00000002.png").write_text("torn")

    assert "images have 2 channels" in verify_domain("svhn", tmp_path)[0].message
    assert "cannot be read as an image" in verify_domain("mnistm", tmp_path)[0].message


def test_missing_domain_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="MNIST is missing"):
        verify_domain("mnist", tmp_path)
    with pytest.raises(InputError, match='"mnits": no such domain'):
        verify_domain("mnits", tmp_path)
