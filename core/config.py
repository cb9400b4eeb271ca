"""The settings of a run: typed, bounded, described and tagged; and settings that a user wrote, converted to them."""

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from core.errors import InputError, describe_error
from core.presets import Preset
from core.tasks import OFFLINE_TASK

Optimizer = Literal["sgd", "adam", "adamw"]
OptimizerOrSame = Literal["same", Optimizer]


class Tag(StrEnum):
    """A property of a setting that other modules select settings by."""

    IDENTITY = "identity"
    NO_EFFECT = "no effect on the numbers"
    """May differ between a checkpoint and the run that resumes it."""
    ROUNDING = "rounding only"
    """Changes how the same sums are computed, so that runs of one mean may differ in it."""
    EVALUATION = "evaluation"
    """Decides when and on how many images a run is evaluated."""
    SOURCE = "source of stage 1"
    """Chooses the source images and their complementary labels."""
    STAGE1 = "training of stage 1"
    """Decides stage 1's pseudo-labels; `on_nan` does, because a run that would have failed must not get labels."""
    BASSET = "part of basset"
    """A part of `basset`, which methods of other preset tables do not have."""


def setting(description: str, *tags: Tag, **bounds: Any) -> Meta:
    """The description, tags and bounds of a setting, for `Annotated`."""
    return Meta(description=description, extra={"tags": tags}, **bounds)


class Stage1(Struct, frozen=True, forbid_unknown_fields=True):
    """Stage 1 of the two-step methods, and the whole of `gac`: Ishida et al.'s own program."""

    epochs: Annotated[int, setting("Epochs of GAC.", ge=1)] = 300
    batch_size: Annotated[int, setting("Source images in a batch of GAC.", ge=1)] = 256
    optimizer: Annotated[Optimizer, setting("Optimizer of GAC.")] = "adam"
    rate: Annotated[float, setting("Learning rate of GAC.", gt=0)] = 5e-5
    momentum: Annotated[float, setting("Momentum of GAC, with sgd.", ge=0, lt=1)] = 0.9
    weight_decay: Annotated[float, setting("Weight decay of GAC.", ge=0)] = 1e-4
    seed: Annotated[int, setting("Seed of GAC's network and batches; -1 is the run's own seed.", ge=-1)] = -1


class RunConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One run. The defaults are the preset `paper` for the one-step methods."""

    method: Annotated[str, setting("Method to train.", Tag.IDENTITY)] = "clarinet"
    task: Annotated[str, setting('Source and target, such as "M->U" or two directories.', Tag.IDENTITY)] = OFFLINE_TASK
    seed: Annotated[int, setting("Seed of every random stream of the run.", Tag.IDENTITY, ge=0, lt=2**31)] = 1
    preset: Annotated[Preset, setting("Protocol that sets the defaults of the other settings.", Tag.IDENTITY)] = "paper"
    name: Annotated[str, setting("A name for display only.", Tag.IDENTITY, Tag.NO_EFFECT, max_length=200)] = ""
    sweep: Annotated[
        str, setting("Name of the sweep that the run is part of.", Tag.IDENTITY, Tag.NO_EFFECT, max_length=100)
    ] = ""

    source_size: Annotated[int, setting("Number of source images; 0 is all.", Tag.SOURCE, ge=0)] = 0
    target_size: Annotated[int, setting("Number of unlabelled target images; 0 is all.", Tag.EVALUATION, ge=0)] = 0
    test_size: Annotated[int, setting("Number of test images of each domain; 0 is all.", Tag.EVALUATION, ge=0)] = 0
    source_fraction: Annotated[
        float, setting("Label budget: share of source images that are labelled.", Tag.SOURCE, gt=0, le=1)
    ] = 1.0
    ybars_per_sample: Annotated[
        int, setting("Label budget: complementary labels for each source image.", Tag.SOURCE, ge=1)
    ] = 1
    true_fraction: Annotated[
        float, setting("Label budget: share of source images that have their true label.", Tag.SOURCE, ge=0, le=1)
    ] = 0.0
    usps_split: Annotated[
        Literal["official", "80/20"],
        setting("USPS as published (7291/2007), or all 9298 shuffled 80/20 as in the released program.", Tag.SOURCE),
    ] = "official"
    image_size: Annotated[
        int,
        setting("Height and width that custom images are resized to; 0 keeps their size.", Tag.SOURCE, ge=0, le=2048),
    ] = 0
    fit: Annotated[
        Literal["stretch", "cut"],
        setting("Custom images of other proportions: stretched, or cut at the centre to keep them.", Tag.SOURCE),
    ] = "stretch"

    network: Annotated[
        Literal["auto", "lenet", "dtn", "convnet", "resnet18", "resnet50"],
        setting("Feature extractor; auto chooses by the image shape.", Tag.STAGE1),
    ] = "auto"
    weights: Annotated[str, setting("Local weights file for resnet18 or resnet50.", Tag.STAGE1)] = ""
    imagenet_scaling: Annotated[
        bool, setting("Scale pixels by ImageNet's mean and deviation, as weights trained on it expect.", Tag.STAGE1)
    ] = False
    bottleneck: Annotated[
        int,
        setting(
            "Width of a linear layer at the end of G, such as 256 for a resnet; 0 is none.", Tag.STAGE1, ge=0, le=65_536
        ),
    ] = 0

    epochs: Annotated[int, setting("Adaptation epochs: after the warm-up, or of stage 2.", ge=1)] = 500
    warmup_epochs: Annotated[int, setting("T_s of Algorithm 1: epochs before the adversarial part starts.", ge=0)] = 50
    batch_size: Annotated[int, setting("Images of each domain in a batch.", ge=2)] = 128
    epoch_iterations: Annotated[
        int, setting("Iterations of an epoch; 0 is a pass over the larger domain.", Tag.STAGE1, ge=0)
    ] = 0
    evaluate_every: Annotated[int, setting("Epochs between two evaluations.", Tag.EVALUATION, ge=1)] = 1

    complementary_loss: Annotated[
        Literal["ascent", "free", "non-negative", "forward", "scl-exp", "pairwise", "cross-entropy"],
        setting("Loss for complementary labels; ascent is the paper's.", Tag.STAGE1),
    ] = "ascent"
    ascent_by_counts: Annotated[
        bool, setting("Scale each class loss of an ascent step by its samples in the batch.", Tag.STAGE1)
    ] = True
    class_priors: Annotated[
        Literal["subset", "loss-index"],
        setting("Eq. 5's priors of the subset, or the released program's of the loss index.", Tag.STAGE1),
    ] = "subset"
    scatter: Annotated[float, setting("l of Eq. 7; 1 leaves predictions unchanged.", gt=0, le=1)] = 0.5
    domain_terms: Annotated[
        Literal["mean", "sum"], setting("L_adv as the mean of its two domain terms, or as their sum (Eq. 9).")
    ] = "mean"
    detach_predictions: Annotated[bool, setting("No gradient through T(f) in the discriminator's input.")] = True
    detach_weight_sums: Annotated[bool, setting("No gradient through the sums that normalise the entropy weights.")] = (
        True
    )
    entropy_epsilon: Annotated[float, setting("Added to p inside the entropy's logarithm; 0 is Eq. 8.", ge=0, lt=1)] = (
        1e-5
    )
    shared_forward: Annotated[
        bool, setting("Both gradients at the same weights, from one forward pass an iteration.")
    ] = True
    adversarial_step: Annotated[
        Literal["classifier", "own"],
        setting("G and F's adversarial step: the classifier's again, or at D's rate with λ on its gradient alone."),
    ] = "classifier"
    batch_norm: Annotated[
        Literal["shared", "separate"],
        setting("Batch-norm of networks that have it: over both domains in one pass, or in a pass for each."),
    ] = "shared"
    warmup_target: Annotated[bool, setting("Forward the target batch in warm-up too (matters for batch-norm).")] = True
    lambda_horizon: Annotated[
        int, setting("Iterations in λ = 2/(1+exp(-10·i/horizon)) - 1; 0 is the whole adaptation.", ge=0)
    ] = 10_000
    entropy_lambda_delay: Annotated[
        int, setting("Epochs by which the entropy's λ starts later than the other one.", ge=0)
    ] = 0
    scale_each_image: Annotated[
        bool, setting("Shift and scale each image to mean 0 and deviation 1 before G.", Tag.STAGE1)
    ] = False
    dropout: Annotated[bool, setting("Drop features of G in training, as the paper's networks do.", Tag.STAGE1)] = True
    jitter: Annotated[
        float,
        setting("Strength of random affine transformations of the training images; 0 is none.", Tag.STAGE1, ge=0, le=3),
    ] = 0.0
    warmup_jitter: Annotated[
        bool, setting("Also transform images in warm-up and stage 1, which learn slower with it.", Tag.STAGE1)
    ] = True
    recolour: Annotated[
        bool, setting("In adaptation, invert colour channels at random and change their contrast and brightness.")
    ] = False
    backbone_rate: Annotated[
        float, setting("Factor of the rates of G without its bottleneck, such as 0.1 with weights.", Tag.STAGE1, gt=0)
    ] = 1.0
    crop: Annotated[
        float,
        setting("Largest share of height and width that random crops leave out; 0 is none.", Tag.STAGE1, ge=0, lt=1),
    ] = 0.0
    centre_crop: Annotated[
        float,
        setting(
            "Share of height and width around the centre that evaluation leaves out; 0 is none.",
            Tag.STAGE1,
            ge=0,
            lt=1,
        ),
    ] = 0.0
    flip: Annotated[bool, setting("Mirror half of the training images.", Tag.STAGE1)] = False
    complementary_weight: Annotated[
        float, setting("Weight of the complementary loss in basset's adaptation.", Tag.BASSET, ge=0)
    ] = 1.0
    teacher_weight: Annotated[
        float, setting("Weight of the averaged teacher's pseudo-labels of the target; 0 is none.", Tag.BASSET, ge=0)
    ] = 0.0
    relabel_weight: Annotated[
        float,
        setting("Weight of the teacher's labels of the source, none of them ruled out; 0 is none.", Tag.BASSET, ge=0),
    ] = 0.0
    teacher_decay: Annotated[
        float, setting("Decay of the teacher's running mean of the weights.", Tag.BASSET, ge=0, lt=1)
    ] = 0.99
    teacher_threshold: Annotated[
        float, setting("Probability above which the teacher's label is used.", Tag.BASSET, ge=0, lt=1)
    ] = 0.8
    balance_classes: Annotated[
        bool, setting("Scale the teacher's target predictions to equally frequent classes.", Tag.BASSET)
    ] = True
    information_weight: Annotated[
        float, setting("Weight of the information of the target's predictions; 0 is none.", Tag.BASSET, ge=0)
    ] = 0.0
    confusion_weight: Annotated[
        float, setting("Weight of the class confusion (MCC) of the target; 0 is none.", Tag.BASSET, ge=0)
    ] = 0.0
    discriminator: Annotated[bool, setting("Add CDAN_E's discriminator to basset.", Tag.BASSET)] = False
    mmd: Annotated[Literal["linear", "quadratic"], setting("DAN's estimate of MMD: linear-time or quadratic.")] = (
        "linear"
    )

    optimizer: Annotated[Optimizer, setting("Optimizer of G and F, and of D unless it has its own.")] = "sgd"
    discriminator_optimizer: Annotated[OptimizerOrSame, setting("Optimizer of D; same is that of G and F.")] = "same"
    classifier_rate: Annotated[float, setting("Learning rate of G and F.", gt=0)] = 5e-5
    discriminator_rate: Annotated[float, setting("Learning rate of D.", gt=0)] = 0.005
    momentum: Annotated[float, setting("Momentum, with sgd.", ge=0, lt=1)] = 0.9
    weight_decay: Annotated[float, setting("Weight decay of every optimizer.", ge=0)] = 5e-4
    warmup_optimizer: Annotated[
        OptimizerOrSame, setting("Optimizer of G and F in warm-up; same is that of adaptation.")
    ] = "same"
    warmup_rate: Annotated[float, setting("Learning rate in warm-up; 0 is classifier_rate.", ge=0)] = 0.0
    rate_decay: Annotated[
        Literal["none", "linear", "cosine"],
        setting("Rates: constant, falling linearly in each phase, or as a cosine in adaptation alone.", Tag.STAGE1),
    ] = "none"

    stage1: Annotated[Stage1, setting("Stage 1 of the two-step methods, and gac.", Tag.STAGE1)] = Stage1()

    own: Annotated[dict[str, Any] | UnsetType, setting("Settings that the method of a plug-in declares.")] = UNSET
    """Numbers, texts and booleans by name; unset for other methods. `find_method(config.method).settings` types them,
    but a run can be read where its plug-in is not installed."""

    device: Annotated[str, setting("auto, cpu, cuda:0 or a GPU's UUID.", Tag.NO_EFFECT)] = "auto"
    threads: Annotated[
        int, setting("CPU threads; 0 is the number of cores, at most 8.", Tag.ROUNDING, Tag.STAGE1, ge=0, le=1024)
    ] = 0
    precision: Annotated[
        Literal["32", "tf32", "bf16", "fp16"],
        setting("IEEE float32, TF32 on GPUs that have it, or autocast: bf16, or fp16 on older GPUs.", Tag.STAGE1),
    ] = "32"
    compile: Annotated[bool, setting("Compile the networks with torch.compile.", Tag.ROUNDING, Tag.STAGE1)] = False
    cuda_graph: Annotated[
        Literal["auto", "on", "off"],
        setting(
            "CUDA graphs of iterations: where they give the same numbers, always (or fail), or never.", Tag.NO_EFFECT
        ),
    ] = "off"
    channels_last: Annotated[
        bool, setting("Keep images channels-last, which is usually faster.", Tag.ROUNDING, Tag.STAGE1)
    ] = True
    memory_limit_gb: Annotated[
        float, setting("Domains larger than this are streamed instead of kept on the device.", Tag.NO_EFFECT, ge=0)
    ] = 4.0
    workers: Annotated[int, setting("Worker processes that read a streamed domain.", Tag.NO_EFFECT, ge=0, le=64)] = 2
    checkpoint_minutes: Annotated[float, setting("Minutes between two checkpoints.", Tag.NO_EFFECT, ge=0)] = 5.0
    checkpoints: Annotated[
        Literal["last", "all", "none"],
        setting(
            "Last keeps the newest checkpoint, all also the weights of each evaluated epoch, none only final weights.",
            Tag.NO_EFFECT,
        ),
    ] = "last"
    on_nan: Annotated[
        Literal["fail", "continue"], setting("Action when a metric is not finite.", Tag.NO_EFFECT, Tag.STAGE1)
    ] = "fail"


@cache
def settings_tagged(*tags: Tag) -> frozenset[str]:
    """Return the names of the settings that have any of the tags; the tables `stage1` and `own` are one name each."""
    metas = {field.name: field.type.__metadata__[0] for field in msgspec.structs.fields(RunConfig)}
    return frozenset(name for name, meta in metas.items() if set(tags) & set(meta.extra["tags"]))


def checkpoint_settings(config: RunConfig) -> dict[str, Any]:
    """Return the settings that decide the numbers of a run; a checkpoint must have the same."""
    without_effect = settings_tagged(Tag.NO_EFFECT)
    return {name: value for name, value in msgspec.to_builtins(config).items() if name not in without_effect}


@dataclass(frozen=True)
class SettingSpec:
    """One setting as a form or a help page shows it."""

    name: str
    type: msgspec.inspect.Type
    """Its type with bounds, without description and tags."""
    default: Any
    description: str


@cache
def setting_specs() -> tuple[SettingSpec, ...]:
    """Return every setting but those of plug-ins, and those of stage 1 as `stage1.epochs`."""
    return tuple(_specs(RunConfig, ""))


@cache
def own_specs(declared: type[Struct] | None) -> tuple[SettingSpec, ...]:
    """Return the settings that a method declares, as `own.NAME`."""
    return tuple(_specs(declared, OWN)) if declared else ()


def _specs(struct: type[Struct], prefix: str) -> Iterator[SettingSpec]:
    for field in msgspec.structs.fields(struct):
        if field.type is Stage1 or getattr(field.type, "__origin__", None) is Stage1:
            yield from _specs(Stage1, f"{field.name}.")
            continue
        if prefix + field.name == "own":
            continue
        (meta,) = field.type.__metadata__
        described = msgspec.inspect.type_info(field.type)
        assert isinstance(described, msgspec.inspect.Metadata)
        yield SettingSpec(prefix + field.name, described.type, field.default, meta.description)


OWN = "own."
"""Starts the names of the settings that methods of plug-ins declare."""
_OWN_NAME = re.compile(r"own\.[a-z][a-z0-9_]*")
_PLAIN = msgspec.inspect.BoolType | msgspec.inspect.IntType | msgspec.inspect.FloatType | msgspec.inspect.StrType


def is_own_name(name: str) -> bool:
    """Return whether this may be the name of a setting of some plug-in, such as `own.temperature`."""
    return _OWN_NAME.fullmatch(name) is not None


def declaration_problem(declared: Any) -> str | None:
    """Return why these are no settings that a method can declare; None if they are, or if there are none."""
    if declared is None:
        return None
    if not (isinstance(declared, type) and issubclass(declared, Struct)):
        return f"settings: expected a subclass of msgspec.Struct, got {format_value(declared)}"
    try:
        fields = msgspec.structs.fields(declared)
    except Exception as error:  # noqa: BLE001 - annotations that cannot be evaluated raise anything
        return f"settings: {declared.__name__} cannot be read ({describe_error(error)})"
    for field in fields:
        place = f"settings: {field.name}"
        metas: tuple[object, ...] = getattr(field.type, "__metadata__", ())
        if not is_own_name(OWN + field.name) or field.encode_name != field.name:
            return f"{place}: expected a name in lower case, with digits and underscores"
        if len(metas) != 1 or not isinstance(metas[0], Meta) or not metas[0].description:
            return f'{place}: expected Annotated[TYPE, setting("What it is.")]'
        described = msgspec.inspect.type_info(field.type)
        kind = described.type if isinstance(described, msgspec.inspect.Metadata) else described
        texts = isinstance(kind, msgspec.inspect.LiteralType) and all(isinstance(text, str) for text in kind.values)
        if not (texts or isinstance(kind, _PLAIN)):
            return f"{place}: expected bool, int, float, str or a Literal of texts"
        if not isinstance(field.default, bool | int | float | str):
            return f"{place}: expected a default"
    try:
        convert_own({}, declared, "settings")
    except InputError as error:  # a default out of bounds
        return str(error)
    return None


def convert_own(values: Mapping[str, Any], declared: type[Struct], source: str) -> Struct:
    """Convert a table `own` to what the method declares, with its defaults; errors are those of other settings."""
    specs = {spec.name: spec.type for spec in own_specs(declared)}
    for name in values:
        if OWN + name not in specs:
            raise InputError(f"{source}: {OWN}{name}: no such setting{_did_you_mean(OWN + name, specs)}")
    complete = {spec.name.removeprefix(OWN): spec.default for spec in own_specs(declared)} | dict(values)
    try:
        return msgspec.convert(complete, declared)
    except msgspec.ValidationError as error:
        message = str(error).replace("`$.", f"`$.{OWN}")
        raise InputError(f"{source}: {_explain(message, {'own': complete}, specs)}") from None


def setting_values(config: RunConfig) -> dict[str, Any]:
    """Return the value of every setting by name, those of the method's own last."""
    values = {spec.name: attrgetter(spec.name)(config) for spec in setting_specs()}
    return values | {OWN + name: value for name, value in (config.own or {}).items()}


