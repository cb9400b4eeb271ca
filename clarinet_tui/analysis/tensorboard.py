"""A run as event files that TensorBoard opens: every metric, the confusion matrices, and the settings as hparams."""

import importlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from clarinet_tui.analysis.figures.figure import ConfusionMatrix, Figure
from clarinet_tui.analysis.figures.matplotlib_output import render_figure
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import ITERATION_KEYS, RunRow, read_evaluations, read_events, read_iterations
from core.config import RunConfig, setting_values
from core.errors import InputError

EVALUATION = "evaluation"
"""The prefix of what is measured at an evaluation, apart from the metrics of each iteration."""
RESULT = f"{EVALUATION}/target_accuracy"


class EventFiles:
    """Writes a run into a directory of its own, and continues where it stopped when it is called again."""

    def __init__(self, folder: Path, row: RunRow) -> None:
        self._proto = _import("tensorboard.compat.proto")
        for name in ("event_pb2", "summary_pb2"):
            _import(f"tensorboard.compat.proto.{name}")
        writer = _import("tensorboard.summary.writer.event_file_writer")
        self._writer = writer.EventFileWriter(str(folder / row.id))
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
