"""Whether a run has weights to use, without importing torch."""

from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError


def check_weights(run: RunDirectory) -> None:
    """Raise InputError if a run has neither final weights nor a checkpoint."""
    if not run.model.exists() and not run.has_checkpoint:
        raise InputError(f"run {run.id}: has no weights yet: it has neither finished nor saved a checkpoint")
