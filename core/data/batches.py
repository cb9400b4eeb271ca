"""Batches of a domain: kept on the device, permuted there each epoch, and normalised when read or before."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.data.cache import FilePart, find_in_file
from core.random_streams import stream_seed


def normalise(images: Tensor, channels_last: bool) -> Tensor:
    """Convert bytes (B,H,W,C) to floats in [-1, 1], (B,C,H,W)."""
    scaled = images.permute(0, 3, 1, 2).to(torch.float32).mul_(1 / 127.5).sub_(1)
    return scaled if channels_last else scaled.contiguous()


class ResidentImages:
    """A domain that fits on the device, as bytes or, if `normalised`, as floats in four times the memory."""

    def __init__(
        self, images: NDArray[np.uint8], device: torch.device, channels_last: bool, normalised: bool = False
    ) -> None:
        self._images = torch.from_numpy(np.ascontiguousarray(images)).to(device)
        self.values = images[:1].size
        """The number of values of one image."""
        self._channels_last = channels_last
        self._is_normalised = normalised
        if normalised:
            self._images = normalise(self._images, channels_last)

    def __len__(self) -> int:
        return len(self._images)

    def batches(self, order: Tensor, batch_size: int) -> Iterator[Tensor]:
        """Yield normalised images in the given order, batch by batch, a short last batch included."""
        for chosen in torch.split(order, batch_size):
            images = self._images[chosen]
            yield images if self._is_normalised else normalise(images, self._channels_last)


class StreamedImages:
    """A domain that does not fit; worker processes, which live until `close`, read it into pinned memory."""

    def __init__(self, images: NDArray[np.uint8], device: torch.device, channels_last: bool, workers: int) -> None:
        self._images = images
        self.values = images[:1].size
        self._device = device
        self._channels_last = channels_last
        self._order: list[NDArray[np.int64]] = []
        """The indices of each batch of the current pass; the loader reads it when a pass starts."""
        self._loader = torch.utils.data.DataLoader(
            _BatchDataset(images),
            sampler=self._order,
            batch_size=None,
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=device.type == "cuda",
        )

    def __len__(self) -> int:
        return len(self._images)

    def batches(self, order: Tensor, batch_size: int) -> Iterator[Tensor]:
        self._order[:] = [chosen.numpy() for chosen in torch.split(order.cpu(), batch_size)]
        for images in self._loader:
            yield normalise(images.to(self._device, non_blocking=True), self._channels_last)

    def close(self) -> None:
        """End the processes that read images."""
        self._loader._iterator = None  # its finalizer ends the processes


Images = ResidentImages | StreamedImages


class _BatchDataset(torch.utils.data.Dataset[Tensor]):
    """Reads batches; a process that does not share memory gets the file's name, not the pixels."""

    def __init__(self, images: NDArray[np.uint8]) -> None:
        self._images = images

    def __getitem__(self, chosen: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(self._images[chosen]))

    def __getstate__(self) -> FilePart:
        return find_in_file(self._images)

    def __setstate__(self, part: FilePart) -> None:
        path, offset, shape = part
        self._images = np.memmap(path, np.uint8, "r", offset, shape)


def shuffled_batches(
    images: Images, name: str, batch_size: int, device: torch.device, *, seed: int, epoch: int, start: int, count: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches `start` to `count` of one epoch of a domain, each with the indices of its images.

    The order of each pass is a pure function of seed, domain, epoch and pass, on any device.
    """
    batches_per_pass = len(images) // batch_size
    while start < count:
        pass_index, first = divmod(start, batches_per_pass)
        stream = stream_seed(seed, "order", name, str(epoch), str(pass_index))
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(stream)).to(device)
        last = min(batches_per_pass, first + count - start)
        order = order[first * batch_size : last * batch_size]
        yield from zip(images.batches(order, batch_size), torch.split(order, batch_size), strict=True)
        start += last - first
