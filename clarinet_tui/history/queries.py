"""Read the history: runs and groups of runs by query; a run's evaluations, iterations, events, samples and alarms."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from clarinet_tui.history.curves import read_series
from clarinet_tui.history.database import Database
from clarinet_tui.history.query_language import compile_query, setting_column
from clarinet_tui.history.rollups import BASE
from clarinet_tui.history.schema import SAMPLE_COLUMNS
from clarinet_tui.runs.journal import ATTEMPT_STARTS, parse_number
from clarinet_tui.runs.state import RunState
from core.config import Tag, flatten_settings, in_order, is_own_name, setting_specs, settings_tagged, similar_names
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.chart.curve import Curve


@dataclass(frozen=True)
class RunRow:
    """One run: columns of the table `runs`, whose meanings are in `schema.py`, its tags and note, and estimates."""

    id: str
    state: RunState
    method: str | None
    task: str | None
    seed: int | None
    preset: str | None
    device: str | None
    host: str | None
    stage: str | None
    epoch: int | None
    epochs_total: int | None
    iteration: int | None
    iterations_total: int | None
    target_accuracy: float | None
    source_accuracy: float | None
    pseudo_label_accuracy: float | None
    created: float
    started: float | None
    ended: float | None
    seconds: float | None
    tags: tuple[str, ...]
    note: str
    error: str | None
    name: str
    label_hash: str | None
    notes: tuple[str, ...]
    family: str
    alarms: tuple[str, ...] = ()
    """The kinds of open alarms; `read_open_alarms` reads the alarms themselves."""
    problems: tuple[str, ...] = ()
    hardware: str | None = None
    gpu_memory: float | None = None
    gpu_use: float | None = None
    memory: float | None = None
    energy: float | None = None
    iterations_given: int = 0
    """Iterations of a stage 1 that another run has trained."""
    seconds_left: float | None = None
    """An estimate for a running run."""
    version: str | None = None
    """The version of the program, if recorded."""
    git_commit: str | None = None
    """Commit of the directory where the run was started, with a hash of uncommitted changes after a +."""
    source_images: int | None = None
    target_images: int | None = None
    test_images: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """All settings by name, such as `classifier_rate` or `stage1.epochs`; empty if they cannot be read."""

    @property
    def progress(self) -> float | None:
        """The completed share of its iterations, if both numbers are known."""
        if not self.iterations_total or self.iteration is None:
            return None
        return min(self.iteration / self.iterations_total, 1.0)

    def as_object(self) -> dict[str, Any]:
        """Return the fields, then the settings whose names are not those of a field, for JSON and data frames."""
        fields = asdict(self) | {"state": str(self.state)}
        return fields | {name: value for name, value in fields.pop("settings").items() if name not in fields}

    def without_progress(self) -> "RunRow":
        """Return the row without what changes in every iteration, to compare it with an earlier row."""
        if not self.state.is_live:
            return self
        return replace(self, iteration=None, iterations_given=0, seconds=None, seconds_left=None)


def run_keys() -> list[str]:
    """Return the keys of `RunRow.as_object` but those of settings that methods declare, which not every run has."""
    fields = [name for name in RunRow.__dataclass_fields__ if name != "settings"]
    return list(dict.fromkeys([*fields, *(spec.name for spec in setting_specs())]))


def own_keys(db: Database, ids: Iterable[str]) -> list[str]:
    """Return the settings that the methods of these runs declare, as `own.NAME`."""
    rows = db.tuples(
        """SELECT DISTINCT 'own.' || own.key FROM configs, json_each(configs.config, '$.own') AS own
        WHERE configs.run IN (SELECT value FROM json_each(?)) ORDER BY 1""",
        (msgspec.json.encode(list(ids)).decode(),),
    )
    return [name for (name,) in rows]


_COLUMNS = """runs.*,
    (SELECT json_group_array(tag) FROM (SELECT tag FROM tags WHERE run = runs.id ORDER BY tag)) AS tags,
    (SELECT note FROM notes WHERE run = runs.id) AS note,
    (SELECT config FROM configs WHERE run = runs.id) AS settings,
    ifnull((SELECT min(iteration) - 1 FROM iterations WHERE run = runs.id), 0) AS iterations_given"""
ITERATION_KEYS = ("run", "iteration", "epoch", "adaptation_epoch", "stage", "seconds")
"""The keys of every iteration and evaluation, before those of its metrics."""
PAGE_SIZE = 5000
_UNSORTABLE = {"tags", "note", "notes", "alarms", "problems", "iterations_given", "seconds_left", "settings"}
SORT_FIELDS = frozenset(RunRow.__dataclass_fields__) - _UNSORTABLE
SORT_ALIASES = {
    "acc": "target_accuracy",
    "target": "target_accuracy",
    "source": "source_accuracy",
    "pseudo": "pseudo_label_accuracy",
    "time": "seconds",
    "labels": "label_hash",
}
"""Names of fields in tables and in the query language."""
RECENT = 100
"""Iterations before the metric's last value: metrics of stage 1 end with it."""
MAX_PAUSE = 60.0
"""Seconds between two samples that a chart shows at most: the pause between two attempts may last for days."""
MAX_KIND_LENGTH = 64
"""A limit for imported journals."""


