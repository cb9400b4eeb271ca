"""Submit runs to Slurm as job arrays: all of them, or none."""

import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec

from clarinet_tui.place import LaunchOptions, SlurmOptions
from clarinet_tui.runs.directory import JOURNAL, RunDirectory
from clarinet_tui.runs.files import as_input_error
from clarinet_tui.runs.journal import format_event
from clarinet_tui.runs.stage1 import stage1_role
from clarinet_tui.runs.worker_command import hook_environment
from clarinet_tui.slurm import commands
from clarinet_tui.slurm.jobs import SUBMISSIONS, Job, check_no_job, lock_jobs, read_jobs, write_jobs
from clarinet_tui.slurm.options import WARNING_SECONDS
from core.config import RunConfig
from core.errors import InputError
from core.events import Failed, FailureKind
from core.files import replace_file

SETTINGS_FILE = "settings.json"
NAME = re.compile("clarinet-[0-9a-f]{8}")
OPTIONS_OF_SLURM = {
    "not_before": "--slurm begin=TIME",
    "after": "--slurm dependency=afterok:JOB",
    "time_limit": "--slurm time=LIMIT",
}
"""Options that Slurm has itself, and what to use there."""
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
class Array:
    """Positions of runs that are submitted together."""

    runs: list[int]
    maker: int | None = None
    """The position of the run whose stage 1 they wait for."""


def plan_arrays(configs: Sequence[RunConfig], max_size: int) -> list[Array]:
    """Group runs: the first of those with the same stage 1 makes its labels, and the others wait for its job."""
    makers: dict[str, int] = {}
    waiting: dict[int, list[int]] = {}
    first: list[int] = []
    for position, config in enumerate(configs):
        role = stage1_role(config)
        maker = position if role is None else makers.setdefault(role.signature, position)
        if role is not None and role.reuses_labels and maker != position:
            waiting.setdefault(maker, []).append(position)
        else:
            first.append(position)
    arrays = [Array(chunk) for chunk in _chunks(first, max_size)]
    return arrays + [Array(chunk, maker) for maker, runs in waiting.items() for chunk in _chunks(runs, max_size)]


def _chunks(positions: list[int], size: int) -> Iterator[list[int]]:
    rest = iter(positions)
    while chunk := list(islice(rest, size)):
        yield chunk


