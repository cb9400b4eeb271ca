"""The networks: G and F as a Classifier, and D as a Discriminator."""

from itertools import chain, repeat
from pathlib import Path

import torch
from torch import Tensor, nn

from core.config import RunConfig
from core.dropout import ChannelDropout, Dropout
from core.errors import InputError
from core.tasks import COLOUR, GREY, Shape

PAPER_NETWORKS = {GREY: "lenet", COLOUR: "dtn"}
"""The paper's networks, by the shape of the images that it uses each of them for."""


def scale_images(x: Tensor) -> Tensor:
    """Return images (B, C, H, W) with mean 0 and deviation 1 each; nearly constant ones are not amplified."""
    variance, mean = torch.var_mean(x, dim=(1, 2, 3), keepdim=True, correction=0)
    return (x - mean) * torch.rsqrt(variance + 0.01)


RESNET_WIDTHS = {"resnet18": 512, "resnet50": 2048}
IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of red, green and blue between 0 and 1."""


def scale_as_imagenet(x: Tensor) -> Tensor:
    """Return images in [-1, 1] (B, C, H, W) as networks that were trained on ImageNet expect them; grey as colour."""
    mean, deviation = (x.new_tensor(values).view(1, 3, 1, 1) for values in (IMAGENET_MEAN, IMAGENET_DEVIATION))
    return ((x + 1) / 2 - mean) / deviation


def cut_centre(x: Tensor, share: float) -> Tensor:
    """Return images (B, C, H, W) without `share` of their height and width around the centre, at their old size."""
    height, width = x.shape[2:]
    top, left = (min(round(side * share / 2), (side - 1) // 2) for side in (height, width))
    centre = x[:, :, top : height - top, left : width - left]
    return nn.functional.interpolate(centre, size=(height, width), mode="bilinear", align_corners=False)


class Classifier(nn.Module):
    """G, which computes `width` features of an image, and F, a linear layer on them."""

    def __init__(self, extractor: nn.Module, width: int, classes: int, backbone: nn.Module | None = None) -> None:
        super().__init__()
        self.extractor = extractor
        self.backbone_parameters = frozenset((backbone or extractor).parameters())
        """The parameters of G without a bottleneck."""
        self.head = nn.Linear(width, classes)
        self.width = width
        self.scales_images = False
        self.scales_as_imagenet = False
        self.centre_crop = 0.0
        """The share of height and width that is left out in evaluation."""
        self.has_batch_norm = any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in self.modules())

    def features(self, x: Tensor) -> Tensor:
        """G(x), shape (B, width)."""
        if self.centre_crop and not self.training:
            x = cut_centre(x, self.centre_crop)
        if self.scales_images:
            x = scale_images(x)
        if self.scales_as_imagenet:
            x = scale_as_imagenet(x)
        features: Tensor = self.extractor(x)
        return features

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """G(x) and the logits of F(G(x))."""
        features = self.features(x)
        return features, self.head(features)


class Discriminator(nn.Module):
    """D on features (DANN) or features × classes (CDAN, CLARINET): a raw score a row, positive for the source."""

    signs: Tensor

    def __init__(self, inputs: int, hidden: int = 500) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, hidden),
            nn.ReLU(inplace=True),
            Dropout(0.5, hidden),
            nn.Linear(hidden, hidden),
            nn.ReLU(inplace=True),
            Dropout(0.5, hidden),
            nn.Linear(hidden, 1),
        )
        for part in self.layers:
            if isinstance(part, nn.Linear):
                nn.init.xavier_normal_(part.weight)
                nn.init.zeros_(part.bias)

        self.register_buffer("signs", torch.tensor([[1.0], [-1.0]]), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.layers(x)
        return scores.squeeze(1)

    def signed(self, scores: Tensor) -> Tensor:
        """Return the scores of B source and B target rows as (2, B), positive where they are right."""
        return scores.view(2, -1) * self.signs


def choose_network(shape: Shape) -> str:
    """Return the paper's network for its shapes, resnet18 for photographs, and a convnet for the rest."""
    height, width, channels = shape
    others = "resnet18" if max(height, width) >= 128 and channels in (1, 3) else "convnet"
    return PAPER_NETWORKS.get(shape, others)


