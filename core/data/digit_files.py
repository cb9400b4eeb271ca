"""Readers of the published digits: torchvision's files, SYN-DIGITS' files and scikit-learn's digits."""

import bz2
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.random_streams import stream_seed

Digits = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Images (N, H, W, C) and labels."""
IDX_IMAGES, IDX_LABELS = 2051, 2049
UCI_TRAIN = 1437
MAT_DAMAGE = (OSError, ValueError, LookupError, TypeError, NotImplementedError, zlib.error)
"""What reading a damaged MATLAB file raises, beside MatReadError."""


def read_mnist(raw: Path, train: bool) -> Digits:
    """Read torchvision's MNIST without importing torchvision, which takes longer than reading."""
    prefix = "train" if train else "t10k"
    x = _read_idx(raw / f"{prefix}-images-idx3-ubyte", IDX_IMAGES, 3)
    y = _read_idx(raw / f"{prefix}-labels-idx1-ubyte", IDX_LABELS, 1)
    if len(x) != len(y):
        raise InputError(f"{raw}: {len(x)} images but {len(y)} labels; delete them and fetch mnist again")
    return x[..., None], y.astype(np.int64)


def read_usps(folder: Path, train: bool) -> Digits:
    """Read torchvision's USPS with the same rounding, several times as fast."""
    path = folder / ("usps.bz2" if train else "usps.t.bz2")
    try:
        text = bz2.decompress(path.read_bytes()).replace(b":", b" ")
        table = np.fromstring(text, sep=" ", dtype=np.float64).reshape(-1, 1 + 2 * 256)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: is damaged ({error}); delete it and fetch usps again") from None
    pixels = table[:, 2::2].astype(np.float32)
    x = ((pixels + 1) / 2 * 255).astype(np.uint8)
    return x.reshape(-1, 16, 16, 1), table[:, 0].astype(np.int64) - 1


def read_mat(path: Path) -> Digits:
    """Read a file of SVHN or SYN-DIGITS: X (H, W, C, N) and y (N, 1), where 10 may stand for 0."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content = loadmat(path, variable_names=["X", "y"])
        x, y = content["X"], content["y"].astype(np.int64).reshape(-1)
    except (*MAT_DAMAGE, MatReadError) as error:
        raise InputError(f"{path}: cannot be read ({error}); download it again") from None
    if x.ndim != 4 or x.dtype != np.uint8 or x.shape[3] != len(y):
        raise InputError(f"{path}: expected X (H, W, C, N) uint8 and y (N, 1), got {x.shape} and {y.shape}")
    return x.transpose(3, 0, 1, 2), np.where(y == 10, 0, y)


def read_uci(train: bool) -> Digits:
    """Read scikit-learn's bundled digits, 8×8, in one fixed split."""
    from sklearn.datasets import load_digits

    bundle = load_digits()
    x = np.rint(bundle.images * (255 / 16)).astype(np.uint8)[..., None]
    order = np.random.default_rng(stream_seed(0, "digits", "split")).permutation(len(x))
    rows = np.sort(order[:UCI_TRAIN] if train else order[UCI_TRAIN:])
    return x[rows], bundle.target.astype(np.int64)[rows]


def _read_idx(path: Path, magic: int, dimensions: int) -> NDArray[np.uint8]:
    content = path.read_bytes()
    length = 4 * (1 + dimensions)
    header = np.frombuffer(content[:length].ljust(length, b"\0"), dtype=">u4").astype(np.int64)
    shape = tuple(int(size) for size in header[1:])
    if header[0] != magic or len(content) != length + np.prod(shape):
        raise InputError(f"{path}: is damaged; delete it and fetch mnist again")
    return np.frombuffer(content, dtype=np.uint8, offset=length).reshape(shape).copy()
