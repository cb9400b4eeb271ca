"""Samples of a task's data for the launch form. Immutable, for use by several threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.runs.inspection_file import Picture


@dataclass(frozen=True)
class TaskSamples:
    """Pictures of both domains, or why there are none."""

    task: str
    pictures: tuple[Picture, ...] = ()
    error: str = ""
    is_reading: bool = False