def build_classifier(config: RunConfig, shape: Shape, classes: int) -> Classifier:
    """Return G and F for images of `shape`, initialised from the global generator or a resnet's file of weights."""
    network = choose_network(shape) if config.network == "auto" else config.network
    if config.weights and not network.startswith("resnet"):
        raise InputError(f"weights: only resnet18 and resnet50 take a weights file, the network is {network}")
    if network == "dtn" and shape != COLOUR:
        raise InputError(f"network: dtn takes images of 32×32×3, these are {_format_shape(shape)}; use auto")
    if network == "lenet":
        classifier = Classifier(_lenet(shape), 500, classes)
    elif network in ("dtn", "convnet"):
        classifier = Classifier(_convnet(shape), 512, classes)
    elif network in RESNET_WIDTHS:
        classifier = Classifier(_resnet(network, shape, config.weights), RESNET_WIDTHS[network], classes)
    else:
        raise InputError(f"network: expected one of auto, lenet, dtn, convnet, resnet18, resnet50, got {network!r}")
    if config.bottleneck:
        narrow = nn.Sequential(classifier.extractor, nn.Linear(classifier.width, config.bottleneck))
        classifier = Classifier(narrow, config.bottleneck, classes, backbone=classifier.extractor)
    if config.imagenet_scaling and shape[2] not in (1, 3):
        raise InputError(f"imagenet_scaling: expected images of 1 or 3 channels, these are {_format_shape(shape)}")
    if config.imagenet_scaling and shape[2] == 1 and not network.startswith("resnet"):
        raise InputError("imagenet_scaling: grey images need resnet18 or resnet50, which take them as colour")
    classifier.scales_images, classifier.scales_as_imagenet = config.scale_each_image, config.imagenet_scaling
    classifier.centre_crop = config.centre_crop
    return classifier


def _format_shape(shape: Shape) -> str:
    return "×".join(map(str, shape))


def _lenet(shape: Shape) -> nn.Module:
    """The paper's LeNet, which this is for 28×28×1, generalised to other shapes."""
    height, width, channels = shape
    if min(height, width) < 16:
        raise InputError(f"network: lenet takes images of 16×16 and more, these are {_format_shape(shape)}")
    rows, columns = (((side - 4) // 2 - 4) // 2 for side in (height, width))
    # Published with the channel dropout before the second pooling. Pooling and relu commute with a factor ≥ 0 for a
    # whole channel, so after them it gives the same values and gradients for a quarter of the work.
    return nn.Sequential(
        nn.Conv2d(channels, 20, 5),
        nn.MaxPool2d(2),
        nn.ReLU(inplace=True),
        nn.Conv2d(20, 50, 5),
        nn.MaxPool2d(2),
        nn.ReLU(inplace=True),
        ChannelDropout(0.5, 50),
        nn.Flatten(),
        nn.Linear(50 * rows * columns, 500),
        nn.ReLU(inplace=True),
        Dropout(0.5, 500),
    )


def _convnet(shape: Shape) -> nn.Module:
    """CDAN's DTN, which this is for 32×32×3, generalised to other shapes.

    At least three 5×5 convolutions; each halves an axis as long as that leaves 4, until none can be halved.
    """
    height, width, channels = shape
    if min(height, width) < 4 or channels < 1:
        raise InputError(f"network: convnet takes images of 4×4 and more, these are {_format_shape(shape)}")
    layers: list[nn.Module] = []
    for out_channels, drop in chain([(64, 0.1), (128, 0.3)], repeat((256, 0.5))):
        if len(layers) >= 12 and max(height, width) < 8:
            break
        strides = (1 + (height >= 8), 1 + (width >= 8))
        # As in `_lenet`, dropping channels before or after the relu is the same.
        layers += [
            nn.Conv2d(channels, out_channels, 5, stride=strides, padding=2),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
            ChannelDropout(drop, out_channels),
        ]
        height, width, channels = -(-height // strides[0]), -(-width // strides[1]), out_channels
    if (height, width) != (4, 4):
        # Windows with stride 1 reduce the remaining 4 to 7 to 4×4; adaptive pooling is not deterministic on CUDA.
        layers.append(nn.AvgPool2d((height - 3, width - 3), stride=1))
    return nn.Sequential(
        *layers,
        nn.Flatten(),
        nn.Linear(channels * 16, 512),
        nn.BatchNorm1d(512),
        nn.ReLU(inplace=True),
        Dropout(0.5, 512),
    )


class _GreyToColour(nn.Module):
    """Repeats one channel three times, for networks that take colour images."""

    def forward(self, x: Tensor) -> Tensor:
        return x.expand(-1, 3, -1, -1)


def _resnet(network: str, shape: Shape, weights: str) -> nn.Module:
    from core.data.torchvision_import import torchvision

    if shape[2] not in (1, 3):
        raise InputError(f"network: {network} takes images of 1 or 3 channels, these are {_format_shape(shape)}")
    resnet: nn.Module = getattr(torchvision().models, network)(weights=None)
    resnet.fc = nn.Identity()
    if weights:
        # G's weights, without those of the file's last layer.
        try:
            state = torch.load(weights, map_location="cpu", weights_only=True)
        except FileNotFoundError:
            raise InputError(f"weights: {Path(weights)}: no such file") from None
        except Exception as error:  # a damaged file makes the unpickler raise anything
            raise InputError(
                f"weights: {Path(weights)} cannot be read as a file of plain weights (torch.save of a state_dict)"
            ) from error
        try:
            resnet.load_state_dict({name: value for name, value in state.items() if not name.startswith("fc.")})
        except (AttributeError, RuntimeError):
            raise InputError(f"weights: the weights in {Path(weights)} are not those of {network}") from None
    return nn.Sequential(_GreyToColour(), resnet) if shape[2] == 1 else resnet
