"""Finished runs made without training, and the reader of their records."""

from pathlib import Path
from typing import Any

from clarinet_tui.runs.directory import RunDirectory
from tests.support.trained_runs import make_trained_run, read_runs

__all__ = ["make_finished_run", "read_runs"]


def make_finished_run(
    runs_dir: Path,
    id: str,  # noqa: A002
    accuracy: float | None,
    *,
    started_fields: dict[str, Any] | None = None,
    **more: Any,
) -> RunDirectory:
    return make_trained_run(runs_dir, id, [accuracy], start=started_fields, **more)