def in_order(names: Iterable[str]) -> list[str]:
    """Return names of settings in the order of the settings, those that methods declare last."""
    order = {spec.name: number for number, spec in enumerate(setting_specs())}
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))


OTHER_NAMES = {
    **dict.fromkeys(("lr", "learning_rate", "rate"), "classifier_rate or discriminator_rate"),
    **dict.fromkeys(("lr_decay", "lr_scheduler", "scheduler"), "rate_decay"),
    **dict.fromkeys(("batch", "bs"), "batch_size"),
    **dict.fromkeys(("wd", "l2"), "weight_decay"),
    **dict.fromkeys(("opt", "optim"), "optimizer"),
    **dict.fromkeys(("max_epochs", "n_epochs", "num_epochs"), "epochs"),
    **dict.fromkeys(("steps_per_epoch", "iters_per_epoch"), "epoch_iterations"),
    **dict.fromkeys(("lambda", "lambd"), "lambda_horizon"),
    **dict.fromkeys(("arch", "backbone", "model"), "network"),
    **dict.fromkeys(("amp", "fp16", "half"), "precision"),
    **dict.fromkeys(("cuda", "gpu"), "device"),
    **dict.fromkeys(("criterion", "loss"), "complementary_loss"),
    "ema": "teacher_decay",
    "random_state": "seed",
}
"""Names of settings in other programs, with ours."""


