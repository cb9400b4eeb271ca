"""How a run's worker came to its end, and what follows from it."""

import signal

from clarinet_tui.journal.directory import RunDirectory
from clarinet_tui.journal.holding import read_holder
from clarinet_tui.journal.queue import Entry
from clarinet_tui.journal.reader import last_word
from clarinet_tui.journal.writer import JournalWriter
from clarinet_tui.text import printable
from core.events import Failed

FINISHED, FAILED = 0, 1
STOPPED = frozenset(128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
FINAL = frozenset({"finished", "failed", "stopped"})
HOPELESS = frozenset({"wrong input", "not finite"})
"""Failures that would come again."""
LOG_TAIL = 4096


def came_to_an_end(run: RunDirectory, code: int | None) -> bool:
    """Whether the run itself said its last word: by its exit code where we know it, else by its journal."""
    if code is not None:
        return code in (FINISHED, FAILED, 2) or code in STOPPED
    word = last_word(run.journal)
    return word is not None and word["event"] in FINAL


def tries_again(run: RunDirectory, code: int | None) -> bool:
    """A run that was lost or has failed may, unless it would only fail again."""
    if not came_to_an_end(run, code):
        return True
    word = last_word(run.journal)
    return word is not None and word["event"] == "failed" and word.get("kind") not in HOPELESS


def never_began(run: RunDirectory, entry: Entry) -> bool:
    """Whether no worker has held the run since it was to be started: the supervisor died in between."""
    holder = read_holder(run.lock)
    return holder is None or holder.since < entry.begun


def record_failure(run: RunDirectory, why: str) -> None:
    """For a run whose worker could not say it itself."""
    with run.hold(), JournalWriter(run.journal) as journal:
        journal.append(Failed(iteration=0, message=why, kind="not started"))


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
