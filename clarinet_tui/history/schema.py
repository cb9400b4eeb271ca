"""The tables, as numbered migrations. Their numbers and columns are known without importing sqlite-utils."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlite_utils import Database as Tables
    from sqlite_utils import Migrations

SET = "clarinet"
MIGRATIONS = ("0001", "0002")
"""In order. A database that has others was made by a newer program."""

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
EVALUATION_COLUMNS = (
    "target_accuracy",
    "source_accuracy",
    "pseudo_label_accuracy",
    "target_loss",
    "source_loss",
    "complementary_risk",
    "target_entropy",
    "target_information",
)
"""Metrics with a column, frozen with migration 0001; any other metric is stored in the column `other`."""
RUN: dict[str, Any] = {
    "id": str,
    "state": str,
    "said": str,
    "method": str,
    "family": str,
    "task": str,
    "seed": int,
    "preset": str,
    "name": str,
    "device": str,
    "host": str,
    "stage": str,
    "epoch": int,
    "epochs_total": int,
    "iteration": int,
    "iterations_total": int,
    "target_accuracy": float,
    "source_accuracy": float,
    "pseudo_label_accuracy": float,
    "created": float,
    "started": float,
    "ended": float,
    "heard": float,
    "seconds": float,
    "label_hash": str,
    "notes": str,
    "error": str,
}


def migrations() -> "Migrations":
    from sqlite_utils import Migrations

    numbered = Migrations(SET)
    numbered(name="0001")(_first)
    numbered(name="0002")(_alarms)
    return numbered


def _first(db: "Tables") -> None:
    _create_runs(db)
    _create_said_by_people(db)
    _create_events(db)
    _create_evaluations(db)
    _create_iterations(db)
    _create_rollups(db)


def _alarms(db: "Tables") -> None:
    """The kinds of a run's open alarms, as a JSON list."""
    db.table("runs").add_column("alarms", str)


def _create_runs(db: "Tables") -> None:
    """`said` is the state that the journal tells, `state` what it means today: a silent process may be lost."""
    db.table("runs").create(RUN, pk="id", not_null={"state", "said", "created"})
    db.table("runs").create_index(["created"])
    db.table("runs").create_index(["state"])
    columns: dict[str, Any] = {"run": str, "journal": int, "columns": str, "annotations": int, "environment": float}
    db.table("ingested").create(columns, pk="run", foreign_keys=_of_a_run("ingested"))


def _create_said_by_people(db: "Tables") -> None:
    columns: dict[str, Any] = {"run": str, "tag": str, "time": float}
    db.table("tags").create(columns, pk=("run", "tag"), foreign_keys=_of_a_run("tags"))
    db.table("tags").create_index(["tag"])
    columns = {"run": str, "note": str, "time": float}
    db.table("notes").create(columns, pk="run", foreign_keys=_of_a_run("notes"))


def _create_events(db: "Tables") -> None:
    """`position` is the line's first byte in the journal: the same line can never be there twice."""
    columns: dict[str, Any] = {"run": str, "position": int, "time": float, "event": str, "iteration": int}
    columns |= {"seconds": float, "message": str, "superseded": int, "fields": str}
    db.table("events").create(columns, pk=("run", "position"), foreign_keys=_of_a_run("events"))


def _create_evaluations(db: "Tables") -> None:
    columns: dict[str, Any] = {"run": str, "iteration": int, "epoch": int, "adaptation_epoch": int, "stage": str}
    columns |= {"seconds": float, "time": float} | dict.fromkeys(EVALUATION_COLUMNS, float)
    columns |= {"confusion": str, "other": str}
    db.table("evaluations").create(columns, pk=("run", "iteration", "stage"), foreign_keys=_of_a_run("evaluations"))


def _create_iterations(db: "Tables") -> None:
    """A million rows a run, clustered by run and iteration, so that a range is read in one go.

    `other` is a JSON object of plug-ins' metrics, and of the known ones that are not finite.
    """
    metrics = ", ".join(f'"{name}" REAL' for name in ITERATION_COLUMNS)
    db.execute(
        f"""CREATE TABLE iterations (
            run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE, iteration INTEGER NOT NULL, epoch INTEGER,
            adaptation_epoch INTEGER, stage TEXT, seconds REAL, {metrics}, other TEXT,
            PRIMARY KEY (run, iteration)) WITHOUT ROWID"""
    )


def _create_rollups(db: "Tables") -> None:
    """Least, greatest, sum and count of the finite values of a metric in a bucket, and how many were not finite."""
    db.execute(
        """CREATE TABLE rollups (
            run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE, metric TEXT NOT NULL, level INTEGER NOT NULL,
            bucket INTEGER NOT NULL, low REAL, high REAL, total REAL, count INTEGER, missing INTEGER,
            PRIMARY KEY (run, metric, level, bucket)) WITHOUT ROWID"""
    )


def _of_a_run(table: str) -> list[Any]:
    """What belongs to a run goes with it."""
    from sqlite_utils.db import ForeignKey

    return [ForeignKey(table, "run", "runs", "id", on_delete="CASCADE")]
