"""Small data folders for tests."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.io import savemat

from core.config import RunConfig
from core.data.load import load_task
from core.data.task_data import TaskData
from core.resolve import resolve

CLASSES = 3
TWELVE = [f"class {number}" for number in range(12)]


def images(count: int, shape: tuple[int, ...] = (6, 5, 3), seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8)


def labels(count: int, classes: int = CLASSES) -> NDArray[np.int64]:
    return np.arange(count) % classes


def save(path: Path, **arrays: Any) -> Path:
    """Write an .npz file; without arrays, twelve images with true labels."""
    content = arrays or {"x": images(12), "y": labels(12)}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **content)
    return path


def arrays_folder(folder: Path, **train: Any) -> Path:
    """Write a folder with train.npz and test.npz."""
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
    """Write <class>/*.png, each image of one colour that encodes its class and index."""
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for index in range(count):
            value = 100 * number + 10 * index
            colour = value if mode == "L" else (value, value, value)
            Image.new(mode, size, colour).save(folder / name / f"{index}.png")
    return folder


def noisy_pictures(folder: Path, count: int, side: int) -> Path:
    """Write pictures of twelve classes, half of them wide and half of them tall, as .png or .jpg."""
    random = np.random.default_rng(count)
    for name in TWELVE:
        (folder / name).mkdir(parents=True)
        for number in range(count):
            height, width = (side, side * 3 // 2) if number % 2 else (side * 5 // 4, side)
            picture = Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=np.uint8))
            picture.save(folder / name / f"{number}.{'jpg' if number % 2 else 'png'}")
    return folder


def load(source: Path | str, target: Path | str, data_dir: Path, **settings: Any) -> TaskData:
    return load_task(config(f"{source}->{target}", **settings), data_dir)


def config(task: str, **settings: Any) -> RunConfig:
    return resolve(task=task, cores=1, **settings)


def mnist_folder(data_dir: Path, train: int = 40, test: int = 20) -> Path:
    """Write torchvision's MNIST folder with random pixels."""
    raw = data_dir / "mnist" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for prefix, count in (("train", train), ("t10k", test)):
        x = images(count, (28, 28), seed=count)
        y = labels(count, 10).astype(np.uint8)
        (raw / f"{prefix}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, count, 28, 28) + x.tobytes())
        (raw / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + y.tobytes())
    return raw


def save_mnistm_release(folder: Path, count: int = 20) -> None:
    """Write the files of MNIST-M's release."""
    for split in ("train", "test"):
        (folder / f"mnist_m_{split}").mkdir(parents=True)
        lines = []
        for number in range(count):
            name = f"{number:08d}.png"
            Image.fromarray(np.full((32, 32, 3), number, dtype=np.uint8)).save(folder / f"mnist_m_{split}" / name)
            lines.append(f"{name} {number % 10}\n")
        (folder / f"mnist_m_{split}_labels.txt").write_text("".join(lines))


def save_mat_files(folder: Path, prefix: str, count: int = 20) -> None:
    """Write the files of SVHN or, with its prefix, of SYN-DIGITS."""
    folder.mkdir(parents=True)
    for split in ("train", "test"):
        x = images(count, (32, 32, 3)).transpose(1, 2, 3, 0)
        y = np.where(labels(count, 10) == 0, 10, labels(count, 10))[:, None]
        savemat(folder / f"{prefix}{split}_32x32.mat", {"X": x, "y": y})
