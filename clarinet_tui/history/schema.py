"""The tables of the history, each column with its meaning, and the version of the schema."""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from core.metrics import METRICS

SCHEMA = "0008"
"""The version, which rises with every change below: an older database is rebuilt, a newer one is refused."""
SCHEMA_SET = "clarinet"

ITERATION_COLUMNS = (
    "complementary_loss",
    "least_class_loss",
    "ascended",
    "classification_loss",
    "adversarial_loss",
    "mmd",
    "lambda",
    "discriminator_accuracy",
    "entropy",
    "classifier_rate",
    "discriminator_rate",
    "samples_per_second",
)
EVALUATION_COLUMNS = tuple(name for name, metric in METRICS.items() if metric.level == "evaluation")
"""Metrics with a column; any other metric is stored in the column `other`."""
SAMPLE_COLUMNS = ("gpu_use", "gpu_memory", "gpu_memory_peak", "power", "temperature", "energy", "cpu", "memory")

Columns = Mapping[str, tuple[type, str]]
"""The type and the meaning of each column."""
_RUN: Columns = {"run": (str, "id of the run")}
_TIME: Columns = {"time": (float, "Unix time")}
_PROGRESS: Columns = {
    "iteration": (int, "completed iterations"),
    "epoch": (int, "epoch, from 1"),
    "adaptation_epoch": (int, "epoch of the adaptation, from 1; NULL during the warm-up"),
    "stage": (str, "stage of training"),
}
_SECONDS: Columns = {"seconds": (float, "training time until then, over all attempts")}
_OTHER: Columns = {"other": (str, "JSON object of metrics without a column, and of values that are not finite")}
_PERCENT: Columns = {
    "target_accuracy": (float, "percent, at the last evaluation"),
    "source_accuracy": (float, "percent, at the last evaluation"),
    "pseudo_label_accuracy": (float, "percent of the pseudo-labels of stage 1 that are right"),
}


def _metrics(names: tuple[str, ...]) -> Columns:
    return {name: (float, METRICS[name].title) for name in names}


class TableSpec(NamedTuple):
    """A table: what a row is, its primary key, and its columns."""

    row: str
    key: tuple[str, ...]
    columns: Columns
    indexes: tuple[str, ...] = ()
    is_clustered: bool = False
    """Whether rows are stored in the order of the key, for tables of many small rows."""


