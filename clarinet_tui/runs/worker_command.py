"""The command that starts the worker of a run, and the secrets that its environment contains."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError

ALARM_VARIABLE = "CLARINET_ON_ALARM"


def worker_arguments(
    run: RunDirectory,
    data_dir: Path,
    *,
    json: bool = False,
    fresh: bool = False,
    queued: bool = False,
) -> list[str]:
    """Return the arguments for Python that start the run's worker, from its checkpoint if there is one."""
    arguments = ["-m", "clarinet_tui.worker.main", run.id]
    arguments += ["--runs-dir", str(run.runs_dir), "--data-dir", str(data_dir)]
    flags = {"--json": json, "--resume": run.has_checkpoint, "--fresh": fresh, "--queued": queued}
    return arguments + [flag for flag, is_set in flags.items() if is_set]


def alarm_environment(on_alarm: Iterable[str]) -> dict[str, str]:
    """Return the variable that hands the command for alarms to a worker.

    All users of a machine see the arguments of a process, only its user sees its environment; the command may contain
    a secret.
    """
    command = list(on_alarm)
    return {ALARM_VARIABLE: msgspec.json.encode(command).decode()} if command else {}


def take_alarm_command() -> list[str]:
    """Return the command for alarms, and remove it from the environment, which other processes inherit."""
    try:
        return msgspec.json.decode(os.environ.pop(ALARM_VARIABLE, "[]"), type=list[str])
    except msgspec.DecodeError as error:
        raise InputError(f"{ALARM_VARIABLE}: expected a JSON array of strings ({error})") from None
