"""A run as event files that TensorBoard opens: every metric, the confusion matrices, and the settings as hparams.

Each run has a folder with a readable name, which depends on the runs beside it. The names of its event files end with
the run's id, by which a later export finds the folder and renames it.
"""

import importlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from clarinet_tui.analysis.figures.figure import ConfusionMatrix, Figure
from clarinet_tui.analysis.figures.matplotlib_output import render_figure
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import (
    ITERATION_KEYS,
    RunRow,
    get_run,
    read_evaluations,
    read_events,
    read_iterations,
)
from clarinet_tui.history.variants import group_all, name_variants
from clarinet_tui.runs.directory import is_valid_id
from clarinet_tui.text import format_seed
from core.config import RunConfig, setting_values
from core.errors import InputError

EVALUATION = "evaluation"
"""The prefix of what is measured at an evaluation, apart from the metrics of each iteration."""
RESULT = f"{EVALUATION}/target_accuracy"
SHORTEST_ID = 4
MAX_NAME = 100
"""Characters of a folder's name before the seed and the id."""
_EVENT_FILE = re.compile(r"events\.out\.tfevents\..*?(?:\.run-([0-9a-z]{3,32}))?", re.ASCII | re.DOTALL)
_UNSAFE = re.compile(r"[^A-Za-z0-9 ._=+,()-]+")
"""Characters that some file system does not take in a name."""


def prepare_folders(out: Path, db: Database, rows: Sequence[RunRow], run_ids: Iterable[str]) -> dict[str, Path]:
    """Return the folder of each run, which has what earlier exports have written into folders of other names."""
    existing = _find_folders(out)
    others = (get_run(db, run) for run in existing.keys() - {row.id for row in rows})
    names = _name_folders([*rows, *filter(None, others)], {*run_ids, *existing})
    folders = {row.id: out / names[row.id] for row in rows}
    for run, folder in folders.items():
        for earlier in existing.get(run, []):
            _move(earlier, folder)
    return folders


def _find_folders(out: Path) -> dict[str, list[Path]]:
    """Return the folders with event files by the id of their run; earlier versions named a folder by the id alone."""
    folders: dict[str, list[Path]] = {}
    for folder in sorted(out.iterdir()) if out.is_dir() else ():
        if folder.is_dir() and not folder.is_symlink():
            matches = [match for path in folder.iterdir() if (match := _EVENT_FILE.fullmatch(path.name))]
            ids = {match[1] or folder.name for match in matches}
            for run in filter(is_valid_id, ids):
                folders.setdefault(run, []).append(folder)
    return folders


def _name_folders(rows: Sequence[RunRow], run_ids: Iterable[str]) -> dict[str, str]:
    """Name the folders of runs by variant, task if there are several, seed, and the shortest id that is unique."""
    variants = group_all(rows)
    by_run: dict[str, str] = {}
    for variant, name in zip(variants, name_variants(variants), strict=True):
        by_run |= {run: name for run in variant.ids if run not in by_run}
    has_tasks = len({row.task for row in rows}) > 1
    names = {}
    for row in rows:
        task = f" {row.task}".replace("->", " to ") if has_tasks else ""
        name = _UNSAFE.sub("-", f"{by_run[row.id]}{task}")[:MAX_NAME].strip(" .-")
        seed = _UNSAFE.sub("-", format_seed(row.seed))
        names[row.id] = f"{name} seed {seed} {_shorten_id(row.id, run_ids)}"
    return names


def _shorten_id(run: str, run_ids: Iterable[str]) -> str:
    others = [other for other in run_ids if other != run]
    lengths = range(min(SHORTEST_ID, len(run)), len(run))
    return next((run[:n] for n in lengths if not any(other.startswith(run[:n]) for other in others)), run)


def _move(earlier: Path, folder: Path) -> None:
    """Rename a run's folder; if the new one exists, move the run's event files into it."""
    if earlier == folder:
        return
    if not folder.exists():
        earlier.rename(folder)
        return
    for path in earlier.iterdir():
        if _EVENT_FILE.fullmatch(path.name):
            path.rename(folder / path.name)
    with suppress(OSError):  # it has other files
        earlier.rmdir()


