"""Slurm's own programs: each call is bounded in time, and its output becomes data or one sentence."""

import os
import re
import subprocess
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from clarinet_tui.devices.device import Partition
from clarinet_tui.text import printable, shorten
from core.errors import InputError

TIMEOUT = 20.0
"""Seconds that the controller has to answer."""
_COLUMNS = "%i|%j|%T|%r|%S|%V|%e|%N|%Q|%y"
_PREFIX = re.compile(r"^(?:\w+: )?(?:error|fatal|allocation failure): ?", re.ASCII)
_NOISE = re.compile(r"^Try |DNS SRV|_establish_config_source|retrying|^\s*$|^\w+: debug")
_NO_CONTROLLER = re.compile(r"Unable to contact slurm controller|Zero Bytes were transmitted|Socket timed out")


class SlurmError(InputError):
    """Slurm is absent, does not answer, or refuses a request."""


class QueuedJob(NamedTuple):
    """A job as `squeue` lists it; times are Unix times, None where Slurm does not know them."""

    id: str
    """Array job and task, such as 123_4."""
    name: str
    state: str
    reason: str
    start: float | None
    submitted: float | None
    end: float | None
    node: str
    priority: int
    """0 while it is held."""
    nice: int

    @property
    def order(self) -> tuple[int, ...]:
        """What Slurm sorts waiting jobs by: the priority, then the order in which they were submitted."""
        return (-self.priority, *(int(number) for number in re.findall("[0-9]+", self.id)))


def call(program: str, *arguments: str, timeout: float = TIMEOUT) -> "subprocess.CompletedProcess[str]":
    """Run a program of Slurm; raise SlurmError if it cannot be run, does not answer, or fails."""
    try:
        done = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env={**os.environ, "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise SlurmError(
            f"slurm: {program} is not installed here: use a login node of the cluster, or --on local"
        ) from None
    except OSError as error:
        raise SlurmError(f"slurm: {program}: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise SlurmError(f"slurm: the controller did not answer {program} within {timeout:g} s: try again") from None
    if done.returncode == 0:
        return done
    if "Could not establish a configuration source" in done.stderr:
        raise SlurmError(f"slurm: {program} finds no slurm.conf: use a login node of the cluster, or set SLURM_CONF")
    if _NO_CONTROLLER.search(done.stderr):
        raise SlurmError(f"slurm: {program} cannot reach the controller: try again when `scontrol ping` says UP")
    lines = [line.removeprefix(f"{program}: ") for line in done.stderr.splitlines() if not _NOISE.search(line)]
    reason = shorten(printable(_PREFIX.sub("", lines[0])), 300) if lines else "failed without a message"
    raise SlurmError(f"slurm: {program}: {reason}")


def submit(script: str, *arguments: str) -> str:
    """Submit a batch script and return the job's id."""
    return call("sbatch", "--parsable", *arguments, script).stdout.split(";")[0].strip()


def read_max_array_size() -> int:
    """Return the number of tasks that an array may have, 1000 at most."""
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", call("scontrol", "show", "config").stdout, re.MULTILINE)
    return max(1, min(int(match[1]), 1000)) if match else 1


def list_jobs(names: Iterable[str]) -> list[QueuedJob]:
    """Return this user's jobs with these names, also those that have just ended."""
    arguments = ["--noheader", "--array", "--states=all", f"--user={os.getuid()}", f"--name={','.join(names)}"]
    return _parse_jobs(call("squeue", *arguments, f"--format={_COLUMNS}").stdout)


def find_job(job_id: str) -> QueuedJob | None:
    """Return one job; None if Slurm has forgotten it, or does not answer."""
    with suppress(SlurmError):
        output = call("squeue", "--noheader", "--array", f"--jobs={job_id}", f"--format={_COLUMNS}").stdout
        return next(iter(_parse_jobs(output)), None)
    return None


def _parse_jobs(output: str) -> list[QueuedJob]:
    jobs = []
    for line in output.splitlines():
        fields = line.split("|")
        if len(fields) == len(QueuedJob._fields):
            job, name, state, reason, start, submitted, end, node, priority, nice = fields
            reason = "" if reason == "None" else reason
            times = (_time(start), _time(submitted), _time(end))
            jobs.append(QueuedJob(job, name, state, reason, *times, node, _number(priority), _number(nice)))
    return jobs


def _time(text: str) -> float | None:
    return float(text) if text.isdecimal() else None


def _number(text: str) -> int:
    return int(text) if re.fullmatch("-?[0-9]{1,10}", text) else 0


def read_final_states(job_ids: Collection[str]) -> dict[tuple[str, str], str]:
    """Return the states of jobs that the controller has forgotten, by id and name: ids are used again.

    Empty where Slurm keeps no accounts.
    """
    arguments = ["--noheader", "--parsable2", "--allocations", f"--jobs={','.join(job_ids)}"]
    with suppress(SlurmError):
        output = call("sacct", *arguments, "--format=JobID,JobName,State").stdout
        rows = (line.split("|") for line in output.splitlines())
        return {(row[0], row[1]): row[2].split(" ")[0] for row in rows if len(row) == 3}
    return {}


def cancel(job_ids: Sequence[str], *, signal: str | None = None) -> None:
    """Cancel jobs, or send their batch processes a signal."""
    call("scancel", *(["--batch", f"--signal={signal}"] if signal else []), *job_ids)


def cancel_named(name: str) -> None:
    """Cancel this user's jobs with this name, if there are any."""
    call("scancel", f"--user={os.getuid()}", f"--name={name}")


def hold(job_ids: Sequence[str], held: bool) -> None:
    call("scontrol", "hold" if held else "release", *job_ids)


def list_partitions(timeout: float = TIMEOUT) -> list[Partition]:
    output = call("sinfo", "--noheader", "--format=%P|%a|%l|%F|%C|%G", timeout=timeout).stdout
    rows = (line.split("|") for line in output.splitlines())
    return [
        Partition(name.rstrip("*"), name.endswith("*"), available, limit, nodes, cpus, "" if gres == "(null)" else gres)
        for name, available, limit, nodes, cpus, gres in (row for row in rows if len(row) == 6)
    ]
