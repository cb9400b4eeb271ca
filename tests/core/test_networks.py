"""G, F and D: shapes, numbers of parameters, dropout's own generator, errors."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor, nn
from torch.nn import functional

from core.config import RunConfig
from core.data.torchvision_import import torchvision
from core.dropout import ChannelDropout, Dropout, set_dropout_generator
from core.errors import InputError
from core.networks import Classifier, Discriminator, build_classifier, choose_network, scale_as_imagenet, scale_images
from core.tasks import Shape


def seeded(seed: int = 1) -> Generator:
    return Generator().manual_seed(seed)


def images(shape: Shape, count: int = 3) -> Tensor:
    height, width, channels = shape
    return torch.randn(count, channels, height, width, generator=seeded())


def build(network: str, shape: Shape, classes: int, **settings: Any) -> Classifier:
    return build_classifier(RunConfig(network=network, **settings), shape, classes)  # type: ignore[arg-type]


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("network", "shape", "width", "expected", "drops"),
    [
        (
            "lenet",
            (28, 28, 1),
            500,
            (20 * 25 + 20) + (20 * 50 * 25 + 50) + (800 * 500 + 500) + (500 * 10 + 10),
            [0.5, 0.5],
        ),
        (
            "dtn",
            (32, 32, 3),
            512,
            (3 * 64 * 25 + 3 * 64)  # each convolution's bias, and its batch-norm's scale and shift
            + (64 * 128 * 25 + 3 * 128)
            + (128 * 256 * 25 + 3 * 256)
            + (4096 * 512 + 3 * 512)
            + (512 * 10 + 10),
            [0.1, 0.3, 0.5, 0.5],
        ),
    ],
)
def test_widths_parameters_and_dropout_of_the_papers_networks(
    network: str, shape: Shape, width: int, expected: int, drops: list[float]
) -> None:
    classifier = build("auto", shape, 10)
    assert choose_network(shape) == network
    assert parameters(classifier) == expected
    assert classifier.width == width
    assert classifier.has_batch_norm is (network == "dtn")
    dropouts = [part for part in classifier.modules() if isinstance(part, Dropout)]
    assert [part.p for part in dropouts] == drops
    assert [isinstance(part, ChannelDropout) for part in dropouts] == [True] * (len(drops) - 1) + [False]
    assert isinstance(classifier.head, nn.Linear)
    features, logits = classifier(images(shape))
    assert features.shape == (3, width)
    assert logits.shape == (3, 10)
    assert torch.equal(logits, classifier.head(features))


@pytest.mark.parametrize(("shape", "inputs"), [((32, 32, 3), 1250), ((16, 21, 2), 100)])
def test_lenet_takes_images_of_other_shapes(shape: Shape, inputs: int) -> None:
    classifier = build("lenet", shape, 10)
    expected = (20 * 25 * shape[2] + 20) + (20 * 50 * 25 + 50) + (inputs * 500 + 500) + (500 * 10 + 10)
    assert parameters(classifier) == expected
    features, logits = classifier(torch.zeros(2, shape[2], *shape[:2]))
    assert (features.shape, logits.shape) == ((2, 500), (2, 10))


def test_lenet_equals_the_published_order_of_its_layers() -> None:
    classifier = build("lenet", (28, 28, 1), 10)
    set_dropout_generator(classifier, seeded())
    x = images((28, 28, 1), count=8)
    features = classifier.features(x)
    gradients = torch.autograd.grad(features.square().sum(), list(classifier.extractor.parameters()))

    c1, c2, fc = (
        part for part in classifier.modules() if isinstance(part, nn.Conv2d | nn.Linear) and part is not classifier.head
    )
    stream = seeded()
    channel_drop, drop = ChannelDropout(0.5), Dropout(0.5)
    channel_drop.generator = drop.generator = stream
    y = functional.relu(functional.max_pool2d(c1(x), 2))
    y = functional.relu(functional.max_pool2d(channel_drop(c2(y)), 2))
    expected = drop(functional.relu(fc(y.reshape(8, 800))))
    torch.testing.assert_close(features, expected)
    expected_gradients = torch.autograd.grad(expected.square().sum(), list(classifier.extractor.parameters()))
    for gradient, expected_gradient in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(gradient, expected_gradient)


@pytest.mark.parametrize(("network", "shape"), [("lenet", (28, 28, 1)), ("dtn", (32, 32, 3)), ("convnet", (21, 40, 2))])
def test_channels_last_gives_the_same_numbers(network: str, shape: Shape) -> None:
    classifier = build(network, shape, 10).double()  # rounding must not decide
    x = images(shape, count=4).double()
    results = []
    for memory_format in (torch.contiguous_format, torch.channels_last):
        classifier.to(memory_format=memory_format)  # type: ignore[call-overload]
        set_dropout_generator(classifier, seeded())
        features, logits = classifier(x.contiguous(memory_format=memory_format))
        gradients = torch.autograd.grad(logits.square().sum(), list(classifier.parameters()))
        results.append((features, logits, *gradients))
    # Masks of channels are drawn in the same order, and so are those of features, which have no channels.
    for plain, last in zip(*results, strict=True):
        torch.testing.assert_close(plain, last, rtol=1e-7, atol=1e-9)


@given(height=st.integers(4, 70), width=st.integers(4, 70), channels=st.integers(1, 5))
@settings(max_examples=25)
def test_convnet_accepts_any_shape(height: int, width: int, channels: int) -> None:
    shape = (height, width, channels)
    classifier = build("convnet", shape, 4)
    strides = [part.stride for part in classifier.modules() if isinstance(part, nn.Conv2d)]
    assert len(strides) >= 3
    assert classifier.has_batch_norm
    features, logits = classifier(images(shape, count=2))
    assert features.shape == (2, 512)
    assert logits.shape == (2, 4)
    assert logits.isfinite().all()


def test_convnet_equals_dtn_for_its_shape() -> None:
    shapes = [
        [tuple(parameter.shape) for parameter in build(name, (32, 32, 3), 10).parameters()]
        for name in ("dtn", "convnet")
    ]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((28, 28, 1), "lenet"),
        ((32, 32, 3), "dtn"),
        ((28, 28, 3), "convnet"),
        ((32, 32, 1), "convnet"),
        ((8, 8, 1), "convnet"),
        ((127, 127, 3), "convnet"),
        ((128, 20, 3), "resnet18"),
        ((20, 224, 1), "resnet18"),
        ((224, 224, 4), "convnet"),
    ],
)
def test_network_is_chosen_by_shape(shape: Shape, expected: str) -> None:
    assert choose_network(shape) == expected


@pytest.mark.parametrize(
    ("network", "shape", "options", "message"),
    [
        ("lenet", (15, 32, 3), {}, "lenet takes images of 16×16 and more, these are 15×32×3"),
        ("dtn", (28, 28, 1), {}, "dtn takes images of 32×32×3, these are 28×28×1"),
        ("convnet", (3, 9, 1), {}, "convnet takes images of 4×4 and more, these are 3×9×1"),
        ("resnet18", (224, 224, 4), {}, "resnet18 takes images of 1 or 3 channels, these are 224×224×4"),
        (
            "lenet",
            (28, 28, 1),
            {"weights": "some.pt"},
            "only resnet18 and resnet50 take a weights file, the network is lenet",
        ),
        ("resnet18", (32, 32, 3), {"weights": "."}, "cannot be read"),
        ("lenet", (28, 28, 1), {"imagenet_scaling": True}, "grey images need resnet18"),
        ("convnet", (16, 16, 4), {"imagenet_scaling": True}, "expected images of 1 or 3 channels"),
        ("vgg", (28, 28, 1), {}, "expected one of auto, lenet, dtn, convnet, resnet18, resnet50, got 'vgg'"),
    ],
)
def test_unsuitable_network_is_an_input_error(
    network: str, shape: Shape, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        build(network, shape, 10, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("network", "channels", "width", "extractor"),
    [("resnet18", 1, 512, 11_176_512), ("resnet18", 3, 512, 11_176_512), ("resnet50", 3, 2048, 23_508_032)],
)
def test_resnets_accept_grey_and_colour(network: str, channels: int, width: int, extractor: int) -> None:
    classifier = build(network, (64, 64, channels), 31)
    assert classifier.has_batch_norm
    assert parameters(classifier) == extractor + width * 31 + 31
    features, logits = classifier(images((64, 64, channels), count=2))
    assert (features.shape, logits.shape) == ((2, width), (2, 31))


def test_weights_are_loaded_from_a_local_file(tmp_path: Path) -> None:
    published = torchvision().models.resnet18(weights=None)
    path = tmp_path / "resnet18.pt"
    torch.save(published.state_dict(), path)
    classifier = build("resnet18", (32, 32, 3), 4, weights=str(path)).eval()
    published.fc = nn.Identity()
    x = images((32, 32, 3))
    torch.testing.assert_close(classifier.features(x), published.eval()(x))
    grey = build("resnet18", (32, 32, 1), 4, weights=str(path)).eval()
    grey_x = images((32, 32, 1))
    torch.testing.assert_close(grey.features(grey_x), published(grey_x.repeat(1, 3, 1, 1)))
    with pytest.raises(InputError, match="are not those of resnet50"):
        build("resnet50", (32, 32, 3), 4, weights=str(path))


BROKEN = [b"", b"weights", b"\x80\x02", b"PK\x03\x04", b"X\x02\0\0\0\xff\xff.", b"a", b"h", b"K"]
"""Files that make the unpickler raise errors of many classes."""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((content, r"weights: .*weights\.pt cannot be read") for content in BROKEN),
        *(
            (content, "are not those of resnet18")
            for content in ([1, 2], {"layer": torch.zeros(2)}, {1: torch.zeros(2)}, torch.zeros(3))
        ),
        (nn.Linear(2, 2), "cannot be read as a file of plain weights"),
        (None, "no such file"),
    ],
)
def test_unsuitable_weights_files_are_refused(tmp_path: Path, content: object, message: str) -> None:
    path = tmp_path / "weights.pt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        torch.save(content, path)
    with pytest.raises(InputError, match=message):
        build("resnet18", (32, 32, 3), 4, weights=str(path))


@pytest.mark.parametrize("inputs", [500, 5000])
def test_discriminator(inputs: int) -> None:
    discriminator = Discriminator(inputs)
    assert isinstance(discriminator, Discriminator)
    assert parameters(discriminator) == (inputs * 500 + 500) + (500 * 500 + 500) + (500 + 1)
    assert [part.p for part in discriminator.modules() if isinstance(part, Dropout)] == [0.5, 0.5]
    scores = discriminator(torch.randn(6, inputs))
    assert scores.shape == (6,)
    assert (scores < 0).any() or (scores > 1).any() or scores.std() > 0, "raw scores, no sigmoid"
    layers = [part for part in discriminator.modules() if isinstance(part, nn.Linear)]
    for layer in layers:
        assert not layer.bias.any()
    for layer in layers[:2]:
        expected = (2 / (layer.in_features + layer.out_features)) ** 0.5
        assert layer.weight.std().item() == pytest.approx(expected, rel=0.02)
        assert layer.weight.abs().max() > 3 * expected, "normal, not uniform"


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_dropout_scales_as_torch_does(p: float, dtype: torch.dtype) -> None:
    drop = Dropout(p)
    set_dropout_generator(drop, seeded())
    x = torch.ones(200_000, dtype=dtype, requires_grad=True)
    y = drop(x)
    kept = functional.dropout(torch.ones(1000, dtype=dtype), p).max()
    assert y.dtype == dtype
    assert y.unique().tolist() == pytest.approx([0, kept.item()], rel=1e-2 if dtype == torch.bfloat16 else 1e-6)
    share = (y == 0).double().mean().item()
    assert share == pytest.approx(p, abs=5 * (p * (1 - p) / 200_000) ** 0.5)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, y.detach()), "the gradient passes through the same mask"


def test_channel_dropout_drops_whole_channels_and_none_in_evaluation() -> None:
    x = torch.randn(3, 4, 2, 2)
    assert ChannelDropout(0.5).eval()(x) is ChannelDropout(0.0)(x) is x
    drop = ChannelDropout(0.5)
    set_dropout_generator(drop, seeded())
    for x in (torch.ones(40, 50, 4, 3), torch.ones(40, 50, 4, 3).contiguous(memory_format=torch.channels_last)):
        y = drop(x)
        assert y.stride() == x.stride()
        assert torch.equal(y, y[:, :, :1, :1].expand_as(y))
        assert set(y.unique().tolist()) == {0, 2}
        assert (y == 0).float().mean().item() == pytest.approx(0.5, abs=0.06)


def initialised(network: str, shape: Shape) -> Classifier:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return build(network, shape, 10)


@pytest.mark.parametrize(("network", "shape"), [("lenet", (28, 28, 1)), ("dtn", (32, 32, 3))])
def test_dropout_depends_only_on_its_generator(network: str, shape: Shape) -> None:
    classifier, again = (initialised(network, shape) for _ in range(2))
    assert torch.equal(classifier.head.weight, again.head.weight), "initialised by the global generator"
    discriminator = Discriminator(classifier.width)
    generator = seeded(7)
    for module in (classifier, discriminator):
        set_dropout_generator(module, generator)
        assert all(part.generator is generator for part in module.modules() if isinstance(part, Dropout))
    before = torch.get_rng_state()
    first = discriminator(classifier.features(images(shape)))
    second = discriminator(classifier.features(images(shape)))
    assert torch.equal(torch.get_rng_state(), before), "the global generator is unchanged"
    assert not torch.equal(first, second)
    generator.manual_seed(7)
    assert torch.equal(discriminator(classifier.features(images(shape))), first)
    state = generator.get_state()
    third = classifier.features(images(shape))
    generator.set_state(state)
    assert torch.equal(classifier.features(images(shape)), third), "resumed from a saved state"


def test_each_image_is_scaled_to_mean_0_and_deviation_1_whatever_its_contrast() -> None:
    images = torch.rand(3, 2, 9, 9, generator=torch.Generator().manual_seed(1))
    images = torch.stack((images[0], images[0] * 0.5 - 0.7, torch.full_like(images[0], 0.3)))
    scaled = scale_images(images)
    torch.testing.assert_close(scaled.mean(dim=(1, 2, 3)), torch.zeros(3), rtol=0, atol=1e-5)
    assert scaled[0].std().item() == pytest.approx(1, abs=0.1)
    torch.testing.assert_close(scaled[0], scaled[1], rtol=0, atol=0.5)
    assert (scaled[0] - scaled[1]).abs().mean() < (images[0] - images[1]).abs().mean() / 4
    assert torch.equal(scaled[2], torch.zeros_like(scaled[2])), "a constant image stays constant"


def test_classifier_scales_images_only_on_request() -> None:
    images = torch.rand(4, 1, 28, 28)
    plain, scaling = (build("lenet", (28, 28, 1), 10, scale_each_image=on).eval() for on in (False, True))
    scaling.load_state_dict(plain.state_dict())
    torch.testing.assert_close(scaling(images)[1], plain(scale_images(images))[1])
    assert not torch.allclose(scaling(images)[1], plain(images)[1])


def test_imagenet_scaling_is_that_of_torchvision() -> None:
    pixels = torch.randint(0, 256, (2, 3, 8, 8), dtype=torch.uint8)
    transforms = torchvision().transforms
    expected = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))(pixels / 255)
    torch.testing.assert_close(scale_as_imagenet(pixels / 127.5 - 1), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("channels", [1, 3])
def test_scaled_resnet_with_a_bottleneck(channels: int) -> None:
    shape = (64, 64, channels)
    network = build("resnet18", shape, 31, imagenet_scaling=True, bottleneck=256).eval()
    plain = build("resnet18", shape, 31)
    features, logits = network(torch.zeros(2, channels, 64, 64))
    assert (features.shape, logits.shape, network.width) == ((2, 256), (2, 31), 256)
    backbone = {name: value for name, value in network.state_dict().items() if name.startswith("extractor.0.")}
    assert len(backbone) == sum(name.startswith("extractor.") for name in plain.state_dict())