class EventFiles:
    """Writes a run into its folder, and continues where it stopped when it is called again."""

    def __init__(self, folder: Path, row: RunRow) -> None:
        self._proto = _import("tensorboard.compat.proto")
        for name in ("event_pb2", "summary_pb2"):
            _import(f"tensorboard.compat.proto.{name}")
        writer = _import("tensorboard.summary.writer.event_file_writer")
        self._writer = writer.EventFileWriter(str(folder), filename_suffix=f".run-{row.id}")
        self._origin = row.started or row.created
        self._classes: tuple[str, ...] = ()
        self._iteration = self._evaluated = -1
        self._resumes = 0
        self.scalars = 0
        self._restart(-1)  # replaces what an earlier export has written into the same directory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def write_settings(self, config: RunConfig) -> None:
        """Write the settings and the name of the result, so that the HParams page lists the run."""
        hparams = _import("tensorboard.plugins.hparams.summary_v2")
        values = setting_values(config)
        names = [hparams.HParam(name) for name in values]
        metrics = [hparams.Metric(RESULT)]
        self._add(hparams.hparams_config_pb(names, metrics, time_created_secs=self._origin), 0, 0.0)
        self._add(hparams.hparams_pb(values, start_time_secs=self._origin), 0, 0.0)

    def write_new(self, db: Database, row: RunRow) -> None:
        """Write what was recorded since the last call; a resumed run first removes what it repeats."""
        events = read_events(db, row.id)
        names = next((event.get("classes") for event in events if event["event"] == "started"), None)
        self._classes = tuple(map(str, names)) if isinstance(names, list) else ()
        resumes = [event["from_iteration"] for event in events if event["event"] == "resumed"]
        first = min(resumes[self._resumes :], default=self._iteration)
        self._resumes = len(resumes)
        if first < self._iteration:
            self._restart(first)
        for iteration in read_iterations(db, row.id, start=self._iteration + 1):
            self._iteration = iteration["iteration"]
            self._add_scalars(iteration, "")
        for evaluation in read_evaluations(db, row.id):
            if evaluation["iteration"] > self._evaluated:
                self._evaluated = evaluation["iteration"]
                self._add_scalars(evaluation, f"{EVALUATION}/")
                self._add_confusion(evaluation)
        self._writer.flush()

    def _restart(self, iteration: int) -> None:
        """Make readers forget what follows an iteration."""
        event, log = self._proto.event_pb2.Event, self._proto.event_pb2.SessionLog
        start = log(status=log.START)
        self._writer.add_event(event(wall_time=self._origin, step=iteration + 1, session_log=start))
        self._iteration, self._evaluated = iteration, min(self._evaluated, iteration)

    def _add_scalars(self, row: Mapping[str, Any], prefix: str) -> None:
        proto = self._proto.summary_pb2.Summary
        values = [
            proto.Value(tag=f"{prefix}{name}", simple_value=float(value))
            for name, value in row.items()
            if name not in ITERATION_KEYS and isinstance(value, int | float)
        ]
        self.scalars += len(values)
        self._add(proto(value=values), row["iteration"], row.get("seconds") or 0.0)

    def _add_confusion(self, row: Mapping[str, Any]) -> None:
        counts = row.get("confusion")
        if not counts or len(counts) != len(self._classes):
            return
        matrix = ConfusionMatrix("confusion", self._classes, tuple(map(tuple, counts)))
        png = render_figure(Figure("confusion", "Confusion", (matrix,)), "png", width=3.3)
        proto = self._proto.summary_pb2.Summary
        image = proto.Image(height=660, width=660, colorspace=3, encoded_image_string=png)
        tagged = proto.Value(tag=f"{EVALUATION}/confusion", image=image)
        self._add(proto(value=[tagged]), row["iteration"], row.get("seconds") or 0.0)

    def _add(self, summary: Any, step: int, seconds: float) -> None:
        when = self._origin + (seconds if math.isfinite(seconds) else 0.0)
        self._writer.add_event(self._proto.event_pb2.Event(wall_time=when, step=step, summary=summary))


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError("tensorboard is not installed: pip install 'clarinet-tui[tensorboard]'") from None
