"""Write a batch of journal lines into the tables, inside a transaction."""

import sqlite3
from typing import Any

import msgspec

from clarinet_tui.history import rollups
from clarinet_tui.history.journal_batches import NUMBER, Batch, EventRow
from clarinet_tui.history.run_summary import update_run_row
from clarinet_tui.history.schema import EVALUATION_COLUMNS

_INSERT_EVALUATION = f"INSERT OR REPLACE INTO evaluations VALUES ({', '.join('?' * (9 + len(EVALUATION_COLUMNS)))})"


def write_batch(connection: sqlite3.Connection, run: str, batch: Batch, run_columns: dict[str, Any]) -> None:
    """Write the batch, and the columns of `runs` that come from other files of the run's directory."""
    metrics: set[str] = set()
    if batch.superseded_after is not None:
        metrics |= _supersede(connection, run, batch.superseded_after)
    for position in batch.attempt_starts:
        connection.execute(
            "DELETE FROM events WHERE run = ? AND event = 'damaged' AND json_extract(fields, '$.end') = ?",
            (run, position),
        )
    for layout, rows in batch.iterations:
        connection.executemany(layout.insert, rows)
    connection.executemany(_INSERT_EVALUATION, batch.evaluations)
    connection.executemany(
        "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_event_values(run, event) for event in batch.events],
    )
    _update_rollups(connection, run, batch, metrics)
    update_run_row(connection, run, batch, run_columns)


def _supersede(connection: sqlite3.Connection, run: str, iteration: int) -> set[str]:
    """Delete what a resumed run records again, after this iteration; return the metrics to roll up again."""
    connection.execute("DELETE FROM iterations WHERE run = ? AND iteration > ?", (run, iteration))
    connection.execute("DELETE FROM evaluations WHERE run = ? AND iteration > ?", (run, iteration))
    connection.execute(
        "UPDATE events SET superseded = 1 WHERE run = ? AND (iteration > ? OR ? < 0)", (run, iteration, iteration)
    )
    return rollups.delete_after(connection, run, iteration)


def _event_values(run: str, event: EventRow) -> tuple[Any, ...]:
    return (
        run,
        event.position,
        event.get("time", NUMBER),
        event.name,
        event.iteration,
        event.get("seconds", NUMBER),
        event.get("message", str),
        int(event.superseded),
        msgspec.json.encode(event.fields).decode(),
    )


def _update_rollups(connection: sqlite3.Connection, run: str, batch: Batch, metrics: set[str]) -> None:
    changed = [row[1] for _, rows in batch.iterations for row in rows]
    if batch.superseded_after is not None:
        changed.append(batch.superseded_after + 1)
    for layout in batch.layouts.values():
        metrics.update(layout.metrics)
    if changed:
        rollups.rebuild(connection, run, min(changed), max(changed), metrics)
