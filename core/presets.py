"""The presets: default settings by method table and task. docs/protocols.md explains each value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from core.tasks import Task

Preset = Literal["paper", "literal", "quick", "smoke", "photographs"]
Table = Literal["one-step", "two-step", "basset"]
"""Which settings of a preset: for complementary labels, for adaptation with labels, or for basset and its control."""


@dataclass(frozen=True)
class PresetSettings:
    """Settings for every method, of one table, and of some tasks."""

    description: str
    common: Mapping[str, Any] = field(default_factory=dict)
    one_step: Mapping[str, Any] = field(default_factory=dict)
    two_step: Mapping[str, Any] = field(default_factory=dict)
    basset: Mapping[str, Any] = field(default_factory=dict)
    by_task: Mapping[str, "PresetSettings"] = field(default_factory=dict)
    """Further settings by a key of the task: the letter of the source, "colour" or "custom"."""

    def settings_for(self, table: Table, task: Task) -> dict[str, Any]:
        """Return the settings of a method: a table's count more than common ones, a task's more than the preset's."""
        layers = [self, *(self.by_task[key] for key in task.preset_keys if key in self.by_task)]
        tables = [{"one-step": p.one_step, "two-step": p.two_step, "basset": p.basset}[table] for p in layers]
        settings: dict[str, Any] = {}
        for values in (*(layer.common for layer in layers), *tables):
            settings |= values
        return settings


# GAC+DAN, GAC+DANN and GAC+CDAN_E: one SGD at 0.005 for all networks, no warm-up.
TWO_STEP = {"warmup_epochs": 0, "classifier_rate": 0.005, "discriminator_rate": 0.005, "scatter": 1.0}

BASSET_STAGE1 = {"optimizer": "adamw", "rate": 1e-3, "batch_size": 64, "weight_decay": 5e-4}
# BASSET's parts, and the training that all its presets share.
BASSET = {
    "batch_size": 64,
    "epoch_iterations": 300,
    "complementary_loss": "forward",
    "scale_each_image": True,
    "dropout": False,
    "jitter": 1.0,
    "teacher_weight": 1.0,
    "teacher_threshold": 0.95,
    "relabel_weight": 1.0,
    "information_weight": 0.2,
    "warmup_optimizer": "adamw",
    "warmup_rate": 1e-3,
    "classifier_rate": 0.01,
    "rate_decay": "cosine",
    "lambda_horizon": 0,
    "stage1": BASSET_STAGE1,
}

PHOTOGRAPHS_STAGE1 = {"epochs": 30, "optimizer": "adamw", "rate": 1e-3, "batch_size": 32, "weight_decay": 5e-4}

BASSET_COLOUR = {"network": "lenet", "recolour": True, "warmup_jitter": False}
DIGITS_IN_COLOUR = {"colour": PresetSettings("A digit's shape is the same in any colours.", basset=BASSET_COLOUR)}

QUICK_STAGE1 = {"epochs": 8, "optimizer": "adamw", "rate": 1e-3}

