"""A task as people read it."""

from __future__ import annotations


def task_name(task: str | None) -> str:
    """M→U; of folders and files of one's own the last part, which is their name."""
    if not task:
        return "?"
    return "→".join(side.rstrip("/").rpartition("/")[2] or side for side in task.split("->"))
