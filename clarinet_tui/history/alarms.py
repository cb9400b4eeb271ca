"""Which of a run's alarms are open: those that its last sitting has raised and not called over."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from clarinet_tui.history.database import Database
from clarinet_tui.runs.journal_reader import BEGINNINGS

EVENTS = """SELECT fields FROM events WHERE run = ? AND event IN ('alarm', 'started', 'resumed') AND NOT superseded
    ORDER BY position"""
LONGEST_KIND = 64
"""Characters: a journal may come from anywhere."""


@dataclass(frozen=True)
class Alarm:
    """What is wrong with a run, since which iteration, and what to try."""

    kind: str
    message: str
    advice: str
    iteration: int | None
    time: float | None


def alarms(db: Database, run_id: str) -> list[Alarm]:
    """Those that are open, in the order in which they began."""
    return open_alarms(msgspec.json.decode(row["fields"]) for row in db.rows(EVENTS, (run_id,)))


def open_alarms(said: Iterable[Mapping[str, Any]]) -> list[Alarm]:
    """Of a run that said this, in order. A new sitting begins without any, and raises again what it sees."""
    found: dict[str, Alarm] = {}
    for fields in said:
        kind = fields.get("kind")
        if fields["event"] in BEGINNINGS:
            found.clear()
        elif fields["event"] == "alarm" and isinstance(kind, str):
            found.pop(kind, None)
            if fields.get("over") is not True:
                found[kind] = _alarm(kind, fields)
    return list(found.values())


def _alarm(kind: str, fields: Mapping[str, Any]) -> Alarm:
    iteration, time = fields.get("iteration"), fields.get("time")
    return Alarm(
        kind=kind[:LONGEST_KIND],
        message=str(fields.get("message", "")),
        advice=str(fields.get("advice", "")),
        iteration=iteration if isinstance(iteration, int) else None,
        time=time if isinstance(time, float | int) else None,
    )
