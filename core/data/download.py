"""Downloads of MNIST, USPS and SVHN into torchvision's layout, from its addresses, checked by its checksums."""

import gzip
import hashlib
import http.client
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.data.formats import GET_COMMANDS, MNIST_RAW
from core.data.torchvision_import import torchvision
from core.data.writable import is_writable
from core.errors import InputError
from core.tasks import BY_NAME

DOWNLOADABLE = ("mnist", "usps", "svhn")
CHUNK = 2**17
TIMEOUT = 60.0
FileProgress = Callable[[str, int, int], None]
"""Hears a file's name, its bytes so far and its bytes in all (0 where the server does not say)."""


@dataclass(frozen=True)
class Download:
    """One published file: where from, where to, and its checksum."""

    addresses: tuple[str, ...]
    path: Path
    md5: str

    @property
    def unpacked(self) -> Path:
        """MNIST is published in gzip, and read without it."""
        return self.path.with_suffix("") if self.path.suffix == ".gz" else self.path


def fetch_domain(
    name: str, data_dir: Path, progress: FileProgress = lambda name, done, total: None
) -> tuple[Path, ...]:
    """Bring one domain; the files that were downloaded now, none of those that were there."""
    if name not in DOWNLOADABLE:
        raise InputError(_not_fetched(name))
    brought = []
    for download in downloads(name, data_dir):
        if download.unpacked.is_file():
            continue
        if not is_writable(download.path.parent):
            raise InputError(f"{data_dir / name}: this folder cannot be written; choose another with --data-dir")
        try:
            _fetch_file(download, progress)
        except OSError as error:
            raise InputError(f"{download.path}: the file cannot be written ({error.strerror or error})") from None
        brought.append(download.unpacked)
    return tuple(brought)


def downloads(name: str, data_dir: Path) -> list[Download]:
    """The files of a domain as torchvision knows them."""
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


def _fetch_file(download: Download, tell: FileProgress) -> None:
    """Into a temporary file, checked, unpacked and only then given its name."""
    download.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=download.path.parent) as folder:
        packed = Path(folder, download.path.name)
        _download(download, packed, tell)
        whole = packed
        if download.unpacked != download.path:
            whole = Path(folder, download.unpacked.name)
            with gzip.open(packed) as source, whole.open("wb") as file:
                shutil.copyfileobj(source, file)
        whole.replace(download.unpacked)


def _download(download: Download, path: Path, tell: FileProgress) -> None:
    """From the first address that answers with the right file."""
    problems: list[str] = []
    for address in download.addresses:
        try:
            _copy(address, path, lambda done, total: tell(path.name, done, total))
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            problems.append(str(getattr(error, "reason", None) or error))
            continue
        if md5_of(path) == download.md5:
            return
        problems.append("its checksum is wrong")
    raise InputError(f"{download.path.name}: the download failed ({_once(problems)}); try again later")


def _copy(address: str, path: Path, tell: Callable[[int, int], None]) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "clarinet"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response, path.open("wb") as file:
        total, done = int(response.headers.get("Content-Length") or 0), 0
        while chunk := response.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            tell(done, total)


def _once(problems: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(problems))


def _not_fetched(name: str) -> str:
    if name == "digits":
        return "digits: they come with scikit-learn, there is nothing to fetch"
    if name in GET_COMMANDS:
        return f"{name}: {BY_NAME[name].title} cannot be fetched; make it with `{GET_COMMANDS[name]}`, or put its files there"
    return f'"{name}": no such domain; fetch knows {", ".join(DOWNLOADABLE)}'
