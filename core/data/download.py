"""Download MNIST, USPS and SVHN from torchvision's addresses into its layout, and check its checksums."""

import gzip
import hashlib
import http.client
import shutil
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from core.data.digit_domains import GENERATED, MNIST_RAW, command_for
from core.data.images import ProgressCallback
from core.data.torchvision_import import torchvision
from core.errors import InputError
from core.files import is_writable
from core.tasks import DOMAINS_BY_NAME

DOWNLOADABLE = ("mnist", "usps", "svhn")
CHUNK = 2**17
TIMEOUT = 60.0


@dataclass(frozen=True)
class Download:
    """One published file: its addresses, its path and its checksum."""

    addresses: tuple[str, ...]
    path: Path
    md5: str

    @property
    def unpacked(self) -> Path:
        """The path after unpacking: MNIST is published in gzip."""
        return self.path.with_suffix("") if self.path.suffix == ".gz" else self.path


def fetch_domain(name: str, data_dir: Path, progress: ProgressCallback | None = None) -> tuple[Path, ...]:
    """Download the missing files of a domain and return them.

    `progress` is called with a file's name, its bytes so far and its size (0 if the server does not send it).
    """
    if name == "digits":
        raise InputError("digits: nothing to fetch, they come with scikit-learn")
    if name in GENERATED:
        title, command = DOMAINS_BY_NAME[name].title, command_for(name)
        raise InputError(f"{name}: {title} cannot be downloaded; generate it with `{command}`, or copy its files there")
    if name not in DOWNLOADABLE:
        raise InputError(f'"{name}": no such domain; choose one of {", ".join(DOWNLOADABLE)}')
    fetched = []
    for download in downloads(name, data_dir):
        if download.unpacked.is_file():
            continue
        if not is_writable(download.path.parent):
            raise InputError(f"{data_dir / name}: is not writable; choose another folder with --data-dir")
        try:
            _fetch_file(download, progress or (lambda name, done, total: None))
        except OSError as error:
            raise InputError(f"{download.path}: cannot be written ({error.strerror or error})") from None
        fetched.append(download.unpacked)
    return tuple(fetched)


def downloads(name: str, data_dir: Path) -> list[Download]:
    """Return the files of a domain as torchvision lists them."""
    sets = torchvision().datasets
    home = data_dir / name
    if name == "mnist":
        return [
            Download(tuple(mirror + file for mirror in sets.MNIST.mirrors), home / MNIST_RAW / file, md5)
            for file, md5 in sets.MNIST.resources
        ]
    listed = (sets.USPS if name == "usps" else sets.SVHN).split_list
    return [Download((listed[split][0],), home / listed[split][1], listed[split][2]) for split in ("train", "test")]


def md5_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _fetch_file(download: Download, progress: ProgressCallback) -> None:
    """Download to a temporary file, check and unpack it, and rename it last."""
    download.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=download.path.parent) as folder:
        packed = Path(folder, download.path.name)
        _download(download, packed, progress)
        unpacked = Path(folder, download.unpacked.name)
        if unpacked != packed:
            with gzip.open(packed) as source, unpacked.open("wb") as file:
                shutil.copyfileobj(source, file)
        unpacked.replace(download.unpacked)


def _download(download: Download, path: Path, progress: ProgressCallback) -> None:
    """Download from the first address that sends the right file."""
    problems: list[str] = []
    for address in download.addresses:
        request = urllib.request.Request(address, headers={"User-Agent": "clarinet"})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as response, path.open("wb") as file:
                total, done = int(response.headers.get("Content-Length") or 0), 0
                while chunk := response.read(CHUNK):
                    file.write(chunk)
                    done += len(chunk)
                    progress(path.name, done, total)
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            problems.append(str(getattr(error, "reason", None) or error))
            continue
        if md5_of(path) == download.md5:
            return
        problems.append("its checksum is wrong")
    reasons = "; ".join(dict.fromkeys(problems))  # each one once
    raise InputError(f"{download.path.name}: the download failed ({reasons}); try again later")
