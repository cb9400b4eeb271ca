"""Checks of `clarinet doctor` on the runs: files that cannot be read, and a history that differs from the journals."""

from collections.abc import Sequence
from pathlib import Path

from clarinet_tui.doctor.machine_checks import CheckResult
from clarinet_tui.history.database import Database
from clarinet_tui.history.verification import find_mismatches
from clarinet_tui.runs.directory import list_runs
from clarinet_tui.runs.problems import find_problems
from clarinet_tui.text import format_count
from core.errors import InputError

MAX_NAMED = 5


def check_run_files(runs_dir: Path) -> CheckResult:
    """Read every file of every run but the lines of the journals."""
    runs = list_runs(runs_dir)
    problems = [f"run {run.id}: {problem}" for run in runs for problem in find_problems(run)]
    if not problems:
        return CheckResult("run files", "good", f"the files of {format_count(len(runs), 'run')} can be read")
    advice = "clarinet doctor --repair moves files that runs can do without out of the way"
    return CheckResult("run files", "warning", _list(problems), advice)


def check_journals(runs_dir: Path, database: Path) -> CheckResult:
    """Compare the checksum of what was ingested with the journals, and name unreadable lines."""
    if not database.exists():
        return CheckResult("journals", "good", "there is no history to compare them with")
    try:
        with Database.open_read_only(runs_dir, database) as db:
            mismatches = [f"run {run.id}: {mismatch}" for run, mismatch in find_mismatches(db, runs_dir)]
            sql = "SELECT run, message FROM events WHERE event = 'damaged' ORDER BY run, position"
            damaged = [f"run {run}: {message}" for run, message in db.tuples(sql)]
    except InputError as error:
        return CheckResult("journals", "warning", f"not compared with the history: {error}")
    if mismatches:
        return CheckResult("journals", "bad", _list(mismatches), "clarinet doctor --repair ingests these runs again")
    if damaged:
        return CheckResult("journals", "warning", _list(damaged), "everything else in these journals was read")
    return CheckResult("journals", "good", "the history agrees with all journals")


def _list(sentences: Sequence[str]) -> str:
    more = f"; and {len(sentences) - MAX_NAMED} more" if len(sentences) > MAX_NAMED else ""
    return "; ".join(sentences[:MAX_NAMED]) + more