def similar_names(name: str, names: Iterable[str] | None = None) -> str:
    """Return "classifier_rate or discriminator_rate" for a name that is not one of `names`; empty if none is near."""
    known = [spec.name for spec in setting_specs()] if names is None else list(names)
    if OWN + name in known:
        return OWN + name
    return OTHER_NAMES.get(name.lower()) or "".join(difflib.get_close_matches(name, known, n=1))


def _did_you_mean(name: str, names: Iterable[str]) -> str:
    near = similar_names(name, names)
    return f"; did you mean {near}?" if near else ""


UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$\.(.*)`)?", re.DOTALL)


def convert_settings(settings: Mapping[str, Any], source: str, own: Sequence[SettingSpec] = ()) -> RunConfig:
    """Convert a complete mapping; an InputError names a wrong key or value with its source.

    A table `own` may have any names: resolve and training compare it with `own`, what the method declares.
    """
    specs = {spec.name: spec.type for spec in (*setting_specs(), *own)}
    try:
        config = msgspec.convert(settings, RunConfig)
    except msgspec.ValidationError as error:
        raise InputError(f"{source}: {_explain(str(error), settings, specs)}") from None
    if not config.own:
        config = msgspec.structs.replace(config, own=UNSET)
    for name, value in setting_values(config).items():
        if name not in specs and not is_own_name(name):
            raise InputError(f"{source}: {name}: no such setting")
        wanted = describe_type(specs[name]) if name in specs else "a number, a text, true or false"
        limit = _storage_limit(value) if isinstance(value, bool | int | float | str) else ""
        if limit is not None:
            raise InputError(f"{source}: {name}: expected {wanted} {limit}".rstrip() + f", got {format_value(value)}")
    return config


def _storage_limit(value: Any) -> str | None:
    """Return the limit that a value exceeds if torch, JSON or SQLite cannot store it, such as infinity."""
    if isinstance(value, str):
        return None if value.encode(errors="replace").decode() == value else "in UTF-8"
    if isinstance(value, float):
        return None if math.isfinite(value) else "that is finite"
    return None if abs(value) < 2**63 else "of at most 63 bits"


def merge_settings(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` updated with `over`, table by table."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = merge_settings(old, value)
        merged[key] = value
    return merged


