"""The base class of algorithms: networks, optimizers, and one training step that never waits for the device."""

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.utils._pytree import tree_map_only

from core.config import RunConfig
from core.dropout import DropoutFactors, disable_dropout, set_dropout_generator
from core.errors import InputError, describe_error
from core.methods import StageSpec, own_settings
from core.methods.augment import crop_and_flip, jitter, recolour
from core.methods.plan import StagePlan
from core.networks import Classifier, Discriminator, build_classifier
from core.random_streams import stream_seed


@dataclass(frozen=True)
class StageProblem:
    """The inputs of an algorithm: settings, sizes and device."""

    config: RunConfig
    stage_plan: StagePlan
    shape: tuple[int, int, int]
    classes: int
    priors: Tensor
    """π̄ of the whole source set."""
    device: torch.device

    @property
    def own(self) -> Any:
        """The settings that the method declares, as its struct; None if it declares none."""
        return own_settings(self.config)


@dataclass(frozen=True)
class Batch:
    """One iteration's images and labels: complementary ones as weights (B,K), others as classes (B,)."""

    source: Tensor
    target: Tensor | None = None
    weights: Tensor | None = None
    labels: Tensor | None = None
    clean_source: Tensor | None = None
    """`source` before it was jittered, cropped or recoloured; None if it was not."""
    clean_target: Tensor | None = None


@dataclass(frozen=True)
class Outputs:
    """The features of G and the logits of F for a batch of one domain."""

    features: Tensor
    logits: Tensor
    joint: "Outputs | None" = None
    """Those of both domains, if one pass computed them."""


@dataclass
class StepMetrics:
    """The metrics of one step: tensors that stay on the device, and numbers that are known without it."""

    on_device: dict[str, Tensor]
    on_host: dict[str, float]


def apply_gradients(optimizer: Optimizer, parameters: Sequence[nn.Parameter], gradients: Sequence[Tensor]) -> None:
    """Take one step of `optimizer` along computed gradients."""
    scale: LossScale | None = getattr(optimizer, "loss_scale", None)
    if scale:
        scale.unscale(gradients)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        # Fused optimizers walk through memory, and autograd.grad may return a gradient in another order of it.
        strides = zip(parameter.shape, parameter.stride(), gradient.stride(), strict=True)
        has_same_order = all(size == 1 or stride == other for size, stride, other in strides)
        parameter.grad = gradient if has_same_order else torch.empty_like(parameter).copy_(gradient)
    optimizer.step()
    for parameter in parameters:
        parameter.grad = None


def join(source: Outputs, target: Outputs) -> Outputs:
    """Return the outputs of both domains, the source first."""
    if source.joint is not None:
        return source.joint
    return Outputs(torch.cat((source.features, target.features)), torch.cat((source.logits, target.logits)))


