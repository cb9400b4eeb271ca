"""How a run's worker came to its end, and what follows from it."""

import signal

from clarinet_tui.queue.queue_file import Entry
from clarinet_tui.runs.atomic_files import size_of
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import last_word
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.lock import read_holder
from clarinet_tui.text import printable
from core.events import Failed

STOPPED = frozenset(128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
FINAL = frozenset({"finished", "failed", "stopped"})
HOPELESS = frozenset({"wrong input", "not finite"})
"""Failures that would come again."""
LOG_TAIL = 4096
PATIENCE = 2.0
"""Seconds that a failure waits for room on a full disk: other runs wait meanwhile."""


def spoke(run: RunDirectory, entry: Entry) -> bool:
    """Whether the run has said anything since it was to be started."""
    return size_of(run.journal) > entry.spoken


def died_silently(run: RunDirectory, entry: Entry, code: int | None) -> bool:
    """Whether a worker of ours ended without a word that it had no reason to keep back."""
    asked = entry.stop_within is not None or code in STOPPED
    return code is not None and not asked and not spoke(run, entry)


def never_began(run: RunDirectory, entry: Entry) -> bool:
    """Whether no worker has held the run since it was to be started: the supervisor died in between."""
    holder = read_holder(run.lock)
    return not spoke(run, entry) and (holder is None or holder.since < entry.begun)


def tries_again(run: RunDirectory, entry: Entry) -> bool:
    """A run that was lost or has failed may, unless it would only fail again; a word from before does not count."""
    word = last_word(run.journal) if spoke(run, entry) else None
    if word is None or word["event"] not in FINAL:
        return True
    return word["event"] == "failed" and word.get("kind") not in HOPELESS


def record_failure(run: RunDirectory, why: str) -> None:
    """For a run whose worker could not say it itself."""
    with run.hold():
        journal = JournalWriter(run.journal)
        try:
            journal.append(Failed(iteration=0, message=why, kind="not started"))
        finally:
            journal.close(PATIENCE)


def died(run: RunDirectory, code: int | None) -> str:
    how = "" if code is None else f" by signal {-code}" if code < 0 else f" with exit code {code}"
    return f"the worker ended{how} before it said a word{_last_line(run)}"


def _last_line(run: RunDirectory) -> str:
    try:
        with run.log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - LOG_TAIL))
            lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    return f": {printable(lines[-1])[:500]}" if lines else ""
