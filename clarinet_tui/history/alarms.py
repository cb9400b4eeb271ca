"""A run's open alarms: those that its last attempt has raised and not cleared."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from clarinet_tui.history.database import Database
from clarinet_tui.runs.journal import ATTEMPT_STARTS

SELECT_EVENTS = """SELECT fields FROM events
    WHERE run = ? AND event IN ('alarm', 'started', 'resumed') AND NOT superseded ORDER BY position"""
MAX_KIND_LENGTH = 64
"""A limit for imported journals."""


@dataclass(frozen=True)
class Alarm:
    """A problem with a run's metrics, the iteration at which it began, and what to try."""

    kind: str
    message: str
    advice: str
    iteration: int | None
    time: float | None


def read_open_alarms(db: Database, run_id: str) -> list[Alarm]:
    """Return the open alarms in the order in which they were raised."""
    return find_open_alarms(msgspec.json.decode(row["fields"]) for row in db.rows(SELECT_EVENTS, (run_id,)))


def find_open_alarms(events: Iterable[Mapping[str, Any]]) -> list[Alarm]:
    """Return the alarms that are open after these events. A new attempt starts without any."""
    alarms: dict[str, Alarm] = {}
    for fields in events:
        kind = fields.get("kind")
        if fields["event"] in ATTEMPT_STARTS:
            alarms.clear()
        elif fields["event"] == "alarm" and isinstance(kind, str):
            alarms.pop(kind, None)
            if fields.get("over") is not True:
                alarms[kind] = _make_alarm(kind, fields)
    return list(alarms.values())


def _make_alarm(kind: str, fields: Mapping[str, Any]) -> Alarm:
    iteration, time = fields.get("iteration"), fields.get("time")
    return Alarm(
        kind=kind[:MAX_KIND_LENGTH],
        message=str(fields.get("message", "")),
        advice=str(fields.get("advice", "")),
        iteration=iteration if isinstance(iteration, int) else None,
        time=time if isinstance(time, float | int) else None,
    )
