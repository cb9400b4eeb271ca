"""The methods: their stages, the labels each stage learns from, and the settings that define them; without torch."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args

from msgspec import Struct

from core.config import RunConfig, SettingSpec, convert_own, declaration_problem, own_specs, setting_specs
from core.errors import InputError, describe_error
from core.presets import Table

ENTRY_POINTS = "clarinet.methods"
Labels = Literal["complementary", "pseudo", "true"]
Family = Literal["one-step", "two-step", "no-adaptation", "reference"]
FAMILIES: tuple[Family, ...] = get_args(Family)
STAGE1_VERSION = 2
"""Raised when the same data and settings give other stage 1 labels than before."""


@dataclass(frozen=True)
class StageSpec:
    """One stage: its name, the algorithm's class as "module:Class", and the labels that it learns from."""

    name: str
    algorithm: str
    labels: Labels
    adapts: bool = True
    """Whether it uses the target; if not, an epoch is one pass over the source."""
    stage1: bool = False
    """Whether epochs, batch size, rate and seed are those of the table `stage1`."""
    labels_exclude_ybar: bool = False
    """Whether its pseudo-labels are never complementary labels, as GAC's may be."""
    continues: bool = False
    """Whether G and F start from the weights of the stage before, instead of new ones."""


@dataclass(frozen=True)
class MethodSpec:
    """A method: one or two stages, and settings on top of a preset's table."""

    name: str
    title: str
    description: str
    stages: tuple[StageSpec, ...]
    preset_table: Table = "one-step"
    """Which of a preset's tables of settings the method starts from."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that define the method; another value is an error."""
    settings: type[Struct] | None = None
    """The settings of its own, fields such as `temperature: Annotated[float, setting("…", gt=0)] = 0.5`.

    A run has them in the table `own`, as `own.temperature`; its algorithm has them as `self.own`."""

    @property
    def family(self) -> Family:
        """The group of the method in comparisons; a reference learns from true source labels."""
        if any(stage.labels == "true" for stage in self.stages):
            return "reference"
        if not any(stage.adapts for stage in self.stages):
            return "no-adaptation"
        return "two-step" if any(stage.labels == "pseudo" for stage in self.stages) else "one-step"

    @property
    def makes_stage1_labels(self) -> bool:
        """Whether it trains one of Clarinet's own first stages, whose labels other runs can share."""
        return self.stages == (GAC,) or self.reuses_stage1_labels

    @property
    def reuses_stage1_labels(self) -> bool:
        """Whether it can continue from the labels of another run's first stage."""
        first, *others = self.stages
        has_pseudo_labels = any(stage.labels == "pseudo" for stage in others)
        return first in (GAC, FORWARD) and has_pseudo_labels and not any(stage.continues for stage in others)


CLARINET = StageSpec("clarinet", "core.methods.clarinet:Clarinet", "complementary")
GAC = StageSpec("gac", "core.methods.baselines:GAC", "complementary", adapts=False, stage1=True)
FORWARD = StageSpec(
    "forward", "core.methods.baselines:GAC", "complementary", adapts=False, stage1=True, labels_exclude_ybar=True
)
"""GAC's training with the forward loss."""


def _two_step(name: str, title: str, algorithm: str, **defaults: Any) -> MethodSpec:
    return MethodSpec(
        name=f"gac+{name}",
        title=f"GAC+{title}",
        description=f"GAC assigns pseudo-labels to the source, then {title} adapts.",
        stages=(GAC, StageSpec(name, algorithm, "pseudo")),
        preset_table="two-step",
        defaults=defaults,
    )