class Submission:
    """Runs that are submitted together. Their jobs have a random name, and so has the directory of their scripts."""

    def __init__(self, runs_dir: Path, options: LaunchOptions) -> None:
        """Raise InputError for options that Slurm has no counterpart of."""
        for name, option in OPTIONS_OF_SLURM.items():
            if getattr(options, name):
                raise InputError(f"--{name.replace('_', '-')}: is not for Slurm jobs: use {option}")
        if options.priority > 0:
            raise InputError(
                "--priority: only administrators of Slurm raise priorities: use --slurm qos=NAME, or a negative one"
            )
        self.name = f"clarinet-{os.urandom(4).hex()}"
        self.runs_dir = Path(runs_dir).absolute()
        self.directory = self.runs_dir / SUBMISSIONS / self.name
        self.options, self.slurm = options, options.slurm or SlurmOptions()

    def preview(self, configs: Sequence[RunConfig]) -> list[str]:
        """Return the batch scripts of new runs, with ids that are made up."""
        scripts = []
        for number, array in enumerate(plan_arrays(configs, commands.read_max_array_size())):
            dependency = "" if array.maker is None else f"afterany:JOB_OF_run{array.maker + 1}"
            scripts.append(self.make_script(number, [f"run{run + 1}" for run in array.runs], dependency))
        return scripts

    def submit(self, runs: Sequence[RunDirectory], configs: Sequence[RunConfig], max_size: int) -> None:
        """Submit the arrays held and release them together: either all jobs start or none.

        The submission is unfinished until its jobs are listed: if this process dies before, the next one takes it back.
        """
        arrays = plan_arrays(configs, max_size)
        hold = ["--hold"] if self.options.paused or len(arrays) > 1 else []
        with lock_jobs(self.runs_dir):
            before = read_jobs(self.runs_dir)
            check_no_job(runs, before)
            begun = msgspec.structs.replace(before, unfinished=(*before.unfinished, self.name))
            write_jobs(self.runs_dir, begun)
            try:
                with as_input_error(self.directory):
                    jobs = self._submit_arrays(arrays, [run.id for run in runs], hold)
                write_jobs(self.runs_dir, before.with_jobs(jobs))
                if hold and not self.options.paused:
                    commands.hold(list(dict.fromkeys(job.id.partition("_")[0] for job in jobs)), held=False)
            except (InputError, OSError):
                shutil.rmtree(self.directory, ignore_errors=True)
                # Cancelled now or when the controller answers; the first error is what the user sees.
                with suppress(InputError, OSError):
                    write_jobs(self.runs_dir, begun)
                    commands.cancel_named(self.name)
                    write_jobs(self.runs_dir, before)
                raise

    def _submit_arrays(self, arrays: Sequence[Array], runs: Sequence[str], hold: Sequence[str]) -> list[Job]:
        """Write the options, the scripts, and links that lead the output of each task to worker.log of its run."""
        self.directory.mkdir(mode=0o700, parents=True)
        replace_file(self.directory / SETTINGS_FILE, msgspec.json.encode(self.slurm) + b"\n", 0o600)
        for number, array in enumerate(arrays):
            for task, run in enumerate(array.runs):
                (self.directory / f"{number}-{task}.log").symlink_to(f"../../{runs[run]}/worker.log")
        jobs: dict[int, Job] = {}
        for number, array in enumerate(arrays):
            dependency = "" if array.maker is None else f"afterany:{jobs[array.maker].id}"
            script = self.directory / f"{number}.sh"
            content = self.make_script(number, [runs[run] for run in array.runs], dependency)
            replace_file(script, content.encode(), 0o700)
            array_job = commands.submit(str(script), *hold)
            for task, run in enumerate(array.runs):
                jobs[run] = Job(run=runs[run], id=f"{array_job}_{task}", name=self.name, submitted_at=time.time())
        return list(jobs.values())

    def make_script(self, number: int, runs: Sequence[str], dependency: str = "") -> str:
        """Return the script of the submission's array with this number."""
        slurm, options = self.slurm, self.options
        throttle = f"%{slurm.throttle}" if slurm.throttle else ""
        directives = {
            "job-name": self.name,
            "array": f"0-{len(runs) - 1}{throttle}",
            "output": str(self.directory / f"{number}-%a.log").replace("%", "%%").replace("%%a.log", "%a.log"),
            "open-mode": "append",
            "requeue": "",
            "signal": f"B:USR1@{WARNING_SECONDS}",
            "nice": str(-options.priority) if options.priority else None,
            **slurm.sbatch,
            "dependency": ",".join(filter(None, (dependency, slurm.sbatch.get("dependency")))) or None,
        }
        lines = []
        for key, value in directives.items():
            if value is not None:  # sbatch ends an unquoted value at a space or a number sign
                quoted = f'"{value}"' if any(character in value for character in " #\t") else value
                lines.append(f"#SBATCH --{key}={quoted}" if value else f"#SBATCH --{key}")
        folder = slurm.sbatch.get("chdir") or options.working_directory
        python = slurm.python or shlex.quote(sys.executable)
        setup = f"{{ {slurm.setup}\n}} || fail {_failure(f'the setup line failed on {_NODE}: see its log')}\n"
        hooks = hook_environment(options.on_alarm, options.on_end)
        arguments = ["--runs-dir", str(self.runs_dir), "--data-dir", options.data_dir, "--array", str(number)]
        arguments += ["--max-requeues", str(slurm.max_requeues), "--retries", str(options.retries)]
        return _TEMPLATE.format(
            directives="\n".join(lines),
            runs=" ".join(runs),
            node=_NODE,
            time=_TIME,
            runs_dir=shlex.quote(str(self.runs_dir)),
            journal=JOURNAL,
            working_directory=shlex.quote(folder),
            no_directory=_failure(f"the node {_NODE} has no directory {folder}"),
            variables="".join(f"export {name}={shlex.quote(value)}\n" for name, value in hooks.items()),
            setup=setup if slurm.setup else "",
            python=python,
            no_python=_failure(f"on the node {_NODE}, {python} does not start or has no Clarinet: see its log"),
            arguments=shlex.join(arguments),
        )


def _failure(message: str) -> str:
    """Return the journal's line for a failure, as a word of the shell; the node and the time are filled in there."""
    event = Failed(iteration=0, message=message, kind=FailureKind.NOT_STARTED)
    return shlex.quote(format_event(event, 0.0).decode().rstrip().replace('"time":0.0', f'"time":{_TIME}'))


def read_options(runs_dir: Path, name: str) -> SlurmOptions | None:
    """Return the options of an earlier submission; None if it is gone."""
    if not NAME.fullmatch(name):
        return None
    try:
        content = (runs_dir / SUBMISSIONS / name / SETTINGS_FILE).read_bytes()
        return msgspec.json.decode(content, type=SlurmOptions)
    except (OSError, msgspec.DecodeError):
        return None
