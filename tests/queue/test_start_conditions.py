"""Runs that wait for a time or for another run."""

from datetime import datetime
from pathlib import Path

import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.queue.queue_file import Queue, QueueEntry
from clarinet_tui.queue.scheduling import Scheduler, parse_duration, parse_start_time, waiting_reason
from core.errors import InputError
from core.events import Failed, Finished
from tests.support.events import started
from tests.support.histories import make_run, write_events

NOW = datetime(2026, 11, 17, 21, 30)
CPU = Device(key="cpu", label="cpu", name="CPU")


def entry(run_id: str, **fields: object) -> QueueEntry:
    return QueueEntry(id=run_id, working_directory="/", data_dir="/", device="cpu", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("22:00", datetime(2026, 11, 17, 22, 0)),
        ("7:15", datetime(2026, 11, 18, 7, 15)),
        ("2h30m", datetime(2026, 11, 18, 0, 0)),
        ("2026-11-20", datetime(2026, 11, 20)),
        ("2026-11-20 08:00", datetime(2026, 11, 20, 8)),
    ],
)
def test_start_times(text: str, expected: datetime) -> None:
    assert parse_start_time(text, "--not-before", NOW) == expected.timestamp()


@pytest.mark.parametrize("text", ["", "soon", "25:00", "12:60", "-1h", "2026-13-01", "9" * 50 + "h"])
def test_wrong_start_times_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--not-before: expected a "):
        parse_start_time(text, "--not-before", NOW)


def test_durations() -> None:
    assert [parse_duration(text, "--time-limit") for text in ("90m", "2h30m", "1d", "45s")] == [5400, 9000, 86400, 45]
    for text in ("", "0m", "90", "1h1d", "400d"):
        with pytest.raises(InputError, match=r"^--time-limit: expected a duration such as 90m"):
            parse_duration(text, "--time-limit")


def test_run_waits_for_its_time(tmp_path: Path) -> None:
    waiting = entry("abc", not_before=NOW.timestamp())
    reason = waiting_reason(waiting, Queue(), tmp_path, NOW.timestamp() - 1)
    assert reason == "until 2026-11-17 21:30"
    assert waiting_reason(waiting, Queue(), tmp_path, NOW.timestamp()) is None


def test_run_waits_until_another_has_finished(tmp_path: Path) -> None:
    first, second = make_run(tmp_path, "abc"), make_run(tmp_path, "bcd")
    scheduler = Scheduler(tmp_path)
    waiting = entry(second.id, after=(first.id,))

    def reason(queue: Queue) -> str | None:
        decisions = {decision.entry.id: decision for decision in scheduler.schedule(queue, [CPU], ())}
        decision = decisions[second.id]
        return None if decision.device else decision.reason

    assert reason(Queue(entries=(waiting, entry(first.id)))) == "run abc"
    assert reason(Queue(entries=(waiting,))) == "run abc, which has not ended"
    write_events(first, [started(), Failed(iteration=0, message="no memory")])
    assert reason(Queue(entries=(waiting,))) == "run abc, which is failed"
    write_events(first, [Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None)])
    assert reason(Queue(entries=(waiting,))) is None
