"""The list of attempts, and its limits."""

import json
import re
from pathlib import Path

import msgspec

from clarinet_tui.slurm.attempts import (
    AttemptEnded,
    AttemptEvent,
    AttemptStarted,
    FollowUp,
    JobEnded,
    append_event,
    count_failures,
    describe_limit,
    find_follow_up,
    last_submission,
    read_events,
)
from tests.support.cli import invoke
from tests.support.histories import make_run

ENDED = JobEnded(time=9.0, job="1_0", name="clarinet-00000001", state="FAILED")


def attempt(checkpoint: float) -> AttemptStarted:
    return AttemptStarted(time=1.0, job="1_0", name="clarinet-00000001", node="n1", checkpoint=checkpoint)


def failure() -> AttemptEnded:
    return AttemptEnded(time=2.0, exit_code=1, outcome="failed")


def test_show_lists_the_attempts(tmp_path: Path) -> None:
    run = make_run(tmp_path, "one")
    ended = AttemptEnded(time=62.0, exit_code=0, outcome="requeued")
    for event in (attempt(0.0), ended, ENDED, msgspec.structs.replace(attempt(5.0), node="n2")):
        append_event(run, event)
    text = invoke(tmp_path, "show", "one").stdout
    assert "Attempts on Slurm" in text
    assert re.search(r"1  +job 1_0 on n1, .*, 1m01: requeued\n +2  +job 1_0 on n2, [-0-9]* \d\d:\d\d *\n", text)
    attempts = json.loads(invoke(tmp_path, "show", "one", "--json").stdout)["attempts"]
    assert [(one["node"], one["outcome"]) for one in attempts] == [("n1", "requeued"), ("n2", "")]


def test_three_attempts_without_a_new_checkpoint_are_the_limit() -> None:
    assert not describe_limit([attempt(0.0), attempt(5.0), attempt(5.0)], 5.0, 50)
    assert "last 3 attempts" in describe_limit([attempt(0.0), attempt(5.0), attempt(5.0), attempt(5.0)], 5.0, 50)
    assert not describe_limit([attempt(5.0), attempt(5.0), attempt(5.0)], 6.0, 50)


def test_a_run_starts_at_most_once_more_than_it_may_be_requeued() -> None:
    assert not describe_limit([attempt(1.0), attempt(2.0)], 3.0, 2)
    assert "3 attempts on Slurm" in describe_limit([attempt(1.0), attempt(2.0), attempt(3.0)], 4.0, 2)


def test_resuming_starts_the_count_again() -> None:
    events: list[AttemptEvent] = [attempt(0.0), failure(), attempt(0.0), failure(), attempt(0.0), ENDED]
    assert not describe_limit(events, 0.0, 2)
    assert count_failures(events) == 0
    assert count_failures([*events, attempt(0.0), failure()]) == 1


def test_the_last_follow_up_job_continues_the_run() -> None:
    following = FollowUp(time=3.0, job="2_0", name="clarinet-00000001")
    assert find_follow_up([attempt(0.0), following], "1_0") == following
    assert find_follow_up([attempt(0.0), following], "2_0") is None
    assert find_follow_up([attempt(0.0), following, ENDED], "1_0") is None


def test_events_are_kept_and_damaged_lines_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    assert last_submission(run) == ""
    append_event(run, attempt(0.0))
    with (run.path / "slurm.jsonl").open("a") as file:
        file.write('{"event": "started"\nnonsense\n')
    append_event(run, failure())
    assert read_events(run) == [attempt(0.0), failure()]
    assert last_submission(run) == "clarinet-00000001"