def list_runs(
    db: Database,
    query: str = "",
    *,
    sort: str = "created",
    descending: bool = True,
    limit: int = 100,
    offset: int = 0,
    now: float | None = None,
) -> list[RunRow]:
    """Return the matching runs in order; those without a value of `sort`, a field or a setting, come last."""
    where, parameters = compile_query(query, now)
    order = _compile_order(sort, descending)
    # Tags and notes are read for the rows of the page only.
    sql = f"""WITH page AS (SELECT id AS selected FROM runs WHERE {where}
            ORDER BY {order} LIMIT ? OFFSET ?)
        SELECT {_COLUMNS} FROM page JOIN runs ON runs.id = page.selected
        ORDER BY {order}"""
    return [_run_row(db, dict(row)) for row in db.rows(sql, (*parameters, limit, offset))]


def list_matching_ids(
    db: Database, query: str = "", *, sort: str = "created", descending: bool = True, now: float | None = None
) -> list[str]:
    """Return the ids of all matching runs, in the order of `list_runs`."""
    where, parameters = compile_query(query, now)
    rows = db.tuples(f"SELECT id FROM runs WHERE {where} ORDER BY {_compile_order(sort, descending)}", parameters)
    return [id_ for (id_,) in rows]


def is_sortable(name: str) -> bool:
    """Whether runs can be sorted by a field or a setting of this name."""
    return name in SORT_FIELDS or name in {spec.name for spec in setting_specs()} or is_own_name(name)


def _compile_order(sort: str, descending: bool) -> str:
    if not is_sortable(sort):
        known = ", ".join(sorted(SORT_FIELDS))
        near = similar_names(sort)
        hint = f"; did you mean {near}?" if near else ""
        raise InputError(f"sort: expected one of {known}, or a setting (`clarinet settings`), got {sort!a}{hint}")
    column = sort if sort in SORT_FIELDS else setting_column(sort)
    direction = "DESC" if descending else "ASC"
    return ", ".join(f"{key} {direction} NULLS LAST" for key in dict.fromkeys((column, "created", "id")))


def count_runs(db: Database, query: str = "", *, now: float | None = None) -> int:
    where, parameters = compile_query(query, now)
    row = db.row(f"SELECT count(*) FROM runs WHERE {where}", parameters)
    return int(row[0]) if row else 0


def get_run(db: Database, run_id: str) -> RunRow | None:
    row = db.row(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (run_id,))
    return _run_row(db, dict(row)) if row else None


def read_evaluations(db: Database, run_id: str) -> list[dict[str, Any]]:
    """Return every evaluation in order with all columns, the confusion matrix as rows, and NaN as such."""
    rows = db.rows("SELECT * FROM evaluations WHERE run = ? ORDER BY iteration, epoch, stage", (run_id,))
    evaluations = []
    for row in map(dict, rows):
        other, confusion = row.pop("other"), row["confusion"]
        row["confusion"] = msgspec.json.decode(confusion) if confusion else None
        evaluations.append(row | _decode_metrics(other))
    return evaluations


