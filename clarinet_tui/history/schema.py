"""The tables as numbered migrations, without importing sqlite-utils until one is applied."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlite_utils import Database as Tables
    from sqlite_utils import Migrations

    from core.methods import Family

SET = "clarinet"
MIGRATIONS = ("0001", "0002", "0003")
"""In order. A database with others was made by a newer version."""

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
    numbered(name="0001")(_create_tables)
    numbered(name="0002")(_add_alarms)
    numbered(name="0003")(_update_families)
    return numbered


def _create_tables(db: "Tables") -> None:
    _create_runs(db)
    _create_annotations(db)
    _create_events(db)
    _create_evaluations(db)
    _create_iterations(db)
    _create_rollups(db)


def _add_alarms(db: "Tables") -> None:
    """Add the kinds of a run's open alarms, as a JSON list."""
    db.table("runs").add_column("alarms", str)


def _update_families(db: "Tables") -> None:
    """Recompute the families: before, methods without adaptation and references counted as one-step or two-step."""
    methods = [row[0] for row in db.execute("SELECT DISTINCT method FROM runs WHERE method IS NOT NULL").fetchall()]
    for method in methods:
        db.execute("UPDATE runs SET family = ? WHERE method = ?", (family_of(method), method))


def family_of(method: str) -> "Family":
    """Return the method's family; for a plug-in that is not installed, guess it from the name."""
    from core.errors import InputError
    from core.methods import find_method

    try:
        return find_method(method).family
    except InputError:
        return "two-step" if "+" in method else "one-step"


def _create_runs(db: "Tables") -> None:
    """`said` is the state by the journal, `state` the current one: a run without a live process may be lost.

    `heard` is the time of the journal's last change.
    """
    db.table("runs").create(RUN, pk="id", not_null={"state", "said", "created"})
    db.table("runs").create_index(["created"])
    db.table("runs").create_index(["state"])
    columns: dict[str, Any] = {"run": str, "journal": int, "columns": str, "annotations": int, "environment": float}
    db.table("ingested").create(columns, pk="run", foreign_keys=_run_key("ingested"))


def _create_annotations(db: "Tables") -> None:
    columns: dict[str, Any] = {"run": str, "tag": str, "time": float}
    db.table("tags").create(columns, pk=("run", "tag"), foreign_keys=_run_key("tags"))
    db.table("tags").create_index(["tag"])
    columns = {"run": str, "note": str, "time": float}
    db.table("notes").create(columns, pk="run", foreign_keys=_run_key("notes"))


def _create_events(db: "Tables") -> None:
    """`position` is the offset of the line in the journal: no line is there twice."""
    columns: dict[str, Any] = {"run": str, "position": int, "time": float, "event": str, "iteration": int}
    columns |= {"seconds": float, "message": str, "superseded": int, "fields": str}
    db.table("events").create(columns, pk=("run", "position"), foreign_keys=_run_key("events"))


def _create_evaluations(db: "Tables") -> None:
    columns: dict[str, Any] = {"run": str, "iteration": int, "epoch": int, "adaptation_epoch": int, "stage": str}
    columns |= {"seconds": float, "time": float} | dict.fromkeys(EVALUATION_COLUMNS, float)
    columns |= {"confusion": str, "other": str}
    db.table("evaluations").create(columns, pk=("run", "iteration", "stage"), foreign_keys=_run_key("evaluations"))


def _create_iterations(db: "Tables") -> None:
    """Up to a million rows for each run, clustered by run and iteration.

    `other` is a JSON object of metrics without a column, and of values that are not finite.
    """
    metrics = ", ".join(f'"{name}" REAL' for name in ITERATION_COLUMNS)
    db.execute(
        f"""CREATE TABLE iterations (
            run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE, iteration INTEGER NOT NULL, epoch INTEGER,
            adaptation_epoch INTEGER, stage TEXT, seconds REAL, {metrics}, other TEXT,
            PRIMARY KEY (run, iteration)) WITHOUT ROWID"""
    )


def _create_rollups(db: "Tables") -> None:
    """Minimum, maximum, sum and count of a metric's finite values in a bucket, and the count of the others."""
    db.execute(
        """CREATE TABLE rollups (
            run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE, metric TEXT NOT NULL, level INTEGER NOT NULL,
            bucket INTEGER NOT NULL, low REAL, high REAL, total REAL, count INTEGER, missing INTEGER,
            PRIMARY KEY (run, metric, level, bucket)) WITHOUT ROWID"""
    )


def _run_key(table: str) -> list[Any]:
    """Rows of a deleted run are deleted as well."""
    from sqlite_utils.db import ForeignKey

    return [ForeignKey(table, "run", "runs", "id", on_delete="CASCADE")]
