"""Runs with the epochs that selection rules choose, and groups of them that may be averaged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from clarinet_tui.analysis.choices import Rule
from clarinet_tui.analysis.selection import SelectedEpoch, last_stage, select_epochs
from clarinet_tui.history.axes import GivenStage1, find_shared_stage1
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import RunRow, list_runs, read_evaluations, read_events
from clarinet_tui.history.variants import Settings, Variant, comparable_settings, group_runs
from clarinet_tui.runs.state import RunState
from core.config import RunConfig, convert_settings, nest_settings
from core.errors import InputError

STATE_ORDER = (
    RunState.FINISHED,
    RunState.RUNNING,
    RunState.STARTING,
    RunState.QUEUED,
    RunState.SILENT,
    RunState.STOPPED,
    RunState.LOST,
    RunState.FAILED,
)
"""The most advanced state first."""


@dataclass(frozen=True)
class SeedRun:
    """One run of a mean, and its epoch that counts."""

    run: str
    seed: int | None
    state: RunState
    selected: SelectedEpoch | None
    """The reported epoch; for an unfinished run, the one selected so far."""
    epoch: int | None
    epochs_total: int | None
    source_accuracy: float | None
    pseudo_label_accuracy: float | None
    seconds: float | None
    """Device seconds, including a shared stage 1."""
    shared: GivenStage1 | None
    label_hash: str | None
    device: str | None
    hardware: str | None
    """The model of the GPU or CPU."""

    @property
    def accuracy(self) -> float | None:
        """The accuracy that counts, None unless the run is finished."""
        return self.selected.accuracy if self.selected and self.state is RunState.FINISHED else None


def seed_order(run: SeedRun) -> tuple[bool, int]:
    return run.seed is None, run.seed or 0


@dataclass(frozen=True)
class RunRecord:
    """One run with its provenance and the epoch selected by each rule."""

    row: RunRow
    selected: Mapping[Rule, SelectedEpoch]
    shared: GivenStage1 | None
    """Stage 1 that the run took over from another run."""

    @cached_property
    def config(self) -> RunConfig | None:
        """All settings; None if they cannot be read."""
        if not self.row.settings:
            return None
        try:
            return convert_settings(nest_settings(self.row.settings), f"run {self.row.id}")
        except InputError:
            return None

    @cached_property
    def settings(self) -> Settings | None:
        """The settings that must be equal within a mean; None if they cannot be read."""
        return comparable_settings(self.row.settings) if self.row.settings else None

    @property
    def is_finished(self) -> bool:
        return self.row.state is RunState.FINISHED

    @property
    def seconds(self) -> float | None:
        """Device seconds, including a shared stage 1."""
        if self.row.seconds is None:
            return None
        return self.row.seconds + (self.shared.seconds or 0.0 if self.shared else 0.0)

    def select(self, rule: Rule) -> SeedRun:
        """Return the run with its epoch that counts under the rule."""
        row = self.row
        return SeedRun(
            run=row.id,
            seed=row.seed,
            state=row.state,
            selected=self.selected.get(rule),
            epoch=row.epoch,
            epochs_total=row.epochs_total,
            source_accuracy=row.source_accuracy,
            pseudo_label_accuracy=row.pseudo_label_accuracy,
            seconds=self.seconds,
            shared=self.shared,
            label_hash=row.label_hash,
            device=row.device,
            hardware=row.hardware,
        )


class RunRecords:
    """Reads run records and caches each until its run changes."""

    def __init__(self, db: Database, runs_dir: Path) -> None:
        self.db = db
        self.runs_dir = runs_dir
        self._cache: dict[str, RunRecord] = {}

    def search(self, query: str = "") -> list[RunRecord]:
        """Return the records of all matching runs, newest first."""
        return [self.record(row) for row in list_runs(self.db, query, limit=2**31)]

    def is_cached(self, row: RunRow) -> bool:
        """Whether `record(row)` needs no file or database access."""
        cached = self._cache.get(row.id)
        return cached is not None and cached.row == row

    def record(self, row: RunRow) -> RunRecord:
        if not self.is_cached(row):
            self._cache[row.id] = self._read(row)
        return self._cache[row.id]

    def _read(self, row: RunRow) -> RunRecord:
        events = read_events(self.db, row.id)
        return RunRecord(
            row=row,
            selected=select_epochs(read_evaluations(self.db, row.id), stage=last_stage(row.method)),
            shared=find_shared_stage1(events),
        )


def runs_by_seed(records: Iterable[RunRecord], rule: Rule) -> dict[int | None, list[SeedRun]]:
    """Return the runs of each seed, of which the first one counts; the records are the newest first.

    It is the newest finished run with a result, or else the newest one in the most advanced state.
    """
    by_seed: dict[int | None, list[SeedRun]] = {}
    for run in sorted((record.select(rule) for record in records), key=seed_order):
        by_seed.setdefault(run.seed, []).append(run)
    for runs in by_seed.values():
        runs.sort(key=lambda run: (run.accuracy is None, STATE_ORDER.index(run.state)))
    return by_seed


@dataclass(frozen=True)
class ComparableRuns:
    """The records of a variant."""

    variant: Variant
    records: tuple[RunRecord, ...]
    """Newest first."""


def group_records(records: Sequence[RunRecord], *, by_commit: bool = False) -> list[ComparableRuns]:
    """Return the variants of records of one method, task and preset, as `group_runs` orders them."""
    by_id = {record.row.id: record for record in records}
    variants = group_runs([record.row for record in records], by_commit=by_commit)
    return [ComparableRuns(variant, tuple(by_id[run] for run in variant.ids)) for variant in variants]