TABLES = {
    "runs": TableSpec(
        "a run",
        ("id",),
        {
            "id": (str, "name of the run's directory"),
            "state": (str, "queued, starting, running, finished, failed, stopped, lost or silent"),
            "journal_state": (str, "state by the journal alone: a run without a live process may be lost"),
            "journal_changed": (float, "Unix time of the journal's last change"),
            "method": (str, "method, such as clarinet or gac+dann"),
            "family": (str, "one-step, two-step, no-adaptation or reference"),
            "task": (str, "source and target, such as U->M"),
            "seed": (int, "seed of the run"),
            "preset": (str, "preset that the settings come from"),
            "name": (str, "name given at the launch"),
            "device": (str, "device in use, such as cuda:0"),
            "hardware": (str, "model of the GPU or CPU; several, if attempts used different ones"),
            "host": (str, "machine"),
            "version": (str, "version of the program"),
            "git_commit": (str, "commit of the directory where it was started; a + marks uncommitted changes"),
            "source_images": (int, "labelled source images"),
            "target_images": (int, "target images without labels"),
            "test_images": (int, "images that measure the target accuracy"),
            "stage": (str, "current or last stage of training"),
            "epoch": (int, "current or last epoch"),
            "epochs_total": (int, "epochs of the whole run"),
            "iteration": (int, "completed iterations"),
            "iterations_total": (int, "iterations of the whole run"),
            **_PERCENT,
            "created": (float, "Unix time"),
            "started": (float, "Unix time of the first attempt"),
            "ended": (float, "Unix time of the final event"),
            "seconds": (float, "training time over all attempts"),
            "label_hash": (str, "hash of the complementary labels"),
            "notes": (str, "JSON list of remarks on the data"),
            "error": (str, "why it failed"),
            "alarms": (str, "JSON list of the kinds of open alarms"),
            "problems": (str, "JSON list of files and lines that cannot be read"),
            "gpu_memory": (float, "most bytes used on a GPU"),
            "gpu_use": (float, "mean utilization of the GPU in percent"),
            "memory": (float, "most resident bytes of its processes"),
            "energy": (float, "joules that the GPU used"),
        },
        indexes=("created", "state"),
    ),
    "configs": TableSpec("the settings of a run", ("run",), {**_RUN, "config": (str, "JSON object of all settings")}),
    "tags": TableSpec("a tag of a run", ("run", "tag"), {**_RUN, "tag": (str, "tag"), **_TIME}, indexes=("tag",)),
    "notes": TableSpec("the note of a run", ("run",), {**_RUN, "note": (str, "text"), **_TIME}),
    "evaluations": TableSpec(
        "an evaluation",
        ("run", "iteration", "stage"),
        {
            **_RUN,
            **_PROGRESS,
            **_SECONDS,
            **_TIME,
            **_metrics(EVALUATION_COLUMNS),
            "confusion": (str, "JSON list with a row of counts for each true class"),
            **_OTHER,
        },
    ),
    "iterations": TableSpec(
        "a training iteration",
        ("run", "iteration"),
        {**_RUN, **_PROGRESS, **_SECONDS, **_metrics(ITERATION_COLUMNS), **_OTHER},
        is_clustered=True,
    ),
    "events": TableSpec(
        "any other event of a journal",
        ("run", "position"),
        {
            **_RUN,
            "position": (int, "byte offset of the line in the journal"),
            **_TIME,
            "event": (str, "kind, such as started, resumed, stage, alarm, finished or failed"),
            "iteration": (int, "completed iterations"),
            **_SECONDS,
            "message": (str, "message of the event"),
            "superseded": (int, "1 if a resumed run has recorded this part again"),
            "fields": (str, "JSON object of the whole event"),
        },
    ),
    "samples": TableSpec(
        "a sample of a run's hardware",
        ("run", "position"),
        {
            **_RUN,
            "position": (int, "byte offset of the line in the journal"),
            **_TIME,
            "iteration": (int, "completed iterations"),
            **_SECONDS,
            "gpu_use": (float, "utilization of the GPU in percent"),
            "gpu_memory": (float, "bytes used on the GPU"),
            "gpu_memory_peak": (float, "most bytes of the GPU that the run has used"),
            "power": (float, "watts of the GPU"),
            "temperature": (float, "degrees Celsius of the GPU"),
            "energy": (float, "joules since the last sample"),
            "cpu": (float, "utilization of one core in percent"),
            "memory": (float, "resident bytes of the process"),
        },
        is_clustered=True,
    ),
    "rollups": TableSpec(
        "a metric over a bucket of 32, 512, 8192 or 131072 iterations (level 1 to 4)",
        ("run", "metric", "level", "bucket"),
        {
            **_RUN,
            "metric": (str, "name of the metric"),
            "level": (int, "1 to 4"),
            "bucket": (int, "number of the bucket, from 0"),
            "low": (float, "least finite value"),
            "high": (float, "greatest finite value"),
            "total": (float, "sum of the finite values"),
            "count": (int, "number of finite values"),
            "missing": (int, "number of other values"),
        },
        is_clustered=True,
    ),
    "ingested": TableSpec(
        "how far a run's files are ingested",
        ("run",),
        {
            **_RUN,
            "journal": (int, "bytes of the journal"),
            "columns": (str, "JSON list of the journal's columns there"),
            "lines": (int, "lines of the journal"),
            "checksum": (int, "CRC-32 of these bytes"),
            "ends": (str, "hash of the first and the last of these bytes"),
            "annotations": (int, "bytes of the annotations"),
            "annotation_ends": (str, "hash of the first and the last of these bytes"),
        },
    ),
}
"""Every table; `ingested` is the last, because it decides which runs are new."""
_REQUIRED = {"runs": ("id", "state", "journal_state", "created")}
_DEFAULTS = {"ingested": {"journal": 0, "lines": 0, "checksum": 0, "ends": "", "annotations": 0, "annotation_ends": ""}}


def create_tables(connection: sqlite3.Connection) -> None:
    """Create all tables, inside a transaction.

    The version is recorded as sqlite-utils records a migration: Clarinet 0.2.0 then says that a newer version has made
    the database.
    """
    from sqlite_utils import Database, Migrations  # its import takes 0.4 s
    from sqlite_utils.db import ForeignKey

    def create(db: Database) -> None:
        for name, table in TABLES.items():
            keys = [ForeignKey(name, "run", "runs", "id", on_delete="CASCADE")] if "run" in table.columns else []
            sql = db.create_table_sql(
                name,
                {column: type_ for column, (type_, _) in table.columns.items()},
                pk=table.key,
                foreign_keys=keys,
                not_null=_REQUIRED.get(name, table.key),
                defaults=_DEFAULTS.get(name),
            )
            db.execute(sql.rstrip().rstrip(";") + (" WITHOUT ROWID" if table.is_clustered else ""))
            for column in table.indexes:
                db.execute(f"CREATE INDEX idx_{name}_{column} ON {name} ({column})")

    migrations = Migrations(SCHEMA_SET)
    migrations(name=SCHEMA)(create)
    migrations.apply(Database(connection, recursive_triggers=False, execute_plugins=False))


def read_schema(connection: sqlite3.Connection) -> str | None:
    """Return the version of a database's schema; None if it has no tables yet."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone():
        return None
    sql = "SELECT max(name) FROM _sqlite_migrations WHERE migration_set = ?"
    version: str | None = connection.execute(sql, (SCHEMA_SET,)).fetchone()[0]
    return version
