"""Runs with what decides whether they may be averaged: settings, data and code version."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from clarinet_tui.analysis.choices import Rule
from clarinet_tui.analysis.selection import SelectedEpoch, last_stage, select_epochs
from clarinet_tui.analysis.training_cost import SharedStage1, find_shared_stage1
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import RunRow, list_runs, read_evaluations, read_events
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.state import RunState
from core.config import RunConfig, Tag, checkpoint_settings, settings_tagged
from core.errors import InputError
from core.methods import find_method
from core.methods.registry import GAC

OWN_SEED = "the run's own"
"""Value of stage1.seed for runs whose stage 1 uses the run's seed."""
SIZES = ("source_size", "target_size", "test_size")

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class DataSummary:
    """Notes on synthetic or incomplete data, and the data set sizes of a started run."""

    notes: tuple[str, ...]
    sizes: tuple[int | None, ...]


@dataclass(frozen=True)
class CodeVersion:
    """Program version and git commit of a run, as far as recorded."""

    version: str | None = None
    commit: str | None = None
    """Commit of the directory where the run was started, with a hash of uncommitted changes after a +."""


@dataclass(frozen=True)
class RunRecord:
    """One run with its provenance and the epoch selected by each rule."""

    row: RunRow
    config: RunConfig | None
    """None if it cannot be read."""
    settings: Settings | None
    """The protocol: settings that must be equal within a mean, with keys such as `stage1.epochs`."""
    data: DataSummary | None
    """None before the run has started."""
    code: CodeVersion
    selected: Mapping[Rule, SelectedEpoch]
    shared: SharedStage1 | None
    """Stage 1 that the run took over from another run."""

    @property
    def is_finished(self) -> bool:
        return self.row.state is RunState.FINISHED

    @property
    def seconds(self) -> float | None:
        """Device seconds, including a shared stage 1."""
        if self.row.seconds is None:
            return None
        return self.row.seconds + (self.shared.seconds or 0.0 if self.shared else 0.0)


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
        run = RunDirectory(self.runs_dir, row.id)
        try:
            config: RunConfig | None = run.read_config()
        except InputError:
            config = None
        events = read_events(self.db, row.id)
        return RunRecord(
            row=row,
            config=config,
            settings=comparable_settings(config) if config else None,
            data=_data(row, events),
            code=code_version(read_environment(run)),
            selected=select_epochs(read_evaluations(self.db, row.id), stage=last_stage(row.method)),
            shared=find_shared_stage1(events),
        )


def comparable_settings(config: RunConfig) -> dict[str, Any]:
    """Return the settings that affect the results: without the seed, and without stages that the method lacks."""
    may_differ = settings_tagged(Tag.ROUNDING) | {"seed"}
    settings = {name: value for name, value in checkpoint_settings(config).items() if name not in may_differ}
    try:
        stages = find_method(config.method).stages
    except InputError:  # a plug-in that is not installed may use any setting
        stages = ()
    if stages == (GAC,):
        used = settings_tagged(Tag.IDENTITY, Tag.EVALUATION, Tag.SOURCE, Tag.STAGE1)  # GAC alone does not adapt
        settings = {name: value for name, value in settings.items() if name in used}
    stage1 = settings.pop("stage1")
    if stages and not any(stage.stage1 for stage in stages):
        return settings
    stage1["seed"] = OWN_SEED if stage1["seed"] == config.seed else stage1["seed"]
    return settings | {f"stage1.{name}": value for name, value in stage1.items()}


def _data(row: RunRow, events: list[dict[str, Any]]) -> DataSummary | None:
    started = next((event for event in reversed(events) if event["event"] == "started"), None)
    return None if started is None else DataSummary(row.notes, tuple(started.get(name) for name in SIZES))


def code_version(environment: Mapping[str, Any]) -> CodeVersion:
    versions, git = environment.get("versions"), environment.get("git")
    version = versions.get("clarinet-tui") if isinstance(versions, dict) else None
    if not isinstance(git, dict) or not isinstance(git.get("commit"), str):
        return CodeVersion(version)
    patch = str(git.get("patch") or "").encode(errors="replace")
    changed = f"+{blake2b(patch, digest_size=2).hexdigest()}" if patch else ""
    return CodeVersion(version, git["commit"][:7] + changed)
