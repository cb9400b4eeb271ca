"""The settings that the launch form shows first: common ones that the chosen methods use."""

from collections.abc import Collection, Sequence

from core.config import OWN, SettingSpec, Tag, settings_tagged
from core.methods import GAC, MethodSpec

USUAL = (
    *("epochs", "warmup_epochs", "batch_size", "classifier_rate", "discriminator_rate", "stage1.epochs", "stage1.rate"),
    *("teacher_weight", "teacher_threshold", "jitter", "optimizer", "network", "complementary_loss", "scatter"),
    *("lambda_horizon", "weight_decay", "rate_decay", "stage1.batch_size", "stage1.weight_decay", "source_size"),
    *("target_size", "dropout", "evaluate_every"),
)
"""Common settings, those that are changed most often first."""
MAX_USUAL = 10
ALGORITHMS = {
    "discriminator_rate": {"Clarinet", "DANN", "CDANE"},
    "lambda_horizon": {"Clarinet", "DAN", "DANN", "CDANE"},
    "scatter": {"Clarinet"},
}
"""The built-in algorithms that use a setting, where not all do."""


def usual_settings(
    settings: Sequence[SettingSpec], chosen: Sequence[MethodSpec], also: Collection[str] = ()
) -> list[SettingSpec]:
    """Return the settings to show first: those that the methods declare, the usual ones, and then also some others."""
    by_name = {setting.name: setting for setting in settings}
    own = [name for name in by_name if name.startswith(OWN)]
    used = [name for name in USUAL if name in by_name and any(uses_setting(method, name) for method in chosen)]
    first = [*own, *used[: max(0, MAX_USUAL - len(own))]]
    return [by_name[name] for name in dict.fromkeys([*first, *(name for name in by_name if name in also)])]


def uses_setting(method: MethodSpec, name: str) -> bool:
    """Whether a method uses a usual setting; a plug-in's own algorithm may use any."""
    if name in method.fixed:
        return False
    if name.startswith("stage1."):
        return any(stage.stage1 for stage in method.stages)
    if name in settings_tagged(Tag.BASSET):
        return method.preset_table == "basset"
    if method.stages == (GAC,):  # it has a table of settings of its own, and does not adapt
        return name in settings_tagged(Tag.EVALUATION, Tag.SOURCE, Tag.STAGE1)
    if name == "warmup_epochs":
        return any(stage.adapts for stage in method.stages)
    if name == "complementary_loss":
        return any(stage.labels == "complementary" for stage in method.stages)
    places = [stage.algorithm.partition(":") for stage in method.stages]
    is_built_in = all(module.startswith("core.methods.") for module, _, _ in places)
    return not is_built_in or name not in ALGORITHMS or any(cls in ALGORITHMS[name] for _, _, cls in places)


def usual_rank(name: str) -> int:
    """The place of a setting among the usual ones; all others are behind them."""
    return USUAL.index(name) if name in USUAL else len(USUAL)
