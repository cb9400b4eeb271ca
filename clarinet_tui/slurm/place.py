"""A cluster with Slurm as a place: runs are jobs of arrays, and Slurm starts, orders and ends them."""

import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

import msgspec

from clarinet_tui.devices.device import Device, Partition
from clarinet_tui.place import (
    STOP_TIMEOUT,
    LaunchOptions,
    PlaceName,
    QueueRow,
    SlurmOptions,
    StopResult,
    check_waiting,
    settings_of_row,
)
from clarinet_tui.runs.directory import JOURNAL, RunDirectory, create_runs, find_config
from clarinet_tui.runs.files import as_input_error, find_json
from clarinet_tui.runs.journal import format_event
from clarinet_tui.runs.stage1 import stage1_role
from clarinet_tui.runs.worker_command import hook_environment
from clarinet_tui.slurm import commands
from clarinet_tui.slurm.attempts import JobEnded, append_event, last_submission
from clarinet_tui.slurm.commands import QueuedJob, SlurmError
from clarinet_tui.slurm.jobs import (
    SUBMISSIONS,
    Job,
    check_no_job,
    describe_wait,
    lock_jobs,
    read_jobs,
    refresh_jobs,
    try_refresh,
    update_jobs,
    write_jobs,
)
from clarinet_tui.slurm.options import WARNING_SECONDS
from clarinet_tui.text import printable
from core.config import RunConfig
from core.errors import InputError
from core.events import Failed, FailureKind
from core.files import replace_file

KILL_WAIT = 65.0
"""Seconds for Slurm to end a job that was cancelled; its own KillWait is 30 by default."""
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


