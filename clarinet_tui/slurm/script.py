"""The batch script of an array of runs."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clarinet_tui.runs.directory import JOURNAL
from clarinet_tui.runs.journal_format import format_event
from clarinet_tui.runs.worker_command import hook_environment
from clarinet_tui.slurm.options import WARNING_SECONDS, SlurmOptions
from core.events import Failed, FailureKind

SUBMISSIONS = ".slurm"
"""The directory in a runs directory with the batch scripts."""
_NODE, _TIME = "@node@", "@time@"
"""Filled in on the node."""
_TEMPLATE = """\
#!/bin/bash
{directives}

# Ignored until the job's own process handles them.
trap '' INT USR1 USR2
runs=({runs})
run=${{runs[$SLURM_ARRAY_TASK_ID]}}

# Record a failure before Python has started.
fail() {{
    line=${{1//{node}/$SLURMD_NODENAME}}
    printf '%s\\n' "${{line//{time}/$(date +%s)}}" >> {runs_dir}/"$run"/{journal}
    exit 1
}}

cd {working_directory} || fail {no_directory}
{variables}{setup}{python} -P -c 'import clarinet_tui.slurm.job' || fail {no_python}
exec {python} -P -m clarinet_tui.slurm.job "$run" {arguments}
"""


@dataclass(frozen=True)
class JobSettings:
    """What all jobs of one submission share."""

    name: str
    runs_dir: Path
    data_dir: Path
    working_directory: Path
    options: SlurmOptions
    retries: int = 0
    held: bool = False
    nice: int = 0
    on_alarm: tuple[str, ...] = ()
    on_end: tuple[str, ...] = ()
    python: tuple[str, ...] = field(default=(sys.executable,))

    @property
    def directory(self) -> Path:
        return self.runs_dir / SUBMISSIONS / self.name


def make_script(settings: JobSettings, number: int, runs: Sequence[str], dependency: str = "") -> str:
    """Return the script of the submission's array with this number."""
    options = settings.options
    python = options.python or shlex.join(settings.python)
    setup = (
        f"{{ {options.setup}\n}} || fail {_failure(f'the setup line failed on {_NODE}: see its log')}\n"
        if options.setup
        else ""
    )
    no_python = _failure(f"on the node {_NODE}, {python} does not start or has no Clarinet: see its log")
    return _TEMPLATE.format(
        directives="\n".join(f"#SBATCH --{text}" for text in _directives(settings, number, len(runs), dependency)),
        runs=" ".join(runs),
        node=_NODE,
        time=_TIME,
        runs_dir=shlex.quote(str(settings.runs_dir)),
        journal=JOURNAL,
        working_directory=shlex.quote(str(settings.working_directory)),
        no_directory=_failure(f"the node {_NODE} has no directory {settings.working_directory}"),
        variables="".join(
            f"export {name}={shlex.quote(value)}\n"
            for name, value in hook_environment(settings.on_alarm, settings.on_end).items()
        ),
        setup=setup,
        python=python,
        no_python=no_python,
        arguments=shlex.join(_arguments(settings, number)),
    )


def _directives(settings: JobSettings, number: int, count: int, dependency: str) -> list[str]:
    throttle = f"%{settings.options.throttle}" if settings.options.throttle else ""
    output = str(settings.directory / f"{number}-%a.log").replace("%", "%%").replace("%%a.log", "%a.log")
    directives = {
        "job-name": settings.name,
        "array": f"0-{count - 1}{throttle}",
        "output": output,
        "open-mode": "append",
        "requeue": "",
        "signal": f"B:USR1@{WARNING_SECONDS}",
        "nice": str(settings.nice) if settings.nice else None,
        **settings.options.sbatch,
        "dependency": ",".join(filter(None, (dependency, settings.options.sbatch.get("dependency")))) or None,
    }
    return [name + (f"={_quote(value)}" if value else "") for name, value in directives.items() if value is not None]


def _quote(value: str) -> str:
    """Quote a value for sbatch, whose #SBATCH lines end at a space or a number sign."""
    return f'"{value}"' if any(character in value for character in " #\t") else value


def _arguments(settings: JobSettings, number: int) -> list[str]:
    arguments = ["--runs-dir", str(settings.runs_dir), "--data-dir", str(settings.data_dir), "--array", str(number)]
    return [*arguments, "--max-requeues", str(settings.options.max_requeues), "--retries", str(settings.retries)]


def _failure(message: str) -> str:
    """Return the journal's line for a failure, as a word of the shell; the node and the time are filled in there."""
    event = Failed(iteration=0, message=message, kind=FailureKind.NOT_STARTED)
    return shlex.quote(format_event(event, 0.0).decode().rstrip().replace('"time":0.0', f'"time":{_TIME}'))
