"""A task's data on the device: images, labels and test sets."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.config import RunConfig
from core.data.batches import Images, ResidentImages, ShuffledImages, StreamedImages
from core.data.labels import class_priors, label_hash, label_weights
from core.data.task_data import ImageSet, TaskData
from core.errors import InputError
from core.methods.algorithm import Batch
from core.methods.plan import StagePlan
from core.training.evaluate import TestSet


@dataclass(frozen=True)
class DeviceData:
    """What a run trains and evaluates on; target labels are in `target_test` only."""

    task_data: TaskData
    device: torch.device
    source: Images
    target: Images
    weights: Tensor
    priors: Tensor
    label_hash: str
    source_test: TestSet | None
    target_test: TestSet

    @property
    def classes(self) -> int:
        return len(self.task_data.classes)

    def batches(self, stage: StagePlan, epoch: int, start: int, labels: Tensor | None) -> Iterator[Batch]:
        """Yield the rest of an epoch of a stage, from batch `start`; `epoch` counts from 0 within the stage."""
        count = stage.iterations_per_epoch
        name = stage.spec.name
        source = ShuffledImages(self.source, f"{name}/source", stage.batch_size, self.device)
        sources = source.epoch(stage.seed, epoch, start, count)
        targets: Iterator[tuple[Tensor | None, object]] = iter([(None, None)] * (count - start))
        if stage.spec.adapts:
            target = ShuffledImages(self.target, f"{name}/target", stage.batch_size, self.device)
            targets = target.epoch(stage.seed, epoch, start, count)
        for (images, chosen), (target_images, _) in zip(sources, targets, strict=True):
            if labels is None:
                yield Batch(images, target_images, weights=self.weights[chosen])
            else:
                yield Batch(images, target_images, labels=labels[chosen])

    def close(self) -> None:
        """End the processes that read streamed images."""
        tests = [test.images for test in (self.source_test, self.target_test) if test]
        for images in (self.source, self.target, *tests):
            images.close()

    def true_labels(self, method: str) -> Tensor:
        y = self.task_data.source_train.y
        if (y < 0).any():
            raise InputError(f"method: {method} needs true source labels, but {int((y < 0).sum())} are unknown")
        return torch.from_numpy(y).to(self.device)


def load_device_data(config: RunConfig, data: TaskData, device: torch.device) -> DeviceData:
    def place(images: NDArray[np.uint8]) -> Images:
        """Keep images on the device if they fit, stream them otherwise; their order is the same."""
        if images.nbytes > config.memory_limit_gb * 2**30:
            return StreamedImages(images, device, config.channels_last, config.workers)
        # Normalising once saves launches; floats are four times as large, and may take an eighth of a GPU's memory.
        normalised = device.type == "cuda" and 8 * 4 * images.nbytes <= torch.cuda.mem_get_info(device)[0]
        return ResidentImages(images, device, config.channels_last, normalised)

    def make_test_set(images: ImageSet, trained: ImageSet, placed: Images, with_labels: bool) -> TestSet:
        """A domain without test images is tested on those that it trains on, which are on the device already."""
        weights = None
        if with_labels and images.ybar is not None:
            weights = torch.from_numpy(label_weights(images.ybar)).to(device)
        x = placed if images.x is trained.x else place(images.x)
        return TestSet(x, torch.from_numpy(images.y).to(device), weights)

    mask = data.source_train.ybar
    assert mask is not None, "load_task gives every source complementary labels"
    weights = torch.from_numpy(label_weights(mask)).to(device)
    source, target = place(data.source_train.x), place(data.target_train.x)
    return DeviceData(
        task_data=data,
        device=device,
        source=source,
        target=target,
        weights=weights,
        priors=torch.from_numpy(class_priors(mask)).to(weights.dtype).to(device),
        label_hash=label_hash(mask),
        source_test=make_test_set(data.source_test, data.source_train, source, True) if data.source_test else None,
        target_test=make_test_set(data.target_test, data.target_train, target, False),
    )
