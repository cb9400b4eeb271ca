"""CLARINET, its baselines and its ablations, as generators of events.

from core import resolve, train
for event in train(resolve(method="clarinet", task="Y->D", preset="smoke")):
    print(event)

from core import load_model
print(load_model("runs/6e3k2q0ab").predict_file("seven.png").label)
"""

import importlib
from typing import TYPE_CHECKING, Any

from core.config import RunConfig
from core.resolve import resolve

if TYPE_CHECKING:
    from core.models.model import Model, load_model
    from core.training.train import train

__all__ = ["Model", "RunConfig", "load_model", "resolve", "train"]
LAZY = {"train": "core.training.train", "load_model": "core.models.model", "Model": "core.models.model"}


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is used."""
    if name in LAZY:
        value = getattr(importlib.import_module(LAZY[name]), name)
        globals()[name] = value  # replaces a submodule of the same name, which the import has set
        return value
    raise AttributeError(f"module 'core' has no attribute {name!r}")
