"""sbatch, squeue, scontrol and scancel of a cluster that starts nothing; the jobs are in a file beside the programs.

A test puts jobs into a state by `set_state`; everything else is done by Clarinet itself.
"""

import fcntl
import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Job = dict[str, Any]
COLUMNS = ("id", "name", "state", "reason", "start", "submitted", "end", "node", "priority", "nice")


def write_program(folder: Path, name: str, command: str) -> Path:
    """Write a shell script into a folder for PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    return program


def install(folder: Path) -> None:
    for name in ("sbatch", "squeue", "scontrol", "scancel"):
        write_program(folder, name, f'exec {sys.executable} {__file__} {folder} {name} "$@"')


@contextmanager
def edit_jobs(folder: Path) -> Iterator[list[Job]]:
    with (folder / "jobs.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        jobs: list[Job] = json.loads(file.read() or "[]")
        yield jobs
        file.truncate(0)
        json.dump(jobs, file)


def set_state(folder: Path, job_id: str, state: str, node: str = "") -> None:
    with edit_jobs(folder) as jobs:
        next(job for job in jobs if job["id"] == job_id).update(state=state, node=node, reason="")


def sbatch(jobs: list[Job], arguments: list[str]) -> None:
    script = Path(arguments[-1]).read_text()
    options = dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*)$", script, re.MULTILINE))
    if options.get("partition") == "nowhere":
        sys.exit("sbatch: error: invalid partition specified: nowhere")
    number = 1 + max((int(job["id"].partition("_")[0]) for job in jobs), default=0)
    for task in range(int(re.match(r"0-(\d+)", options["array"])[1]) + 1):  # type: ignore[index]
        job = {"id": f"{number}_{task}", "name": options["job-name"], "state": "PENDING", "start": "N/A", "end": "N/A"}
        job |= {"submitted": f"{time.time():.0f}", "node": "", "nice": int(options.get("nice", 0))}
        jobs.append(hold(job, "--hold" in arguments))
    print(number)


def hold(job: Job, held: bool) -> Job:
    job |= {"reason": "JobHeldUser" if held else "Priority", "is_held": held}
    return job


def squeue(jobs: list[Job], arguments: list[str]) -> None:
    names = next(text for text in arguments if text.startswith("--name=")).removeprefix("--name=").split(",")
    for job in jobs:
        if job["name"] in names:
            job["priority"] = 0 if job["is_held"] else 10_000 - job["nice"]
            print("|".join(str(job[column]) for column in COLUMNS))


def scontrol(jobs: list[Job], arguments: list[str]) -> None:
    match arguments:
        case ["show", "config"]:
            print("MaxArraySize            = 1001")
        case ["hold" | "release" as request, *ids]:
            for job in find(jobs, ids):
                hold(job, request == "hold")
        case ["update", ids, nice]:
            for job in find(jobs, ids.removeprefix("JobId=").split(",")):
                job["nice"] = int(nice.removeprefix("Nice="))


def scancel(jobs: list[Job], arguments: list[str]) -> None:
    names = [text.removeprefix("--name=") for text in arguments if text.startswith("--name=")]
    chosen = [job for job in jobs if job["name"] in names] + find(jobs, arguments)
    for job in chosen if "--batch" not in arguments else ():
        job["state"] = "CANCELLED"


def find(jobs: list[Job], ids: list[str]) -> list[Job]:
    return [job for job in jobs if job["id"] in ids or job["id"].partition("_")[0] in ids]


if __name__ == "__main__":
    _, directory, program, *rest = sys.argv
    with edit_jobs(Path(directory)) as all_jobs:
        {"sbatch": sbatch, "squeue": squeue, "scontrol": scontrol, "scancel": scancel}[program](all_jobs, rest)
