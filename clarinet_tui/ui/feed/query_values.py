"""The words of a history: which methods, tasks, tags and hosts its runs have. Read by the feed's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database

COLUMNS = ("method", "task", "preset", "device", "host", "stage", "name")
MOST = 200
"""Values of one field that are offered."""


def words_of(db: Database) -> dict[str, tuple[str, ...]]:
    """By field: what can be, then what the runs have."""
    words = dict(_possible())
    for column in COLUMNS:
        rows = db.tuples(f"SELECT DISTINCT {column} FROM runs WHERE {column} <> '' ORDER BY 1 LIMIT {MOST}")
        words[column] = tuple(dict.fromkeys([*words.get(column, ()), *(row[0] for row in rows)]))
    words["tag"] = tuple(row[0] for row in db.tuples(f"SELECT DISTINCT tag FROM tags ORDER BY 1 LIMIT {MOST}"))
    return words


def _possible() -> dict[str, tuple[str, ...]]:
    from core.methods import methods
    from core.presets import PRESETS
    from core.tasks import OFFLINE_TASK, PAPER_TASKS

    try:
        names = tuple(methods())
    except InputError:  # a plug-in that cannot be used says so where runs are started
        names = ()
    return {"method": names, "task": (*PAPER_TASKS, OFFLINE_TASK), "preset": tuple(PRESETS)}
