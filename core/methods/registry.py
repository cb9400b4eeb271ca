"""Which methods exist: their stages, what labels each stage learns from, and the settings that define them."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from core.errors import InputError, describe_error
from core.presets import Family

ENTRY_POINTS = "clarinet.methods"
Labels = Literal["complementary", "pseudo", "true"]


@dataclass(frozen=True)
class StageSpec:
    """One stage: its name, the algorithm's class as "module:Class", and the labels that it learns from."""

    name: str
    algorithm: str
    labels: Labels
    adapts: bool = True
    """Whether it sees the target; if not, an epoch is one pass over the source."""
    stage1: bool = False
    """Whether epochs, batches, rates and seed are those of the table `stage1`."""


@dataclass(frozen=True)
class MethodSpec:
    """A method: one stage or two, on top of a preset's settings for its family."""

    name: str
    title: str
    sentence: str
    stages: tuple[StageSpec, ...]
    family: Family = "one-step"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that make the method what it is; asking for another value is an error."""

    @property
    def has_stage1(self) -> bool:
        return any(stage.stage1 for stage in self.stages)


CLARINET = StageSpec("clarinet", "core.methods.clarinet:Clarinet", "complementary")
GAC = StageSpec("gac", "core.methods.gac:GAC", "complementary", adapts=False, stage1=True)


def _two_step(name: str, title: str, algorithm: str, **defaults: Any) -> MethodSpec:
    return MethodSpec(
        name=f"gac+{name}",
        title=f"GAC+{title}",
        sentence=f"GAC assigns pseudo-labels to the source, then {title} adapts.",
        stages=(GAC, StageSpec(name, algorithm, "pseudo")),
        family="two-step",
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
            "Ablation: CLARINET that takes complementary labels for true ones.",
            (CLARINET,),
            fixed={"complementary_loss": "cross-entropy"},
        ),
        MethodSpec("gac", "GAC", "No adaptation: gradient-ascent complementary learning on the source.", (GAC,)),
        _two_step("dan", "DAN", "core.methods.dan:DAN", lambda_horizon=0),
        _two_step("dann", "DANN", "core.methods.dann:DANN"),
        _two_step("cdan-e", "CDAN_E", "core.methods.cdan:CDANE"),
        MethodSpec(
            "source-only",
            "Source only",
            "Reference: true source labels, no adaptation.",
            (StageSpec("source-only", "core.methods.source_only:SourceOnly", "true", adapts=False),),
            family="two-step",
        ),
        MethodSpec(
            "cdan-e",
            "CDAN_E",
            "Reference: CDAN_E with true source labels, an upper bound.",
            (StageSpec("cdan-e", "core.methods.cdan:CDANE", "true"),),
            family="two-step",
        ),
    )
}


@cache
def methods() -> Mapping[str, MethodSpec]:
    """Our methods and those of installed plug-ins, by name."""
    from importlib.metadata import entry_points  # it brings half of the standard library with it

    found = dict(METHODS)
    for point in entry_points(group=ENTRY_POINTS):
        try:
            spec = point.load()
        except Exception as error:  # a plug-in may raise anything
            raise InputError(
                f"plug-in {point.name} ({point.value}): cannot be imported ({describe_error(error)})"
            ) from error
        if not isinstance(spec, MethodSpec):
            raise InputError(f"plug-in {point.name} ({point.value}): expected a MethodSpec, got {type(spec).__name__}")
        if spec.name in found:
            raise InputError(f"plug-in {point.name} ({point.value}): there is a method {spec.name} already")
        found[spec.name] = spec
    return found


def find_method(name: str) -> MethodSpec:
    spec = methods().get(name)
    if spec is None:
        near = difflib.get_close_matches(name, methods(), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(methods())}"
        raise InputError(f'method: no method "{name}"{hint}')
    return spec
