"""What differs between two runs: settings, environment, data and code."""

import difflib
from dataclasses import dataclass
from itertools import islice
from typing import Any

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import describe_environment, read_environment
from clarinet_tui.runs.journal import read_first_event
from core.config import setting_values

ENVIRONMENT = ("host", "platform", "python", "device")
DATA = ("label_hash", "shape", "classes", "source_size", "target_size", "test_size", "priors", "notes")
MAX_PATCH_LINES = 400


@dataclass(frozen=True)
class RecordedDifference:
    """One value of both runs; None if it was not recorded."""

    group: str
    name: str
    first: Any
    second: Any


GROUPS = ("settings", "data", "environment", "code")


def diff_runs(first: RunDirectory, second: RunDirectory) -> tuple[list[RecordedDifference], list[str]]:
    """Compare everything that two runs have recorded before their first iteration.

    Return the differences by group, and a unified diff between the uncommitted changes of both.
    """
    described = [_describe(run) for run in (first, second)]
    differences = [
        RecordedDifference(group, name, *values)
        for group in GROUPS
        for name in dict.fromkeys((*described[0][group], *described[1][group]))
        if (values := tuple(fields[group].get(name) for fields in described))[0] != values[1]
    ]
    before, after = (describe_environment(read_environment(run)).patch.splitlines() for run in (first, second))
    patch = difflib.unified_diff(before, after, lineterm="", n=1)
    return differences, list(islice(patch, MAX_PATCH_LINES))


def _describe(run: RunDirectory) -> dict[str, dict[str, Any]]:
    config, fields = run.read_config(), read_environment(run)
    started = read_first_event(run.journal) or {}
    environment = describe_environment(fields)
    changes = bool(environment.patch) if fields.get("git") else None
    return {
        "settings": setting_values(config),
        "data": {name: started.get(name) for name in DATA},
        "environment": {name: fields.get(name) for name in ENVIRONMENT} | dict(environment.versions),
        "code": {"commit": environment.commit or None, "uncommitted changes": changes},
    }