class SlurmPlace:
    """Jobs of this user; what is listed is at most ten seconds old."""

    name: ClassVar[PlaceName] = PlaceName.SLURM
    title: ClassVar[str] = "Slurm"
    is_here: ClassVar[bool] = False

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = Path(runs_dir)
        self._partitions: list[Partition] = []
        self._partitions_read = float("-inf")

    def submit(
        self, configs: Sequence[RunConfig], options: LaunchOptions, *, run_id: str | None = None, front: bool = False
    ) -> list[RunDirectory]:
        """Create runs and submit them; `front` is ignored, as Slurm orders jobs by their priority."""
        submission, max_size = Submission(self.runs_dir, options), commands.read_max_array_size()
        with create_runs(self.runs_dir, configs, run_id=run_id) as runs:
            submission.submit(runs, configs, max_size)
        return runs

    def resume(self, runs: Sequence[RunDirectory], options: LaunchOptions, *, device: str | None = None) -> None:
        """Submit existing runs; `device` is ignored, as Slurm gives each job its own."""
        configs = [run.read_config() for run in runs]
        Submission(self.runs_dir, options).submit(runs, configs, commands.read_max_array_size())

    def last_options(self, run: RunDirectory, options: LaunchOptions) -> LaunchOptions | None:
        """Return the options of the run's last submission but its dependency: ids of jobs are used again."""
        name = last_submission(run)
        file = self.runs_dir / SUBMISSIONS / name / SETTINGS_FILE
        slurm = find_json(file, SlurmOptions) if NAME.fullmatch(name) else None
        if slurm is None:
            return None
        kept = {key: value for key, value in slurm.sbatch.items() if key != "dependency"}
        return msgspec.structs.replace(options, slurm=msgspec.structs.replace(slurm, sbatch=kept))

    def preview(self, configs: Sequence[RunConfig], options: LaunchOptions) -> list[str]:
        """Return the batch scripts, with ids that are made up."""
        submission, scripts = Submission(self.runs_dir, options), []
        for number, array in enumerate(plan_arrays(configs, commands.read_max_array_size())):
            dependency = "" if array.waits_for is None else f"afterany:JOB_OF_run{array.waits_for + 1}"
            scripts.append(submission.make_script(number, [f"run{run + 1}" for run in array.runs], dependency))
        return scripts

    def cores(self, device: str, options: LaunchOptions) -> int | None:
        """Return the cores of a job, of which Slurm gives one by default."""
        text = options.slurm.sbatch.get("cpus-per-task", "1") if options.slurm else "1"
        return int(text) if text.isdecimal() and int(text) else 1

    def has(self, run_id: str) -> bool:
        return read_jobs(self.runs_dir).find(run_id) is not None

    def check_absent(self, runs: Sequence[RunDirectory]) -> None:
        check_no_job(runs, refresh_jobs(self.runs_dir, force=True))

    def stop(self, run: RunDirectory, timeout: float = STOP_TIMEOUT) -> StopResult:
        job = refresh_jobs(self.runs_dir, force=True).find(run.id)
        if job is None:
            raise InputError(f"run {run.id}: is not running")
        if job.is_waiting:
            self._cancel([job])
            return StopResult.DEQUEUED
        if job.state != "COMPLETING":
            commands.cancel([job.id], signal="INT")
        stopping = msgspec.structs.replace(job, kill_at=time.time() + timeout)
        update_jobs(self.runs_dir, lambda jobs: jobs.with_jobs([stopping]) if jobs.find(run.id) else jobs)
        return StopResult.REQUESTED

    def wait_until_stopped(self, run: RunDirectory, timeout: float) -> None:
        """Wait until the run has no job; Slurm needs up to KillWait seconds to end one that does not save itself."""
        begun = time.monotonic()
        while self.has(run.id) and refresh_jobs(self.runs_dir, force=True).find(run.id):
            if time.monotonic() - begun > timeout + KILL_WAIT:
                raise InputError(f"run {run.id}: its Slurm job has not ended within {timeout + KILL_WAIT:g} s")
            time.sleep(1.0)

    def waiting_jobs(self, run_ids: Collection[str]) -> list[Job]:
        """Return the jobs of these runs; raise InputError if one of them has none, or has started."""
        jobs = {job.run: job for job in read_jobs(self.runs_dir).jobs}
        for run_id in run_ids:
            check_waiting(RunDirectory(self.runs_dir, run_id), jobs[run_id].is_waiting if run_id in jobs else None)
        return [jobs[run_id] for run_id in run_ids]

    def hold(self, run_ids: Collection[str], held: bool) -> None:
        commands.hold([job.id for job in self.waiting_jobs(run_ids)], held)
        refresh_jobs(self.runs_dir, force=True)

    def move(self, run_ids: Sequence[str], index: int) -> None:
        """Move waiting jobs to `index` among the user's own: the jobs behind it get a higher nice value."""
        jobs, waiting = self.waiting_jobs(run_ids), self._waiting_rows()
        for job in jobs:
            if job.id not in waiting:
                raise InputError(f"run {job.run}: cannot be moved: it is paused or starts now")
        moved = [waiting[job.id] for job in jobs]
        others = [row for row in waiting.values() if row not in moved]
        order = [*others[:index], *moved, *others[index:]]
        for nice, job_ids in nice_values(order).items():
            commands.call("scontrol", "update", f"JobId={','.join(job_ids)}", f"Nice={nice}")
        left = self._waiting_rows()
        if [row.id for row in order if row.id in left] != list(left):
            raise InputError(f"run {jobs[0].run}: Slurm keeps its own order here: pause the runs before it instead")
        refresh_jobs(self.runs_dir, force=True)

    def _waiting_rows(self) -> dict[str, QueuedJob]:
        """Return the jobs that wait and are not held, by id, in the order in which Slurm starts them."""
        jobs = {(job.id, job.name) for job in read_jobs(self.runs_dir).jobs}
        rows = (row for row in commands.list_jobs({name for _, name in jobs}) if (row.id, row.name) in jobs)
        waiting = [row for row in rows if row.state == "PENDING" and row.priority]
        return {row.id: row for row in sorted(waiting, key=lambda row: row.order)}

    def cancel(self, run_ids: Collection[str]) -> None:
        self._cancel(self.waiting_jobs(run_ids))

    def _cancel(self, jobs: Sequence[Job]) -> None:
        commands.cancel([job.id for job in jobs])
        for job in jobs:
            ended = JobEnded(time=time.time(), job=job.id, name=job.name, state="CANCELLED")
            append_event(RunDirectory(self.runs_dir, job.run), ended)
        update_jobs(self.runs_dir, lambda table: table.without([job.run for job in jobs]))

    def list_runs(self, devices: Sequence[Device] | None = None) -> list[QueueRow]:
        """Return the runs that have a job; positions are those among the user's own jobs."""
        jobs = sorted(try_refresh(self.runs_dir).jobs, key=lambda job: job.is_waiting)
        return [
            QueueRow(
                id=job.run,
                **settings_of_row(find_config(self.runs_dir, job.run)),
                device=self.name,
                started_on="" if job.is_waiting else job.node or self.name,
                position=max(position, 0),
                wait_reason=describe_wait(job) if job.is_waiting else "",
                job=job.id,
                is_paused=job.is_held,
                is_stopping=job.kill_at is not None,
            )
            for position, job in enumerate(jobs, 1 - sum(not job.is_waiting for job in jobs))
        ]

    def describe_problems(self) -> list[str]:
        problem = refresh_jobs(self.runs_dir).problem
        return [printable(problem)] if problem else []

    def list_devices(self) -> list[Partition]:
        """Return the partitions; none where Slurm is not installed or does not answer."""
        if time.monotonic() - self._partitions_read > 60.0:  # they change rarely
            self._partitions_read = time.monotonic()
            self._partitions = []
            with suppress(SlurmError):
                self._partitions = commands.list_partitions(timeout=5.0)
        return self._partitions