def flatten_settings(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the settings with those of tables as `stage1.epochs`."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= flatten_settings(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return flat


def nest_settings(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings such as `stage1.epochs` as tables in a table."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        table, (*path, key) = nested, name.split(".")
        for part in path:
            table = table.setdefault(part, {})
        table[key] = value
    return nested


def _explain(message: str, settings: Mapping[str, Any], specs: Mapping[str, msgspec.inspect.Type]) -> str:
    """Rephrase msgspec's message: `epochs: expected an integer ≥ 1, got "ten"`."""
    if unknown := UNKNOWN_FIELD.fullmatch(message):
        key, path = unknown[1], unknown[2]
        full = f"{path}.{key}" if path else key
        if full in specs:
            return f"{full}: write this as {key.split('.')[1]} in the table {key.split('.')[0]}"
        return f"{full}: no such setting{_did_you_mean(full, specs)}"
    path = message.split("`$")[-1].strip("`.") if "`$" in message else ""
    value: Any = settings
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    wanted = describe_type(specs[path]) if path in specs else "a table"
    return f"{path}: expected {wanted}, got {format_value(value)}"


def describe_type(info: msgspec.inspect.Type) -> str:
    """Describe a type and its bounds, such as "an integer ≥ 1"."""
    if isinstance(info, msgspec.inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in info.values)
    if isinstance(info, msgspec.inspect.BoolType):
        return "true or false"
    if isinstance(info, msgspec.inspect.IntType | msgspec.inspect.FloatType):
        noun = "an integer" if isinstance(info, msgspec.inspect.IntType) else "a number"
        bounds = [
            f"{sign} {bound:g}" if isinstance(bound, float) else f"{sign} {bound}"
            for sign, bound in ((">", info.gt), ("≥", info.ge), ("<", info.lt), ("≤", info.le))
            if bound is not None
        ]
        return " ".join([noun, " and ".join(bounds)]).strip()
    if isinstance(info, msgspec.inspect.StrType) and info.max_length:
        return f"a text of at most {info.max_length} characters"
    return "a text"


def format_value(value: Any) -> str:
    """Return a value as errors quote it, shortened to 80 characters."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:77] + "…"