def read_iterations(
    db: Database, run_id: str, *, start: int | None = None, stop: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield every iteration from `start` to before `stop` without metrics that have no value, in bounded memory."""
    start, stop = (0 if start is None else start), (2**62 if stop is None else stop)
    sql = "SELECT * FROM iterations WHERE run = ? AND iteration >= ? AND iteration < ? ORDER BY iteration LIMIT ?"
    while rows := db.rows(sql, (run_id, start, stop, PAGE_SIZE)):
        for row in map(dict, rows):
            other = row.pop("other")
            kept = {name: value for name, value in row.items() if value is not None or name == "adaptation_epoch"}
            yield kept | _decode_metrics(other)
        start = rows[-1]["iteration"] + 1


def _decode_metrics(other: str | None) -> dict[str, Any]:
    """Return the metrics of the column `other`."""
    return {name: parse_number(value) for name, value in (msgspec.json.decode(other) if other else {}).items()}


def read_events(db: Database, run_id: str) -> list[dict[str, Any]]:
    """Return all other events in order; `superseded` ones were recorded again after a resume."""
    rows = db.rows("SELECT fields, superseded FROM events WHERE run = ? ORDER BY position", (run_id,))
    return [msgspec.json.decode(row["fields"]) | {"superseded": bool(row["superseded"])} for row in rows]


def _run_row(db: Database, row: dict[str, Any]) -> RunRow:
    row["state"] = RunState(row["state"])
    row["tags"] = tuple(msgspec.json.decode(row["tags"]))
    for name in ("notes", "alarms", "problems"):
        row[name] = tuple(msgspec.json.decode(row[name] or "[]"))
    row["note"] = row["note"] or ""
    row["name"] = row["name"] or ""
    row["family"] = row["family"] or "one-step"
    row["seconds_left"] = _estimate_time_left(db, row)
    row["settings"] = flatten_settings(msgspec.json.decode(row["settings"] or "{}"))
    return RunRow(**{name: row[name] for name in RunRow.__dataclass_fields__})


class HasSettings(Protocol):
    @property
    def settings(self) -> Mapping[str, Any]: ...


def varied_settings(rows: Iterable[HasSettings]) -> list[str]:
    """Return the settings that differ among runs of the same method, task and preset, in the order of the settings.

    Seeds do not count, and neither do settings without an effect on the numbers.
    """
    first: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    varied = set()
    for settings in (row.settings for row in rows if row.settings):
        others = first.setdefault(tuple(map(settings.get, ("method", "task", "preset"))), settings)
        if others is not settings and others != settings:
            varied |= {name for name, value in settings.items() if others.get(name, value) != value}
    ignored = settings_tagged(Tag.IDENTITY, Tag.NO_EFFECT, Tag.ROUNDING) | {"stage1.seed"}
    return in_order(varied - ignored)


_SIMILAR_RUN = """SELECT other.seconds,
        (SELECT seconds FROM iterations WHERE run = other.id AND iteration = :iteration) AS seconds_here,
        ifnull((SELECT seconds FROM iterations WHERE run = other.id AND iteration = :shared), 0) AS seconds_shared
    FROM (SELECT id, seconds, ended FROM runs
        WHERE state = 'finished' AND method = :method AND task = :task AND preset = :preset
            AND iterations_total = :total
        ORDER BY ended DESC LIMIT 5) AS other
    WHERE seconds_here > seconds_shared AND other.seconds >= seconds_here
        AND (SELECT min(iteration) - 1 FROM iterations WHERE run = other.id) IN (0, :shared)
    ORDER BY other.ended DESC LIMIT 1"""
"""The newest finished run of the same kind and length: its total time, and its time at this run's iteration.

The iterations of a shared stage 1 count in neither of the two runs.
"""


def _estimate_time_left(db: Database, run: Mapping[str, Any]) -> float | None:
    """Estimate the seconds left of a running run.

    An iteration of adaptation takes several times as long as one of warm-up. So the estimate scales the rest of a
    similar finished run to this run's speed; without such a run it extrapolates this run's own pace.
    """
    if run["state"] != RunState.RUNNING:
        return None
    names = ("iterations_total", "iteration", "iterations_given", "seconds")
    total, iteration, shared, seconds = (run[name] or 0 for name in names)
    if iteration <= shared or not total or not seconds:
        return None
    kind = {name: run[name] for name in ("method", "task", "preset")}
    similar = db.row(_SIMILAR_RUN, kind | {"total": total, "iteration": iteration, "shared": shared})
    if similar:
        seconds_total, seconds_here, seconds_shared = similar
        return float((seconds_total - seconds_here) * seconds / (seconds_here - seconds_shared))
    return float(max(total - iteration, 0) * seconds / (iteration - shared))


@dataclass(frozen=True)
class MetricSummary:
    """`last` and `mean` are of the recent iterations and may be NaN; the extremes are of the finite values."""

    last: float | None
    mean: float | None
    minimum: float | None
    maximum: float | None
    missing: int
    """The number of values that are not finite."""


def summarize_metric(
    db: Database, run_id: str, metric: str, *, start: int | None = None, stop: int | None = None
) -> MetricSummary | None:
    """Summarize the iterations from `start` to before `stop`; None if the metric has no value there."""
    import numpy as np

    curve = read_series(db, run_id, metric, start=start, stop=stop, width=1)
    if not len(curve.x):
        return None
    recent = _read_recent(db, run_id, metric, start or 0, stop if stop is not None else 2**62)
    finite = np.isfinite(curve.low).any()
    return MetricSummary(
        last=recent[-1] if recent else None,
        mean=sum(recent) / len(recent) if recent else None,
        minimum=float(np.nanmin(curve.low)) if finite else None,
        maximum=float(np.nanmax(curve.high)) if finite else None,
        missing=int(curve.missing.sum()),
    )


def _read_recent(db: Database, run_id: str, metric: str, start: int, stop: int) -> list[float]:
    """Read the recent values, starting from the last bucket that has any."""
    row = db.row(
        "SELECT max(bucket) FROM rollups WHERE run = ? AND metric = ? AND level = 1 AND bucket <= ?",
        (run_id, metric, (stop - 1) // BASE),
    )
    if row is None or row[0] is None:
        return []
    end = min(stop, (row[0] + 1) * BASE)
    rows = read_iterations(db, run_id, start=max(start, end - BASE - RECENT), stop=end)
    return [row[metric] for row in rows if metric in row][-RECENT:]


def read_last_position(db: Database, run_id: str) -> int | None:
    """Return the place of the last sample in the journal: it changes with every new one."""
    position: int | None = db.tuples("SELECT max(position) FROM samples WHERE run = ?", (run_id,))[0][0]
    return position


def read_sample_curves(db: Database, run_id: str, *, width: int = 2000) -> dict[str, "Curve"]:
    """Return each sampled quantity over the seconds since the first sample, in at most `width` columns.

    The last column is the last sample alone. Pauses between attempts count as `MAX_PAUSE` at most.
    """
    import numpy as np

    from clarinet_tui.chart.curve import Curve

    names = ", ".join(("time", *SAMPLE_COLUMNS))
    rows = db.tuples(f"SELECT {names} FROM samples WHERE run = ? ORDER BY position", (run_id,))
    if not rows:
        return {}
    time, *columns = np.array(rows, dtype=float).T
    x = np.cumsum(np.clip(np.nan_to_num(np.diff(time, prepend=time[0])), 0.0, MAX_PAUSE))
    edges = np.unique(np.r_[np.arange(width - 1) * (len(x) - 1) // max(width - 1, 1), len(x) - 1])
    middle = (x[edges] + x[np.r_[edges[1:], len(x)] - 1]) / 2
    curves = {}
    for name, values in zip(SAMPLE_COLUMNS, columns, strict=True):
        known = np.add.reduceat(np.isfinite(values), edges, dtype=float)
        if known.any():
            low, high = (merge.reduceat(values, edges) for merge in (np.fmin, np.fmax))
            mean = np.add.reduceat(np.nan_to_num(values), edges) / np.where(known > 0, known, np.nan)
            curves[name] = Curve(middle, mean, low, high, np.zeros(len(edges)))
    return curves


@dataclass(frozen=True)
class Alarm:
    """A problem with a run's metrics, the iteration at which it began, and what to try."""

    kind: str
    message: str
    advice: str
    iteration: int | None
    time: float | None


def read_open_alarms(db: Database, run_id: str) -> list[Alarm]:
    """Return the alarms that the last attempt has raised and not cleared, in the order in which they were raised."""
    alarms: dict[str, Alarm] = {}
    sql = """SELECT fields FROM events
        WHERE run = ? AND event IN ('alarm', 'started', 'resumed') AND NOT superseded ORDER BY position"""
    for row in db.rows(sql, (run_id,)):
        fields = msgspec.json.decode(row["fields"])
        kind = fields.get("kind")
        if fields["event"] in ATTEMPT_STARTS:
            alarms.clear()
        elif isinstance(kind, str):
            alarms.pop(kind, None)
            if fields.get("over") is not True:
                iteration, time = fields.get("iteration"), fields.get("time")
                alarms[kind] = Alarm(
                    kind=kind[:MAX_KIND_LENGTH],
                    message=str(fields.get("message", "")),
                    advice=str(fields.get("advice", "")),
                    iteration=iteration if isinstance(iteration, int) else None,
                    time=time if isinstance(time, float | int) else None,
                )
    return list(alarms.values())
