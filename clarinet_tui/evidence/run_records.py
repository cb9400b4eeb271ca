"""Runs with all that decides whether their numbers may stand in one mean: settings, data and code."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from clarinet_tui.evidence.selection import Choice, Rule, last_stage, select_all
from clarinet_tui.evidence.training_cost import Shared, shared_stage1
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import RunRow, evaluations, events, list_runs
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from core.config import RunConfig, protocol
from core.errors import InputError
from core.methods import find_method
from core.methods.registry import GAC
from core.stage1 import SOURCE_SETTINGS, TRAINING_SETTINGS

ROUNDING_ONLY = frozenset({"seed", "threads", "compile", "channels_last"})
"""Settings in which runs of one mean may differ: the seed itself, and how the same sums are computed."""
GAC_SETTINGS = frozenset({"method", "task", "preset", "target_size", "test_size", "evaluate_every"}) | frozenset(
    SOURCE_SETTINGS + TRAINING_SETTINGS
)
"""GAC alone never adapts, so that settings of the adaptation do not matter to it."""
OWN = "the run's own"
"""stage1.seed of runs that did not share it."""
EVERYTHING = 2**31
SIZES = ("source_size", "target_size", "test_size")

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Data:
    """What is known of the images once a run has begun: notes of made or incomplete data, and sizes."""

    notes: tuple[str, ...]
    sizes: tuple[int | None, ...]


@dataclass(frozen=True)
class Code:
    """With which program a run was made, as far as it is known."""

    version: str | None = None
    commit: str | None = None
    """Of the folder where the run was started; after a + four digits that tell uncommitted changes from others."""


@dataclass(frozen=True)
class Record:
    """One run, its provenance, and the accuracy that each rule reports."""

    row: RunRow
    config: RunConfig | None
    """None where it cannot be read."""
    settings: Settings | None
    """The protocol: what must be equal within a mean, flat, stage 1's as `stage1.epochs`."""
    data: Data | None
    """None before the run has begun."""
    code: Code
    choices: Mapping[Rule, Choice]
    shared: Shared | None
    """A stage 1 that was given to the run."""

    @property
    def finished(self) -> bool:
        return self.row.state == "finished"

    @property
    def seconds(self) -> float | None:
        """Device seconds, with those of a shared stage 1."""
        if self.row.seconds is None:
            return None
        return self.row.seconds + (self.shared.seconds or 0.0 if self.shared else 0.0)


class Archive:
    """Reads records; what a run has said is read again only when the run has changed."""

    def __init__(self, db: Database, runs_dir: Path) -> None:
        self.db = db
        self.runs_dir = runs_dir
        self._known: dict[str, Record] = {}

    def search(self, query: str = "") -> list[Record]:
        """All runs that match, newest first."""
        return [self.record(row) for row in list_runs(self.db, query, limit=EVERYTHING)]

    def knows(self, row: RunRow) -> bool:
        """Whether it is there without reading."""
        known = self._known.get(row.id)
        return known is not None and known.row == row

    def record(self, row: RunRow) -> Record:
        if not self.knows(row):
            self._known[row.id] = self._read(row)
        return self._known[row.id]

    def _read(self, row: RunRow) -> Record:
        run = RunDirectory(self.runs_dir, row.id)
        try:
            config: RunConfig | None = run.read_config()
        except InputError:
            config = None
        said = events(self.db, row.id)
        return Record(
            row=row,
            config=config,
            settings=settings_of(config) if config else None,
            data=_data(row, said),
            code=code_of(read_environment(run)),
            choices=select_all(evaluations(self.db, row.id), stage=last_stage(row.method)),
            shared=shared_stage1(said),
        )


def settings_of(config: RunConfig) -> dict[str, Any]:
    """What decides the numbers, but for the seed, and but for stages that the method has not."""
    plain = {name: value for name, value in protocol(config).items() if name not in ROUNDING_ONLY}
    try:
        stages = find_method(config.method).stages
    except InputError:  # a plug-in that is not installed here may use anything
        stages = ()
    if stages == (GAC,):
        plain = {name: value for name, value in plain.items() if name in GAC_SETTINGS}
    stage1 = plain.pop("stage1")
    if stages and not any(stage.stage1 for stage in stages):
        return plain
    stage1["seed"] = OWN if stage1["seed"] == config.seed else stage1["seed"]
    return plain | {f"stage1.{name}": value for name, value in stage1.items()}


def _data(row: RunRow, said: list[dict[str, Any]]) -> Data | None:
    started = next((event for event in reversed(said) if event["event"] == "started"), None)
    return None if started is None else Data(row.notes, tuple(started.get(name) for name in SIZES))


def code_of(environment: Mapping[str, Any]) -> Code:
    versions, git = environment.get("versions"), environment.get("git")
    version = versions.get("clarinet-tui") if isinstance(versions, dict) else None
    if not isinstance(git, dict) or not isinstance(git.get("commit"), str):
        return Code(version)
    patch = str(git.get("patch") or "").encode(errors="replace")
    changed = f"+{blake2b(patch, digest_size=2).hexdigest()}" if patch else ""
    return Code(version, git["commit"][:7] + changed)