Network = TypeVar("Network", bound=nn.Module)
HALF_PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Algorithm(ABC):
    """The base class of algorithms, built-in ones and those of plug-ins.

    A subclass builds networks and optimizers in `__init__`, with `add_module`, `build_discriminator` and
    `make_optimizer`, so that checkpoints store them; G and F are `classifier`. Its `step` trains one iteration. A step
    reads no value of the device, and draws random numbers only from `generators`, so that a resumed run is exact.

    Args:
        problem: The settings, the plan of the stage, the shape of the images, the number of classes, π̄ and the device.

    Raises:
        InputError: The network cannot be built for these images.

    Example:
        >>> from torch.nn.functional import cross_entropy
        >>> from core.methods.algorithm import Algorithm, StepMetrics, apply_gradients
        >>> class Plain(Algorithm):
        ...     def __init__(self, problem):
        ...         super().__init__(problem)
        ...         self.optimizer = self.make_optimizer("classifier", [self.classifier], "sgd", 0.01)
        ...
        ...     def step(self, batch, adaptation_step):
        ...         source, _ = self.forward(batch.source, None)
        ...         loss = cross_entropy(source.logits, batch.labels)
        ...         parameters = list(self.classifier.parameters())
        ...         apply_gradients(self.optimizer, parameters, self.gradients(loss, parameters))
        ...         return StepMetrics({"classification_loss": loss}, {"classifier_rate": 0.01})
        >>> algorithm = Plain(problem)
        >>> [sorted(algorithm.iterate(batch, iteration).on_device) for iteration in (1, 2)]
        [['classification_loss'], ['classification_loss']]
    """

    conditional: ClassVar[bool] = False
    """Whether D takes features times classes."""

    def __init__(self, problem: StageProblem) -> None:
        self.problem = problem
        self.config = problem.config
        self.own = problem.own
        """The settings that the method declares, as its struct."""
        self.saves_launches = problem.device.type != "cpu"
        """Whether few large operations are better than little work: a GPU waits for small ones to be launched."""
        self.generators: dict[str, torch.Generator] = {}
        self.dropout = DropoutFactors(self.add_generator("dropout"))
        if self.config.jitter:
            self.add_generator("jitter")
        if self.config.crop or self.config.flip:
            self.add_generator("crop")
        if self.config.recolour:
            self.add_generator("recolour")
        self.captured_lambda: Callable[[int], Tensor] | None = None
        """While a step is captured, gives λ as a tensor for a delay in epochs."""
        self.loss_scale = LossScale(problem.device) if self.config.precision == "fp16" else None
        self._one = torch.ones((), device=problem.device)
        self.modules: dict[str, nn.Module] = {}
        self.optimizers: dict[str, Optimizer] = {}
        self.rates: dict[str, float] = {}
        self.classifier = self.add_module("classifier", self.build_classifier())
        self.fg = list(self.classifier.parameters())
        """θ_FG, the parameters of G and F."""
        self.d: list[nn.Parameter] = []
        """θ_D, those of the discriminator if there is one."""

    @property
    def predictor(self) -> Classifier:
        """The network that is evaluated."""
        return self.classifier

    def load_classifier(self, weights: dict[str, Tensor]) -> None:
        """Start from the weights of another stage's classifier."""
        self.classifier.load_state_dict(weights)

    @abstractmethod
    def step(self, batch: Batch, adaptation_step: int) -> StepMetrics:
        """Train one iteration.

        Args:
            batch: Images of both domains on the device, and the labels that the stage learns from.
            adaptation_step: Counts from 1 once adaptation has started, and is 0 before.

        Returns:
            The metrics: tensors of one value that stay on the device, and numbers that are known without it.
        """

    def iterate(self, batch: Batch, iteration: int) -> StepMetrics:
        """Train one iteration, which counts from 1 over the whole run, at its rates."""
        self.set_rates(iteration)
        return self.train_batch(batch, iteration)

    def train_batch(self, batch: Batch, iteration: int) -> StepMetrics:
        """Do what an iteration asks of the device: draw, change images and take a step."""
        adaptation_step = self.problem.stage_plan.adaptation_step_of(iteration)
        self.dropout.start(self.problem.stage_plan.phase_of(iteration)[0])
        metrics = self.step(self.augment(batch, adaptation_step), adaptation_step)
        if self.loss_scale:
            self.loss_scale.update()
        return metrics

    def stream_seed(self, name: str) -> int:
        return stream_seed(self.problem.stage_plan.seed, self.problem.stage_plan.spec.name, name)

    def build_classifier(self) -> Classifier:
        """Return G and F with this run's initial weights, the same each time."""
        with seeded(self.stream_seed("G and F")):
            classifier = build_classifier(self.config, self.problem.shape, self.problem.classes)
        if not self.config.dropout:
            disable_dropout(classifier)
        return classifier

    def build_discriminator(self) -> Discriminator:
        """Build `discriminator` with this run's initial weights, its parameters `d` and its optimizer `d_optimizer`."""
        inputs = self.classifier.width * (self.problem.classes if self.conditional else 1)
        with seeded(self.stream_seed("D")):
            self.discriminator = self.add_module("discriminator", Discriminator(inputs))
        self.d = list(self.discriminator.parameters())
        optimizer, rate = self.config.discriminator_optimizer, self.config.discriminator_rate
        self.d_optimizer = self.make_optimizer("discriminator", [self.discriminator], optimizer, rate)
        return self.discriminator

    def add_generator(self, name: str) -> torch.Generator:
        """Return the named random stream on the device; checkpoints store its state."""
        self.generators[name] = torch.Generator(self.problem.device)
        return self.generators[name].manual_seed(self.stream_seed(name))

    def add_module(self, name: str, module: Network) -> Network:
        if self.config.channels_last:
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        module.to(self.problem.device).train()
        set_dropout_generator(module, self.dropout.generator)
        self.modules[name] = module
        if self.loss_scale:
            self.loss_scale.add_network(module)
        if self.config.compile:
            module.compile()
        return module

    def make_optimizer(self, name: str, modules: Iterable[nn.Module], algorithm: str, rate: float) -> Optimizer:
        """Return sgd, adam or adamw, which keeps weight decay out of the moments; checkpoints store it under `name`."""
        parameters = [parameter for module in modules for parameter in module.parameters()]
        groups: list[Any] = parameters
        backbone, factor = self.classifier.backbone_parameters, self.config.backbone_rate
        if factor != 1 and (slow := [parameter for parameter in parameters if parameter in backbone]):
            # The backbone has a rate of its own; that of the first group is recorded.
            fast = [parameter for parameter in parameters if parameter not in backbone]
            groups = [{"params": fast}, {"params": slow, "lr": rate * factor, "rate_factor": factor}]
        settings = self.config.stage1 if self.problem.stage_plan.spec.stage1 else self.config
        algorithm = self.config.optimizer if algorithm == "same" else algorithm
        common: dict[str, Any] = {"lr": rate, "weight_decay": settings.weight_decay, "fused": True}
        optimizer: Optimizer
        if algorithm == "sgd":
            optimizer = SGD(groups, momentum=settings.momentum, **common)
        else:
            optimizer = (Adam if algorithm == "adam" else AdamW)(groups, **common)
        self.rates[name], self.optimizers[name] = rate, optimizer
        if self.loss_scale:
            self.loss_scale.add_optimizer(optimizer)
        return optimizer

    def set_rates(self, iteration: int) -> None:
        """Set decaying learning rates as a function of the iteration alone, so that resuming is exact."""
        if self.config.rate_decay == "none":
            return
        phase, done, length = self.problem.stage_plan.phase_of(iteration)
        factor = 1 - done / length
        if self.config.rate_decay == "cosine":
            factor = (1 + math.cos(math.pi * done / length)) / 2 if phase == "adaptation" else 1.0
        for name, optimizer in self.optimizers.items():
            for group in optimizer.param_groups:
                group["lr"] = self.rates[name] * factor * group.get("rate_factor", 1.0)

    def augment(self, batch: Batch, adaptation_step: int) -> Batch:
        """Return the batch with changed images, and the images as they were in `clean_source` and `clean_target`."""
        if not self.generators.keys() & {"jitter", "crop", "recolour"}:
            return batch
        target, is_adapting = batch.target, adaptation_step > 0
        if target is not None and (is_adapting or self.classifier.has_batch_norm):
            target = self._change(target, is_adapting)
        source = self._change(batch.source, is_adapting)
        return replace(batch, source=source, target=target, clean_source=batch.source, clean_target=batch.target)

    def _change(self, images: Tensor, is_adapting: bool) -> Tensor:
        """Jitter, crop and mirror images at random, as configured; adaptation also changes their colours."""
        if self.config.jitter and (is_adapting or self.config.warmup_jitter):
            images = jitter(images, self.config.jitter, self.generators["jitter"])
        if "crop" in self.generators:
            images = crop_and_flip(images, self.config.crop, self.config.flip, self.generators["crop"])
        if is_adapting and "recolour" in self.generators:
            images = recolour(images, self.generators["recolour"])
        return images

    def forward(self, source: Tensor, target: Tensor | None) -> tuple[Outputs, Outputs | None]:
        """Run G and F on both domains, together or apart."""
        # With a pass for each domain, a loss of the source alone has half of the backward pass.
        has_batch_norm = self.classifier.has_batch_norm
        is_joint = self.config.batch_norm == "shared" if has_batch_norm else self.saves_launches
        if target is None or not is_joint:
            # Around both passes, which then share converted weights; on the CPU, gradients are added in float32.
            with self.autocast() if self.saves_launches else nullcontext():
                return self._forward_one(source), None if target is None else self._forward_one(target)
        both, n = self._forward_one(torch.cat((source, target))), len(source)
        joint = both if self.saves_launches else None  # on the CPU, gradients are added in the order of two passes
        return Outputs(both.features[:n], both.logits[:n], joint), Outputs(both.features[n:], both.logits[n:], joint)

    def _forward_one(self, images: Tensor) -> Outputs:
        features, logits = self.run_network(self.classifier, images)
        return Outputs(self.as_float32(features), self.as_float32(logits))

    def run_network(self, network: nn.Module, x: Tensor) -> Any:
        """Run a network in the configured precision, with dropout from the one draw of the iteration."""
        self.dropout.assign(network, len(x))
        with self.autocast():
            return network(x)

    def as_float32(self, output: Tensor) -> Tensor:
        """Return an output of autocast in the precision that losses need."""
        return output.float() if self.config.precision in HALF_PRECISIONS else output

    def autocast(self) -> torch.autocast:
        dtype = HALF_PRECISIONS.get(self.config.precision)
        return torch.autocast(self.problem.device.type, dtype=dtype or torch.bfloat16, enabled=dtype is not None)

    def gradients(self, loss: Tensor, parameters: Sequence[nn.Parameter], **options: bool) -> tuple[Tensor, ...]:
        """Return those of a loss; torch.autograd.grad alone would create its first factor, 1, in each iteration."""
        return torch.autograd.grad(loss, parameters, self._one, **options)

    def minimise(self, loss: Tensor, optimizer: Optimizer, with_d: bool) -> None:
        """Take a step of G and F by `optimizer`, and of D by its own if there is one and `with_d` is set."""
        gradients = self.gradients(loss, [*self.fg, *self.d] if with_d else self.fg)
        apply_gradients(optimizer, self.fg, gradients[: len(self.fg)])
        if len(gradients) > len(self.fg):
            apply_gradients(self.d_optimizer, self.d, gradients[len(self.fg) :])

    def lambda_at(self, adaptation_step: int, delay_epochs: int = 0) -> float:
        """Return λ = 2/(1+exp(-10·i/horizon)) - 1, which rises from 0 to 1; a tensor while a step is captured."""
        if self.captured_lambda:
            captured: Any = self.captured_lambda(delay_epochs)
            return captured  # type: ignore[no-any-return]
        stage = self.problem.stage_plan
        i = max(0, adaptation_step - delay_epochs * stage.iterations_per_epoch)
        horizon = self.config.lambda_horizon or stage.adaptation_iterations
        return 2 / (1 + math.exp(-10 * i / horizon)) - 1

    def state(self) -> dict[str, Any]:
        """Return everything that decides the next step."""
        return {
            "modules": {name: module.state_dict() for name, module in self.modules.items()},
            "optimizers": {name: optimizer.state_dict() for name, optimizer in self.optimizers.items()},
            "dropout_layouts": self.dropout.state(),
            **({"loss_scale": self.loss_scale.state()} if self.loss_scale else {}),
            **{name: generator.get_state() for name, generator in self.generators.items()},
        }

    def load_state(self, state: dict[str, Any], reseed_at: int | None = None) -> None:
        """Restore a state; `reseed_at` starts new random streams at that iteration instead of the stored ones."""
        for name, module in self.modules.items():
            module.load_state_dict(state["modules"][name])
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state["optimizers"][name])
        for name, generator in self.generators.items():
            if reseed_at is None:
                generator.set_state(state[name].cpu())
            else:
                generator.manual_seed(self.stream_seed(f"{name} at {reseed_at}"))
        self.dropout.load_state(state["dropout_layouts"])
        if self.loss_scale:
            self.loss_scale.load_state(state["loss_scale"])