METHODS = {
    spec.name: spec
    for spec in (
        MethodSpec("clarinet", "CLARINET", "The paper's method: one step, Algorithm 1.", (CLARINET,)),
        MethodSpec(
            "clarinet-no-t", "C w/o T", "Ablation: CLARINET without the mapping T.", (CLARINET,), fixed={"scatter": 1.0}
        ),
        MethodSpec(
            "clarinet-ce",
            "C w/ L_CE",
            "Ablation: CLARINET with cross-entropy on the complementary labels.",
            (CLARINET,),
            fixed={"complementary_loss": "cross-entropy"},
        ),
        MethodSpec(
            "basset",
            "BASSET",
            "One step without an adversary: forward loss, jitter and an averaged teacher.",
            (StageSpec("basset", "core.methods.basset:Basset", "complementary"),),
            preset_table="basset",
        ),
        MethodSpec(
            "fwd+basset",
            "FWD+BASSET",
            "BASSET in two steps: the forward loss assigns pseudo-labels, then the teacher adapts.",
            (FORWARD, StageSpec("basset", "core.methods.basset:Basset", "pseudo")),
            preset_table="basset",
            defaults={"warmup_epochs": 0},
            fixed={"complementary_loss": "forward"},
        ),
        MethodSpec(
            "fwd+basset-kept",
            "FWD+BASSET kept",
            "FWD+BASSET whose second step continues with the network of the first.",
            (FORWARD, StageSpec("basset", "core.methods.basset:Basset", "pseudo", continues=True)),
            preset_table="basset",
            defaults={"warmup_epochs": 0},
            fixed={"complementary_loss": "forward"},
        ),
        MethodSpec("gac", "GAC", "No adaptation: gradient-ascent complementary learning on the source.", (GAC,)),
        _two_step("dan", "DAN", "core.methods.baselines:DAN", lambda_horizon=0),
        _two_step("dann", "DANN", "core.methods.baselines:DANN"),
        _two_step("cdan-e", "CDAN_E", "core.methods.baselines:CDANE"),
        MethodSpec(
            "source-only",
            "Source only",
            "Reference: true source labels, no adaptation.",
            (StageSpec("source-only", "core.methods.baselines:Supervised", "true", adapts=False),),
            preset_table="two-step",
        ),
        MethodSpec(
            "cdan-e",
            "CDAN_E",
            "Reference: CDAN_E with true source labels, an upper bound.",
            (StageSpec("cdan-e", "core.methods.baselines:CDANE", "true"),),
            preset_table="two-step",
        ),
    )
}


def methods() -> Mapping[str, MethodSpec]:
    """Return the built-in methods and those of working plug-ins, by name."""
    return _load_methods()[0]


def plugin_problems() -> tuple[str, ...]:
    """Return a sentence for each plug-in that is left out, with the cause."""
    return _load_methods()[1]


@cache
def _load_methods() -> tuple[Mapping[str, MethodSpec], tuple[str, ...]]:
    """Return the methods by name, and what is wrong with the plug-ins that are left out."""
    from importlib.metadata import entry_points  # imported here because it loads many modules

    known, problems = dict(METHODS), []
    origins = dict.fromkeys(METHODS, "a built-in method")
    for point in entry_points(group=ENTRY_POINTS):
        source = f"plug-in {point.name} ({point.value})"
        try:
            spec = point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plug-in may raise anything
            problems.append(f"{source}: cannot be imported ({describe_error(error)})")
            continue
        if problem := _spec_problem(spec):
            problems.append(f"{source}: {problem}")
        elif spec.name in known:
            problems.append(f"{source}: method {spec.name} already exists, from {origins[spec.name]}")
        else:
            known[spec.name], origins[spec.name] = spec, source
    return known, tuple(problems)


def _spec_problem(spec: Any) -> str | None:
    """Return why an object is no specification of a method."""
    if not isinstance(spec, MethodSpec):
        return f"expected a MethodSpec, got {type(spec).__name__}"
    if not isinstance(spec.name, str) or not spec.name:
        return f"expected a name, got {spec.name!a}"
    if not isinstance(spec.stages, tuple) or not all(isinstance(stage, StageSpec) for stage in spec.stages):
        return "stages: expected a tuple of StageSpecs"
    if len(spec.stages) not in (1, 2):
        return f"stages: expected one or two, got {len(spec.stages)}"
    if spec.preset_table not in get_args(Table):
        return f"preset_table: expected one of {', '.join(get_args(Table))}, got {spec.preset_table!a}"
    return declaration_problem(spec.settings)


def all_setting_specs() -> tuple[SettingSpec, ...]:
    """Return every setting, then those that installed methods declare, each name once."""
    own = {spec.name: spec for method in methods().values() for spec in own_specs(method.settings)}
    return (*setting_specs(), *own.values())


def find_method(name: str) -> MethodSpec:
    """Return a method by name; an unknown one is an InputError with the closest name."""
    spec = methods().get(name)
    if spec is None:
        near = difflib.get_close_matches(name, methods(), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; available: {', '.join(methods())}"
        broken = "".join(f"; {problem}" for problem in plugin_problems())
        raise InputError(f'method: no method "{name}"{hint}{broken}')
    return spec


def data_seed(config: RunConfig) -> int:
    """Return the seed of the label draw and subsets: that of stage 1 if there is one, so that runs can share it."""
    has_stage1 = any(stage.stage1 for stage in find_method(config.method).stages)
    return config.stage1.seed if has_stage1 else config.seed


def own_settings(config: RunConfig) -> Any:
    """Return the settings that the run's method declares, as its struct; None if it declares none."""
    spec = find_method(config.method)
    if config.own and spec.settings is None:
        raise InputError(f"settings: own: {spec.name} has no settings of its own")
    return spec.settings and convert_own(config.own or {}, spec.settings, "settings")
