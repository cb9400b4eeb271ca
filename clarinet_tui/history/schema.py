"""The tables as numbered migrations, without importing sqlite-utils until one is applied."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database as Tables
    from sqlite_utils import Migrations

    from core.methods import Family

MIGRATION_SET = "clarinet"
MIGRATIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
"""In order; a database with other migrations was made by a newer version."""

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
SAMPLE_COLUMNS = ("gpu_use", "gpu_memory", "gpu_memory_peak", "power", "temperature", "energy", "cpu", "memory")
"""Frozen with migration 0005."""
RUN = "run TEXT REFERENCES runs(id) ON DELETE CASCADE"
"""The column that names a row's run: rows of a deleted run are deleted as well."""


def _real(columns: Sequence[str]) -> str:
    return ", ".join(f'"{name}" REAL' for name in columns)


TABLES = (
    # `said` is the state by the journal, `state` the current one: a run without a live process may be lost.
    # `heard` is the time of the journal's last change.
    """CREATE TABLE runs (
        id TEXT PRIMARY KEY, state TEXT NOT NULL, said TEXT NOT NULL, method TEXT, family TEXT, task TEXT,
        seed INTEGER, preset TEXT, name TEXT, device TEXT, host TEXT, stage TEXT, epoch INTEGER, epochs_total INTEGER,
        iteration INTEGER, iterations_total INTEGER, target_accuracy REAL, source_accuracy REAL,
        pseudo_label_accuracy REAL, created REAL NOT NULL, started REAL, ended REAL, heard REAL, seconds REAL,
        label_hash TEXT, notes TEXT, error TEXT)""",
    "CREATE INDEX idx_runs_created ON runs (created)",
    "CREATE INDEX idx_runs_state ON runs (state)",
    # The offsets up to which a run's files are ingested, and the journal's columns there.
    f"CREATE TABLE ingested ({RUN} PRIMARY KEY, journal INTEGER, columns TEXT, annotations INTEGER, environment REAL)",
    f"CREATE TABLE tags ({RUN}, tag TEXT, time REAL, PRIMARY KEY (run, tag))",
    "CREATE INDEX idx_tags_tag ON tags (tag)",
    f"CREATE TABLE notes ({RUN} PRIMARY KEY, note TEXT, time REAL)",
    # `position` is the offset of the line in the journal: no line is stored twice.
    f"""CREATE TABLE events (
        {RUN}, position INTEGER, time REAL, event TEXT, iteration INTEGER, seconds REAL, message TEXT,
        superseded INTEGER, fields TEXT, PRIMARY KEY (run, position))""",
    f"""CREATE TABLE evaluations (
        {RUN}, iteration INTEGER, epoch INTEGER, adaptation_epoch INTEGER, stage TEXT, seconds REAL, time REAL,
        {_real(EVALUATION_COLUMNS)}, confusion TEXT, other TEXT, PRIMARY KEY (run, iteration, stage))""",
    # Up to a million rows for each run, clustered by run and iteration.
    # `other` is a JSON object of metrics without a column, and of values that are not finite.
    f"""CREATE TABLE iterations (
        {RUN} NOT NULL, iteration INTEGER NOT NULL, epoch INTEGER, adaptation_epoch INTEGER, stage TEXT, seconds REAL,
        {_real(ITERATION_COLUMNS)}, other TEXT, PRIMARY KEY (run, iteration)) WITHOUT ROWID""",
    # Minimum, maximum, sum and count of a metric's finite values in a bucket, and the count of the others.
    f"""CREATE TABLE rollups (
        {RUN} NOT NULL, metric TEXT NOT NULL, level INTEGER NOT NULL, bucket INTEGER NOT NULL, low REAL, high REAL,
        total REAL, count INTEGER, missing INTEGER, PRIMARY KEY (run, metric, level, bucket)) WITHOUT ROWID""",
)


def migrations() -> "Migrations":
    from sqlite_utils import Migrations

    numbered = Migrations(MIGRATION_SET)
    numbered(name="0001")(_create_tables)
    numbered(name="0002")(_add_alarms)
    numbered(name="0003")(_update_families)
    numbered(name="0004")(_identify_files)
    numbered(name="0005")(_add_hardware)
    numbered(name="0006")(_add_configs)
    return numbered


def _create_tables(db: "Tables") -> None:
    for statement in TABLES:
        db.execute(statement)


def _add_alarms(db: "Tables") -> None:
    """Add the kinds of a run's open alarms, as a JSON list."""
    db.execute("ALTER TABLE runs ADD COLUMN alarms TEXT")


def _update_families(db: "Tables") -> None:
    """Recompute the families: before, methods without adaptation and references counted as one-step or two-step."""
    methods = [row[0] for row in db.execute("SELECT DISTINCT method FROM runs WHERE method IS NOT NULL").fetchall()]
    for method in methods:
        db.execute("UPDATE runs SET family = ? WHERE method = ?", (family_of(method), method))


def _identify_files(db: "Tables") -> None:
    """Add what identifies the ingested part of a run's files, and which of its files cannot be read."""
    db.execute("ALTER TABLE ingested ADD COLUMN lines INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE ingested ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE ingested ADD COLUMN ends TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE ingested ADD COLUMN annotation_ends TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE runs ADD COLUMN problems TEXT")


def _add_hardware(db: "Tables") -> None:
    """Add the hardware of runs, and samples of what it did."""
    db.execute("ALTER TABLE runs ADD COLUMN hardware TEXT")
    for column in ("gpu_memory", "gpu_use", "memory", "energy"):
        db.execute(f"ALTER TABLE runs ADD COLUMN {column} REAL")
    db.execute(
        f"""CREATE TABLE samples (
        {RUN} NOT NULL, position INTEGER NOT NULL, time REAL, iteration INTEGER, seconds REAL,
        {_real(SAMPLE_COLUMNS)}, PRIMARY KEY (run, position)) WITHOUT ROWID"""
    )


def _add_configs(db: "Tables") -> None:
    """Add the complete settings of runs as a JSON object, for queries; NULL if they cannot be read."""
    db.execute(f"CREATE TABLE configs ({RUN} PRIMARY KEY, config TEXT)")


def family_of(method: str) -> "Family":
    """Return the method's family; for a plug-in that is not installed, guess it from the name."""
    from core.errors import InputError
    from core.methods import find_method

    try:
        return find_method(method).family
    except InputError:
        return "two-step" if "+" in method else "one-step"