def nice_values(order: Sequence[QueuedJob]) -> dict[int, list[str]]:
    """Return the nice values that bring waiting jobs into this order, with the jobs that need them.

    Values only rise: users may not lower them below 0.
    """
    values: dict[int, list[str]] = {}
    last: QueuedJob | None = None
    for row in order:
        if last is not None and row.order < last.order:
            equal = row._replace(priority=last.priority)
            priority = last.priority - (equal.order < last.order)
            values.setdefault(row.nice + row.priority - priority, []).append(row.id)
            row = row._replace(priority=priority)
        last = row
    return values


class Array(NamedTuple):
    """Positions of runs that are submitted together."""

    runs: list[int]
    waits_for: int | None = None
    """The position of the run whose stage 1 they need."""


def plan_arrays(configs: Sequence[RunConfig], max_size: int) -> list[Array]:
    """Group runs: the first of those with the same stage 1 trains it, and the others wait for its job."""
    first_with: dict[str, int] = {}
    groups: dict[int | None, list[int]] = {None: []}
    for position, config in enumerate(configs):
        role = stage1_role(config)
        first = position if role is None else first_with.setdefault(role.signature, position)
        waits = role is not None and role.reuses_labels and first != position
        groups.setdefault(first if waits else None, []).append(position)
    return [
        Array(runs[start : start + max_size], waits_for)
        for waits_for, runs in groups.items()
        for start in range(0, len(runs), max_size)
    ]


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
            dependency = "" if array.waits_for is None else f"afterany:{jobs[array.waits_for].id}"
            script = self.directory / f"{number}.sh"
            content = self.make_script(number, [runs[run] for run in array.runs], dependency)
            replace_file(script, content.encode(), 0o700)
            array_job = commands.submit(str(script), *hold)
            now, reason = time.time(), "JobHeldUser" if self.options.paused else ""
            for task, run in enumerate(array.runs):
                job_id = f"{array_job}_{task}"
                jobs[run] = Job(run=runs[run], id=job_id, name=self.name, submitted_at=now, reason=reason)
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