def load_algorithm(stage: StageSpec) -> type[Algorithm]:
    """Import the class that a stage's specification names."""
    module, _, name = stage.algorithm.partition(":")
    try:
        loaded: type[Algorithm] = getattr(importlib.import_module(module), name)
    except Exception as error:  # the module of a plug-in may raise anything
        raise InputError(
            f"stage {stage.name}: {stage.algorithm} cannot be imported ({describe_error(error)})"
        ) from error
    return loaded


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator, which initialisers use, and restore it on exit."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


# -- loss scaling for float16 ----------------------------------------------------------------------------------------

INITIAL_SCALE, GROWTH, BACKOFF, INTERVAL = 2.0**16, 2.0, 0.5, 2000
"""As in torch's GradScaler, which needs one loss and waits for the device unless optimizers are fused."""


class LossScale:
    """Scales gradients within networks alone: they enter at the outputs times the scale and leave at the inputs by it.

    Losses and what is between networks stay as they are. The scale halves when a gradient of a weight is not finite,
    in which case optimizers change nothing for the rest of the iteration, and doubles after 2000 iterations without.
    """

    def __init__(self, device: torch.device) -> None:
        self.scale = torch.full((), INITIAL_SCALE, device=device)
        self.growth = torch.zeros((), dtype=torch.int32, device=device)
        self.found_inf = torch.zeros((), device=device)

    def add_network(self, network: nn.Module) -> None:
        """Scale the gradients within every call of `network`."""

        def scaled(values: Any, factor: Tensor) -> Any:
            return tree_map_only(Tensor, lambda x: _ScaledGradient.apply(x, factor), values)  # type: ignore[no-untyped-call]

        network.register_forward_pre_hook(lambda _, inputs: scaled(inputs, self.scale.reciprocal()))
        network.register_forward_hook(lambda _, inputs, outputs: scaled(outputs, self.scale))

    def add_optimizer(self, optimizer: Optimizer) -> None:
        """Make `apply_gradients` undo the scale for `optimizer`, which skips steps that are not finite."""
        extended: Any = optimizer  # fused optimizers read found_inf
        extended.loss_scale, extended.found_inf = self, self.found_inf

    def unscale(self, gradients: Sequence[Tensor]) -> None:
        torch._amp_foreach_non_finite_check_and_unscale_(list(gradients), self.found_inf, self.scale.reciprocal())

    def update(self) -> None:
        """End an iteration: change the scale if it was too large, or small enough for long."""
        torch._amp_update_scale_(self.scale, self.growth, self.found_inf, GROWTH, BACKOFF, INTERVAL)
        self.found_inf.zero_()

    def state(self) -> dict[str, Tensor]:
        return {"scale": self.scale, "growth": self.growth}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.scale.copy_(state["scale"])
        self.growth.copy_(state["growth"])


class _ScaledGradient(torch.autograd.Function):
    """x in float32; its gradient is multiplied by a factor before it is rounded to the type of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: Tensor) -> Tensor:
        ctx.save_for_backward(factor)
        ctx.dtype = x.dtype
        return x.float() if x.dtype != torch.float32 else x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (factor,) = ctx.saved_tensors
        return (gradient * factor).to(ctx.dtype), None
