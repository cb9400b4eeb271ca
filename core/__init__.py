"""CLARINET, its baselines and its ablations, as generators of events.

from core import resolve, train
for event in train(resolve(method="clarinet", task="Y->D", preset="smoke")):
    print(event)
"""

from typing import TYPE_CHECKING, Any

from core.config import RunConfig
from core.resolve import resolve

if TYPE_CHECKING:
    from core.training.train import train

__all__ = ["RunConfig", "resolve", "train"]


def __getattr__(name: str) -> Any:
    """Import `train`, and torch with it, only when it is used."""
    if name == "train":
        from core.training.train import train

        globals()["train"] = train  # replaces the submodule of the same name, which the import has set
        return train
    raise AttributeError(f"module 'core' has no attribute {name!r}")
