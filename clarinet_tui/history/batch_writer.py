"""Writing a batch into the tables, inside one transaction."""

import sqlite3
from typing import Any

import msgspec

from clarinet_tui.history import rollups
from clarinet_tui.history.journal_batches import NUMBER, Batch, EventRow
from clarinet_tui.history.run_summary import update_run_row
from clarinet_tui.history.schema import EVALUATION_COLUMNS

_INSERT_EVALUATION = f"INSERT OR REPLACE INTO evaluations VALUES ({', '.join('?' * (9 + len(EVALUATION_COLUMNS)))})"


def write_batch(connection: sqlite3.Connection, run: str, batch: Batch, facts: dict[str, Any]) -> None:
    """`facts` are what the run's directory tells beside its journal."""
    metrics: set[str] = set()
    if batch.superseded_after is not None:
        metrics |= _supersede(connection, run, batch.superseded_after)
    for position in batch.attempt_starts:
        connection.execute(
            "DELETE FROM events WHERE run = ? AND event = 'damaged' AND json_extract(fields, '$.end') = ?",
            (run, position),
        )
    for shape, rows in batch.iterations:
        connection.executemany(shape.insert, rows)
    connection.executemany(_INSERT_EVALUATION, batch.evaluations)
    connection.executemany(
        "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_event_row(run, said) for said in batch.events],
    )
    _roll_up(connection, run, batch, metrics)
    update_run_row(connection, run, batch, facts)


def _supersede(connection: sqlite3.Connection, run: str, beyond: int) -> set[str]:
    """A resumed run says again what comes after: what was there goes."""
    connection.execute("DELETE FROM iterations WHERE run = ? AND iteration > ?", (run, beyond))
    connection.execute("DELETE FROM evaluations WHERE run = ? AND iteration > ?", (run, beyond))
    connection.execute(
        "UPDATE events SET superseded = 1 WHERE run = ? AND (iteration > ? OR ? < 0)", (run, beyond, beyond)
    )
    return rollups.cut(connection, run, beyond)


def _event_row(run: str, said: EventRow) -> tuple[Any, ...]:
    return (
        run,
        said.position,
        said.get("time", NUMBER),
        said.event,
        said.iteration,
        said.get("seconds", NUMBER),
        said.get("message", str),
        int(said.superseded),
        msgspec.json.encode(said.fields).decode(),
    )


def _roll_up(connection: sqlite3.Connection, run: str, batch: Batch, metrics: set[str]) -> None:
    touched = [row[1] for _, rows in batch.iterations for row in rows]
    if batch.superseded_after is not None:
        touched.append(batch.superseded_after + 1)
    for shape in batch.layouts.values():
        metrics.update(shape.metrics)
    if touched:
        rollups.rebuild(connection, run, min(touched), max(touched), metrics)
