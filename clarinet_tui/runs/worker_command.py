"""The command that starts the worker of a run, and the secrets that its environment contains."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError

ALARM_VARIABLE, END_VARIABLE = "CLARINET_ON_ALARM", "CLARINET_ON_END"


def worker_arguments(
    run: RunDirectory,
    data_dir: Path,
    *,
    json: str | None = None,
    fresh: bool = False,
    queued: bool = False,
    time_limit: float = 0.0,
) -> list[str]:
    """Return the arguments for Python that start the run's worker, from its checkpoint if there is one."""
    arguments = ["-m", "clarinet_tui.worker.main", run.id]
    arguments += ["--runs-dir", str(run.runs_dir), "--data-dir", str(data_dir)]
    options = {
        "--resume": run.has_checkpoint,
        "--fresh": fresh,
        "--queued": queued,
        f"--json={json}": json,
        f"--time-limit={time_limit}": time_limit,
    }
    return arguments + [option for option, is_set in options.items() if is_set]


def hook_environment(on_alarm: Iterable[str], on_end: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables that hand the commands for alarms and for the end to a worker.

    All users of a machine see the arguments of a process, only its user sees its environment; a command may contain a
    secret.
    """
    commands = {ALARM_VARIABLE: list(on_alarm), END_VARIABLE: list(on_end)}
    return {name: msgspec.json.encode(command).decode() for name, command in commands.items() if command}


def take_hook_command(name: str) -> list[str]:
    """Return the command in a variable, and remove it from the environment, which other processes inherit."""
    try:
        return msgspec.json.decode(os.environ.pop(name, "[]"), type=list[str])
    except msgspec.DecodeError as error:
        raise InputError(f"{name}: expected a JSON array of strings ({error})") from None
