"""runs/<id>/slurm.jsonl: the attempts of a run on Slurm, written by its nodes, and how its jobs ended."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from clarinet_tui.runs.atomic_files import append_line
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.text import format_count

ATTEMPTS_FILE = "slurm.jsonl"
MAX_BYTES = 4 << 20
MAX_FRUITLESS = 3
"""Attempts in a row that saved nothing new, after which a run is not requeued."""


class AttemptStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="started"):
    time: float
    job: str
    name: str
    node: str
    checkpoint: float
    """When the checkpoint was written from which it continues; 0 without one."""


class AttemptEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="ended"):
    time: float
    exit_code: int
    """Of the worker; negative for the number of the signal that ended it."""
    outcome: str
    """finished, failed, stopped, requeued, given up, or ended by Slurm."""


class FollowUp(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="submitted"):
    """A job that continues the run, where the node may not requeue its own."""

    time: float
    job: str
    name: str


class JobEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="job"):
    """How Slurm says that a job ended; the state is empty if Slurm has forgotten it."""

    time: float
    job: str
    name: str
    state: str


class Attempt(NamedTuple):
    """One attempt, from its start to its end."""

    job: str
    node: str
    started: float
    ended: float | None
    outcome: str
    """That of AttemptEnded; empty if the attempt has not ended, or if its node could not write that it did."""


AttemptEvent = AttemptStarted | AttemptEnded | FollowUp | JobEnded
_decoder: "msgspec.json.Decoder[AttemptEvent]" = msgspec.json.Decoder(AttemptEvent)


def append_event(run: RunDirectory, event: AttemptEvent) -> None:
    append_line(run.path / ATTEMPTS_FILE, msgspec.to_builtins(event))


def read_events(run: RunDirectory) -> list[AttemptEvent]:
    """Return the events of the run's attempts; lines that cannot be read are left out."""
    try:
        with (run.path / ATTEMPTS_FILE).open("rb") as file:
            lines = file.read(MAX_BYTES).splitlines()
    except OSError:
        return []
    events = []
    for line in lines:
        try:
            events.append(_decoder.decode(line))
        except msgspec.DecodeError:
            continue
    return events


def list_attempts(run: RunDirectory) -> list[Attempt]:
    """Return the run's attempts on Slurm in order."""
    attempts: list[Attempt] = []
    for event in read_events(run):
        if isinstance(event, AttemptStarted):
            attempts.append(Attempt(event.job, event.node, event.time, None, ""))
        elif isinstance(event, AttemptEnded) and attempts:
            attempts[-1] = attempts[-1]._replace(ended=event.time, outcome=event.outcome)
    return attempts


def describe_limit(events: Sequence[AttemptEvent], checkpoint: float, max_requeues: int) -> str:
    """Return why the run must not start again; empty if it may."""
    attempts = _since_submission(events)
    if len(attempts) > max_requeues:
        return f"it has had {format_count(len(attempts), 'attempt')} on Slurm, and max-requeues is {max_requeues}"
    fruitless = 0
    for attempt in reversed(attempts):
        if attempt.checkpoint != checkpoint:
            break
        fruitless += 1
    return f"its last {fruitless} attempts on Slurm saved nothing new" if fruitless >= MAX_FRUITLESS else ""


def count_failures(events: Sequence[AttemptEvent]) -> int:
    """Return how many attempts have failed since the user submitted the run."""
    recent = events[_last_end(events) + 1 :]
    return sum(isinstance(event, AttemptEnded) and event.outcome == "failed" for event in recent)


def find_follow_up(events: Sequence[AttemptEvent], job_id: str) -> FollowUp | None:
    """Return the job that continues the run after this one."""
    last = next((event for event in reversed(events) if isinstance(event, FollowUp | JobEnded)), None)
    return last if isinstance(last, FollowUp) and last.job != job_id else None


def last_submission(run: RunDirectory) -> str:
    """Return the name of the run's last job on Slurm; empty if it had none."""
    return next((event.name for event in reversed(read_events(run)) if not isinstance(event, AttemptEnded)), "")


def _since_submission(events: Sequence[AttemptEvent]) -> list[AttemptStarted]:
    return [event for event in events[_last_end(events) + 1 :] if isinstance(event, AttemptStarted)]


def _last_end(events: Sequence[AttemptEvent]) -> int:
    """Return the index of the last job that ended for good: a later one was submitted by the user."""
    return max((index for index, event in enumerate(events) if isinstance(event, JobEnded)), default=-1)
