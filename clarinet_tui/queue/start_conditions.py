"""What a waiting run waits for besides a device: a time, and the end of other runs."""

import re
import time
from datetime import datetime, timedelta
from pathlib import Path

from clarinet_tui.queue.queue_file import Queue, QueueEntry
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import read_last_event
from clarinet_tui.runs.state import FINAL_EVENTS, RunState
from clarinet_tui.text import format_time
from core.errors import InputError

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION = re.compile(r"(\d+d)?(\d+h)?(\d+m)?(\d+s)?", re.ASCII)
MAX_SECONDS = 366 * 86400


def waiting_reason(entry: QueueEntry, queue: Queue, runs_dir: Path, now: float | None = None) -> str | None:
    """Return why the run may not start yet; None if only a device is missing."""
    if entry.not_before > (time.time() if now is None else now):
        return f"until {format_time(entry.not_before)}"
    for run_id in entry.after:
        if run_id in queue:
            return f"run {run_id}"
        if (state := _end_state(runs_dir, run_id)) is not RunState.FINISHED:
            return f"run {run_id}, which {'has not ended' if state is None else f'is {state}'}"
    return None


def _end_state(runs_dir: Path, run_id: str) -> RunState | None:
    """Return how a run ended; None if it runs, was lost or cannot be read."""
    try:
        event = read_last_event(RunDirectory(runs_dir, run_id).journal)
    except (InputError, OSError):
        return None
    return RunState(event["event"]) if event is not None and event["event"] in FINAL_EVENTS else None


def parse_duration(text: str, option: str) -> float:
    """Parse 90m, 2h30m or 1d into seconds."""
    match = DURATION.fullmatch(text.strip())
    seconds = (
        sum(int(part[:-1]) * UNITS[part[-1]] for part in match.groups() if part) if match and len(text) < 40 else 0
    )
    if not 0 < seconds <= MAX_SECONDS:
        raise InputError(f"{option}: expected a duration such as 90m, 2h30m or 1d, got {text[:80]!a}")
    return float(seconds)


def parse_start_time(text: str, option: str, now: datetime | None = None) -> float:
    """Parse 22:00 (the next one), 2026-11-18, "2026-11-18 22:00" or a duration from now such as 2h into a Unix time."""
    now = now or datetime.now()
    if DURATION.fullmatch(text.strip()):
        return now.timestamp() + parse_duration(text, option)
    if re.fullmatch(r"\d{1,2}:\d\d", text.strip(), re.ASCII):
        hour, minute = map(int, text.strip().split(":"))
        if hour < 24 and minute < 60:
            today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
            return (today if today > now else today + timedelta(days=1)).timestamp()
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f'{option}: expected a time such as 22:00, "2026-11-18 22:00" or 2h from now, got {text[:80]!a}'
        ) from None
