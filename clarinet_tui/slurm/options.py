"""Options of a Slurm job: any option of sbatch, and a few of ours."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from clarinet_tui.place import SlurmOptions
from core.config import format_value
from core.errors import InputError

KEY = re.compile(r"[a-z][a-z0-9-]{1,40}", re.ASCII)
WARNING_SECONDS = 120
"""Slurm signals a job this long before its time limit, so that it can save itself."""
SET_BY_US = {
    "job-name": "jobs are found by their name",
    "output": "the output goes to the run's worker.log",
    "error": "the output goes to the run's worker.log",
    "open-mode": "the output is appended",
    "requeue": "jobs are always requeued; max-requeues=0 turns it off",
    "no-requeue": "use max-requeues=0",
    "signal": f"jobs are signalled {WARNING_SECONDS} s before their time limit",
    "ntasks": "a run is one task",
    "hold": "use --paused",
    **dict.fromkeys(
        ("test-only", "parsable", "wrap", "wait", "help", "usage", "version", "quiet"), "it submits nothing"
    ),
}
"""Options of sbatch that users cannot set, and why."""


def parse_pairs(pairs: Iterable[str], source: str = "--slurm", base: SlurmOptions | None = None) -> SlurmOptions:
    """Parse KEY=VALUE pairs, which override those of `base`; KEY alone is a flag."""
    table: dict[str, Any] = {}
    for pair in pairs:
        key, _, value = pair.partition("=")
        table[key.strip().removeprefix("--")] = value.strip()
    return parse_table(table, source, base)


def parse_table(table: Mapping[str, Any], source: str, base: SlurmOptions | None = None) -> SlurmOptions:
    """Parse the table [slurm] of a sweep file."""
    options = base or SlurmOptions()
    for key, value in table.items():
        where = f"{source}: {key[:40]}"
        if value is False or not isinstance(value, str | int):
            raise InputError(f"{where}: expected a text, a number or true, got {format_value(value)}")
        text = "" if value is True else str(value)
        if not KEY.fullmatch(key):
            raise InputError(f"{where}: expected the long name of an sbatch option, such as partition")
        if key in SET_BY_US:
            raise InputError(f"{where}: cannot be set: {SET_BY_US[key]}")
        if not text.isprintable():
            raise InputError(f"{where}: expected one line of text")
        change: dict[str, Any]
        if key in ("setup", "python"):
            try:
                shlex.split(text)
            except ValueError as error:
                raise InputError(f"{where}: {error}") from None
            change = {key: text}
        elif key == "max-requeues":
            change = {"max_requeues": _count(text, where)}
        elif key == "array":
            if not text.startswith("%"):
                raise InputError(f"{where}: expected %N, the number of runs at once: Clarinet numbers the tasks")
            change = {"throttle": _count(text[1:], where)}
        elif re.search(r"['\"\\]", text):
            raise InputError(f"{where}: expected a value without quotes and backslashes")
        else:
            change = {"sbatch": {**options.sbatch, key: text}}
        options = msgspec.structs.replace(options, **change)
    return options


def _count(text: str, where: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", text):
        raise InputError(f"{where}: expected a number, got {format_value(text)}")
    return int(text)


def format_pairs(options: SlurmOptions) -> Iterator[str]:
    """Yield the KEY=VALUE pairs that parse to these options."""
    for key, value in options.sbatch.items():
        yield f"{key}={value}" if value else key
    if options.throttle:
        yield f"array=%{options.throttle}"
    if options.max_requeues != SlurmOptions().max_requeues:
        yield f"max-requeues={options.max_requeues}"
    for key, value in (("setup", options.setup), ("python", options.python)):
        if value:
            yield f"{key}={value}"