PRESETS: dict[str, PresetSettings] = {
    "paper": PresetSettings(
        "Most probably what produced the published numbers.",
        two_step=TWO_STEP,
        basset=BASSET,
        by_task=DIGITS_IN_COLOUR,
    ),
    "literal": PresetSettings(
        "Algorithm 1 and its numbers as printed, with two slips corrected.",
        {"weight_decay": 5e-5, "ascent_by_counts": False},
        {
            "domain_terms": "sum",
            "detach_predictions": False,
            "detach_weight_sums": False,
            "entropy_epsilon": 0.0,
            "shared_forward": False,
            "adversarial_step": "own",
            "warmup_target": False,
        },
        TWO_STEP,
        BASSET,
        by_task=DIGITS_IN_COLOUR,
    ),
    "quick": PresetSettings(
        "The same algorithm, sized for minutes on a CPU.",
        {"epochs": 5, "lambda_horizon": 3333, "rate_decay": "linear", "stage1": QUICK_STAGE1},
        {
            "warmup_epochs": 6,
            "warmup_rate": 4e-4,
            "optimizer": "adamw",
            "classifier_rate": 2e-4,
            "discriminator_optimizer": "sgd",
            "discriminator_rate": 2e-2,
        },
        {**TWO_STEP, "classifier_rate": 1e-2, "discriminator_rate": 1e-2},
        {
            **BASSET,
            "epochs": 5,
            "warmup_epochs": 2,
            "lambda_horizon": 500,
            "stage1": {**BASSET_STAGE1, "epochs": 2},
        },
        by_task={
            "U": PresetSettings(
                "USPS is an eighth of MNIST.",
                {"stage1": {**QUICK_STAGE1, "epochs": 50}},
            ),
            "colour": PresetSettings(
                "The colour network is several times slower.",
                {
                    "source_size": 10_000,
                    "target_size": 10_000,
                    "test_size": 2_000,
                    "epochs": 3,
                    "lambda_horizon": 1000,
                    "stage1": {**QUICK_STAGE1, "epochs": 12, "rate": 4e-4},
                },
                {"warmup_epochs": 5},
                basset={**BASSET_COLOUR, "warmup_epochs": 4, "stage1": {**BASSET_STAGE1, "epochs": 4}},
            ),
            "custom": PresetSettings(
                "Custom data may have any size: λ rises over the whole adaptation.",
                {"lambda_horizon": 0},
                basset={"lambda_horizon": 0},
            ),
        },
    ),
    "smoke": PresetSettings(
        "Seconds: shows that everything works; only BASSET learns something.",
        {
            "source_size": 512,
            "target_size": 512,
            "test_size": 256,
            "batch_size": 32,
            "epochs": 3,
            "lambda_horizon": 50,
            "stage1": {"epochs": 3, "rate": 1e-3, "batch_size": 32},
        },
        {
            "warmup_epochs": 2,
            "warmup_optimizer": "adam",
            "warmup_rate": 1e-3,
            "classifier_rate": 1e-3,
            "discriminator_rate": 1e-2,
        },
        {**TWO_STEP, "classifier_rate": 3e-3, "discriminator_rate": 3e-3},
        {
            **BASSET,
            "source_size": 4096,
            "target_size": 4096,
            "test_size": 512,
            "epoch_iterations": 100,
            "epochs": 2,
            "warmup_epochs": 3,
            "lambda_horizon": 60,
            "stage1": {**BASSET_STAGE1, "epochs": 3},
        },
        by_task={
            **DIGITS_IN_COLOUR,
            "Y": PresetSettings("Typeset digits are harder to learn.", basset={"ybars_per_sample": 4}),
        },
    ),
    "photographs": PresetSettings(
        "Photographs of 224×224, for a resnet with ImageNet's weights.",
        {
            "image_size": 224,
            "fit": "cut",
            "imagenet_scaling": True,
            "bottleneck": 256,
            "backbone_rate": 0.1,
            "crop": 0.3,
            "flip": True,
            "centre_crop": 0.125,
            "batch_norm": "separate",
            "batch_size": 32,
            "epochs": 40,
            "lambda_horizon": 0,
            "rate_decay": "linear",
            "stage1": PHOTOGRAPHS_STAGE1,
        },
        {
            "warmup_epochs": 20,
            "warmup_optimizer": "adamw",
            "warmup_rate": 1e-3,
            "classifier_rate": 1e-3,
            "discriminator_rate": 0.01,
        },
        {**TWO_STEP, "classifier_rate": 0.01, "discriminator_rate": 0.01},
        {
            **BASSET,
            "batch_size": 32,
            "epoch_iterations": 0,
            "warmup_epochs": 20,
            "scale_each_image": False,
            "jitter": 0.0,
            "stage1": PHOTOGRAPHS_STAGE1,
        },
        DIGITS_IN_COLOUR,
    ),
}
