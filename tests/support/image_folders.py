"""Small data of one's own, as a user would lay it out."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from core.config import RunConfig
from core.data.load import load_task
from core.data.task_data import TaskData
from core.resolve import resolve

CLASSES = 3


def images(count: int, shape: tuple[int, ...] = (6, 5, 3), seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8)


def labels(count: int, classes: int = CLASSES) -> NDArray[np.int64]:
    return np.arange(count) % classes


def save(path: Path, **arrays: Any) -> Path:
    """An .npz file; without arrays, twelve images with true labels."""
    given = arrays or {"x": images(12), "y": labels(12)}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **given)
    return path


def arrays_folder(folder: Path, **train: Any) -> Path:
    """A folder with train.npz and test.npz."""
    save(folder / "train.npz", **train)
    save(folder / "test.npz")
    return folder


def picture_folder(
    folder: Path,
    classes: tuple[str, ...] = ("cat", "dog"),
    count: int = 3,
    size: tuple[int, int] = (8, 6),
    mode: str = "RGB",
) -> Path:
    """<class>/*.png, each picture of one colour that tells its class and number."""
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for index in range(count):
            value = 100 * number + 10 * index
            colour = value if mode == "L" else (value, value, value)
            Image.new(mode, size, colour).save(folder / name / f"{index}.png")
    return folder


def load(source: Path | str, target: Path | str, data_dir: Path, **settings: Any) -> TaskData:
    return load_task(config(f"{source}->{target}", **settings), data_dir)


def config(task: str, **settings: Any) -> RunConfig:
    return resolve(task=task, cores=1, **settings)


def mnist_folder(data_dir: Path, train: int = 40, test: int = 20) -> Path:
    """torchvision's MNIST folder with random pixels."""
    raw = data_dir / "mnist" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for prefix, count in (("train", train), ("t10k", test)):
        x = images(count, (28, 28), seed=count)
        y = labels(count, 10).astype(np.uint8)
        (raw / f"{prefix}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, count, 28, 28) + x.tobytes())
        (raw / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + y.tobytes())
    return raw
