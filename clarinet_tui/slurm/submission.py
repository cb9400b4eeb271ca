"""Submit runs to Slurm as job arrays: all of them, or none."""

import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import msgspec

from clarinet_tui.runs.directory import JOURNAL, RunDirectory, create_runs
from clarinet_tui.runs.files import as_input_error
from clarinet_tui.runs.journal import format_event
from clarinet_tui.runs.stage1 import stage1_role
from clarinet_tui.runs.worker_command import hook_environment
from clarinet_tui.slurm import commands
from clarinet_tui.slurm.jobs import SUBMISSIONS, Job, Jobs, lock_jobs, read_jobs, write_jobs
from clarinet_tui.slurm.options import WARNING_SECONDS, SlurmOptions
from core.config import RunConfig
from core.errors import InputError
from core.events import Failed, FailureKind
from core.files import replace_file

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


LARGEST_ARRAY = 1000
SETTINGS_FILE = "settings.json"
NAME = re.compile("clarinet-[0-9a-f]{8}")


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


def make_settings(
    runs_dir: Path,
    options: SlurmOptions,
    *,
    data_dir: Path,
    working_directory: Path,
    retries: int = 0,
    priority: int = 0,
    paused: bool = False,
    on_alarm: tuple[str, ...] = (),
    on_end: tuple[str, ...] = (),
) -> JobSettings:
    """Return the settings of a new submission; raise InputError for what Slurm has no counterpart of."""
    if priority > 0:
        raise InputError(
            "--priority: only administrators of Slurm raise priorities: use --slurm qos=NAME, or a negative one"
        )
    chdir = options.sbatch.get("chdir")
    return JobSettings(
        name=f"clarinet-{os.urandom(4).hex()}",
        runs_dir=Path(runs_dir).absolute(),
        data_dir=data_dir.absolute(),
        working_directory=Path(chdir) if chdir else working_directory.absolute(),
        options=options,
        retries=retries,
        held=paused,
        nice=-priority,
        on_alarm=on_alarm,
        on_end=on_end,
    )


def preview(settings: JobSettings, configs: Sequence[RunConfig]) -> list[str]:
    """Return the batch scripts of new runs, with ids that are made up."""
    ids = [f"run{number + 1}" for number in range(len(configs))]
    arrays = plan_arrays(configs, _array_size())
    return [
        make_script(settings, number, [ids[run] for run in array.runs], _describe(array))
        for number, array in enumerate(arrays)
    ]


def _describe(array: Array) -> str:
    return "" if array.maker is None else f"afterany:JOB_OF_run{array.maker + 1}"


def submit_new(settings: JobSettings, configs: Sequence[RunConfig]) -> list[RunDirectory]:
    """Create the runs and submit them; if Slurm refuses them, there are neither runs nor jobs."""
    max_size = _array_size()
    with create_runs(settings.runs_dir, configs) as runs:
        _submit(settings, runs, configs, max_size)
    return runs


def submit_existing(settings: JobSettings, runs: Sequence[RunDirectory]) -> None:
    """Submit runs that exist, each of which continues from its last checkpoint."""
    _submit(settings, runs, [run.read_config() for run in runs], _array_size())


def _array_size() -> int:
    return min(commands.read_max_array_size(), LARGEST_ARRAY)


def _submit(settings: JobSettings, runs: Sequence[RunDirectory], configs: Sequence[RunConfig], max_size: int) -> None:
    """Submit the arrays held and release them together: either all jobs start or none.

    The submission is unfinished until its jobs are listed: if this process dies before, the next one takes it back.
    """
    arrays = plan_arrays(configs, max_size)
    hold = ["--hold"] if settings.held or len(arrays) > 1 else []
    with lock_jobs(settings.runs_dir):
        before = read_jobs(settings.runs_dir)
        begun = msgspec.structs.replace(before, unfinished=(*before.unfinished, settings.name))
        write_jobs(settings.runs_dir, begun)
        try:
            with as_input_error(settings.directory):
                _write_files(settings, [[runs[run].id for run in array.runs] for array in arrays])
                jobs = _submit_arrays(settings, arrays, [run.id for run in runs], hold)
            write_jobs(settings.runs_dir, before.with_jobs(jobs))
            if hold and not settings.held:
                commands.hold(list(dict.fromkeys(job.id.partition("_")[0] for job in jobs)), held=False)
        except (InputError, OSError):
            _undo(settings, before, begun)
            raise


def _submit_arrays(
    settings: JobSettings, arrays: Sequence[Array], runs: Sequence[str], hold: Sequence[str]
) -> list[Job]:
    jobs: dict[int, Job] = {}
    for number, array in enumerate(arrays):
        dependency = "" if array.maker is None else f"afterany:{jobs[array.maker].id}"
        script = settings.directory / f"{number}.sh"
        content = make_script(settings, number, [runs[run] for run in array.runs], dependency)
        replace_file(script, content.encode(), 0o700)
        array_job = commands.submit(str(script), *hold)
        for task, run in enumerate(array.runs):
            jobs[run] = Job(run=runs[run], id=f"{array_job}_{task}", name=settings.name, submitted_at=time.time())
    return list(jobs.values())


def _undo(settings: JobSettings, before: Jobs, begun: Jobs) -> None:
    """Cancel what was submitted, now or when the controller answers; the first error is what the user sees."""
    shutil.rmtree(settings.directory, ignore_errors=True)
    with suppress(InputError, OSError):
        write_jobs(settings.runs_dir, begun)
        commands.cancel_named(settings.name)
        write_jobs(settings.runs_dir, before)


def _write_files(settings: JobSettings, arrays: Sequence[Sequence[str]]) -> None:
    """Write the settings, and links that lead the output of each task to worker.log of its run."""
    settings.directory.mkdir(mode=0o700, parents=True)
    replace_file(settings.directory / SETTINGS_FILE, msgspec.json.encode(settings.options) + b"\n", 0o600)
    for number, ids in enumerate(arrays):
        for task, run_id in enumerate(ids):
            (settings.directory / f"{number}-{task}.log").symlink_to(f"../../{run_id}/worker.log")


def read_options(runs_dir: Path, name: str) -> SlurmOptions | None:
    """Return the options of an earlier submission; None if it is gone."""
    if not NAME.fullmatch(name):
        return None
    try:
        content = (runs_dir / SUBMISSIONS / name / SETTINGS_FILE).read_bytes()
        return msgspec.json.decode(content, type=SlurmOptions)
    except (OSError, msgspec.DecodeError):
        return None
