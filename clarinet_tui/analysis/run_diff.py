"""What differs between two runs: settings, environment, data and code."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.journal import JournalEvent, read_journal
from core.config import setting_specs

ENVIRONMENT = ("host", "platform", "python", "device")
DATA = ("label_hash", "shape", "classes", "source_size", "target_size", "test_size", "priors", "notes")
MAX_PATCH_LINES = 400


@dataclass(frozen=True)
class Difference:
    """One value of both runs; None if it was not recorded."""

    group: str
    name: str
    first: Any
    second: Any


@dataclass(frozen=True)
class RunDiff:
    differences: tuple[Difference, ...]
    patch: tuple[str, ...]
    """A unified diff between the uncommitted changes of both."""

    def group(self, name: str) -> list[Difference]:
        return [difference for difference in self.differences if difference.group == name]


GROUPS = ("settings", "data", "environment", "code")


def diff_runs(first: RunDirectory, second: RunDirectory) -> RunDiff:
    """Compare everything that two runs have recorded before their first iteration."""
    described = [_describe(run) for run in (first, second)]
    differences = [
        Difference(group, name, *values)
        for group in GROUPS
        for name in dict.fromkeys((*described[0][group], *described[1][group]))
        if (values := tuple(fields[group].get(name) for fields in described))[0] != values[1]
    ]
    patches = [_git(read_environment(run)).get("patch") for run in (first, second)]
    return RunDiff(tuple(differences), tuple(islice(_patch_diff(*patches), MAX_PATCH_LINES)))


def _describe(run: RunDirectory) -> dict[str, dict[str, Any]]:
    config, environment, started = run.read_config(), read_environment(run), _started(run)
    git, versions = _git(environment), environment.get("versions")
    code = {"commit": git.get("commit"), "uncommitted changes": bool(git.get("patch")) if git else None}
    return {
        "settings": {spec.name: attrgetter(spec.name)(config) for spec in setting_specs()},
        "data": {name: started.get(name) for name in DATA},
        "environment": {name: environment.get(name) for name in ENVIRONMENT}
        | (versions if isinstance(versions, dict) else {}),
        "code": code,
    }


def _started(run: RunDirectory) -> Mapping[str, Any]:
    first = next(read_journal(run.journal), None) if run.journal.exists() else None
    return first.fields if isinstance(first, JournalEvent) else {}


def _git(environment: Mapping[str, Any]) -> Mapping[str, Any]:
    git = environment.get("git")
    return git if isinstance(git, dict) else {}


def _patch_diff(first: Any, second: Any) -> Iterator[str]:
    before, after = (patch.splitlines() if isinstance(patch, str) else [] for patch in (first, second))
    return difflib.unified_diff(before, after, lineterm="", n=1)
