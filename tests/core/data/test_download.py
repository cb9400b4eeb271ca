"""Downloads are complete, checked and unpacked, and report their progress; no network is used."""

import gzip
import hashlib
from pathlib import Path

import pytest

from core.data import download as fetching
from core.data.digit_domains import PUBLISHED
from core.data.download import Download, downloads, fetch_domain
from core.errors import InputError

CONTENT = b"digits" * 50_000


def served(folder: Path, name: str, content: bytes = CONTENT) -> tuple[str, str]:
    """The address of a file to download, and its checksum."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return (folder / name).as_uri(), hashlib.md5(content).hexdigest()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def offer(monkeypatch: pytest.MonkeyPatch, path: Path, md5: str, *addresses: str) -> Path:
    """Let `path` be the only file of every domain."""
    monkeypatch.setattr(fetching, "downloads", lambda name, data_dir: [Download(addresses, path, md5)])
    return path


def test_download_is_complete_and_reports_progress(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, md5 = served(tmp_path / "server", "usps.bz2")
    path = offer(monkeypatch, data_dir / "usps" / "usps.bz2", md5, address)
    reports: list[tuple[str, int, int]] = []
    assert fetch_domain("usps", data_dir, lambda *what: reports.append(what)) == (path,)
    assert path.read_bytes() == CONTENT
    assert reports[0][1] < reports[-1][1]
    assert reports[-1] == ("usps.bz2", len(CONTENT), len(CONTENT))
    assert [file.name for file in path.parent.iterdir()] == ["usps.bz2"]
    path.write_bytes(b"here")
    assert fetch_domain("usps", data_dir) == (), "existing files are not downloaded again"
    assert path.read_bytes() == b"here"


def test_packed_files_are_unpacked(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, md5 = served(tmp_path / "server", "train.gz", gzip.compress(CONTENT))
    offer(monkeypatch, data_dir / "raw" / "train.gz", md5, address)
    fetch_domain("mnist", data_dir)
    assert (data_dir / "raw" / "train").read_bytes() == CONTENT
    assert [file.name for file in (data_dir / "raw").iterdir()] == ["train"]


def test_next_address_is_tried_after_a_failure(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, md5 = served(tmp_path / "server", "usps.bz2")
    wrong, _ = served(tmp_path / "server", "wrong.bz2", b"something else")
    path = offer(monkeypatch, data_dir / "usps.bz2", md5, f"{address}-missing", wrong, address)
    fetch_domain("usps", data_dir)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(("name", "why"), [("none", "No such file"), ("usps.bz2", "its checksum is wrong")])
def test_failed_download_is_an_input_error_and_leaves_no_files(
    name: str, why: str, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served(tmp_path / "server", "usps.bz2")
    path = offer(monkeypatch, data_dir / "usps" / "usps.bz2", "0" * 32, (tmp_path / "server" / name).as_uri())
    with pytest.raises(InputError, match=rf"usps.bz2: the download failed \(.*{why}.*\); try again later") as caught:
        fetch_domain("usps", data_dir)
    assert "\n" not in str(caught.value)
    assert not list(path.parent.iterdir())


def test_download_into_a_read_only_folder_is_refused(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_dir.mkdir()
    data_dir.chmod(0o555)
    offer(monkeypatch, data_dir / "usps" / "usps.bz2", "0", "file:///nowhere")
    try:
        with pytest.raises(InputError, match="usps: is not writable"):
            fetch_domain("usps", data_dir)
    finally:
        data_dir.chmod(0o755)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("synth", "SYN-DIGITS cannot be downloaded; generate it with `clarinet data make synth`"),
        ("digits", "they come with scikit-learn"),
        ("mnits", '"mnits": no such domain; choose one of mnist, usps, svhn'),
    ],
)
def test_error_of_a_domain_without_download_names_the_alternative(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        fetch_domain(name, tmp_path)


def test_downloads_are_the_files_that_are_read(tmp_path: Path) -> None:
    for name in ("mnist", "usps", "svhn"):
        published = PUBLISHED[name]
        expected = [tmp_path / name / published.folders[0] / file for file in published.files]
        assert [download.unpacked for download in downloads(name, tmp_path)] == expected
