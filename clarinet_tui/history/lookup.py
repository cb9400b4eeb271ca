"""Find the runs that words name.

A word is, in this order, the id of a run, `last` or `last-N`, a unique prefix of an id, the name of a run, or, where
several runs are accepted, a query such as `method:basset state:failed`.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import list_runs
from clarinet_tui.history.query_language import FIELD
from clarinet_tui.runs.directory import LAST, RunDirectory, list_run_ids, list_some, match_prefix, quote_word
from clarinet_tui.text import format_count
from core.errors import InputError

_LAST = re.compile(rf"{LAST}(?:-([0-9]{{1,9}}))?", re.ASCII)
OpenHistory = Callable[[], Database]
"""Returns the history, which is opened only for words that are neither ids nor their prefixes."""


def find_run(runs_dir: Path, word: str, open_history: OpenHistory) -> RunDirectory:
    """Return the run that a word names; raise InputError if it names none or several."""
    run = _find_one(runs_dir, word, open_history)
    if run is None and FIELD.search(word):
        raise InputError(
            f"expected one run, got the query {quote_word(word)}: see `clarinet ls` for the ids of its runs"
        )
    return run or _refuse(runs_dir, word)


def find_runs(runs_dir: Path, words: Iterable[str], open_history: OpenHistory) -> list[RunDirectory]:
    """Return the runs that words name, each once, in this order; those of a query in that of their creation."""
    runs: dict[str, RunDirectory] = {}
    for word in words:
        one = _find_one(runs_dir, word, open_history)
        if one is not None:
            found = [one]
        elif FIELD.search(word):
            found = _find_matching(runs_dir, word, open_history())
        else:
            found = [_refuse(runs_dir, word)]
        runs |= {run.id: run for run in found}
    return list(runs.values())


def _find_matching(runs_dir: Path, query: str, db: Database) -> list[RunDirectory]:
    rows = list_runs(db, query, descending=False, limit=-1)
    if not rows:
        raise InputError(f"no run matches {query!a}")
    return [RunDirectory(runs_dir, row.id) for row in rows]


def _find_one(runs_dir: Path, word: str, open_history: OpenHistory) -> RunDirectory | None:
    last = _LAST.fullmatch(word)
    if last and word not in list_run_ids(runs_dir):
        return _find_last(runs_dir, word, int(last[1] or 0), open_history())
    return match_prefix(runs_dir, word) or _find_named(runs_dir, word, open_history)


def _find_last(runs_dir: Path, word: str, earlier: int, db: Database) -> RunDirectory:
    """Return the newest run, or the one that was created `earlier` runs before it."""
    rows = db.tuples("SELECT id FROM runs ORDER BY created DESC, id DESC LIMIT 1 OFFSET ?", (earlier,))
    if not rows:
        count = db.tuples("SELECT count(*) FROM runs")[0][0]
        raise InputError(f"{word}: {runs_dir} has {format_count(count, 'run')}")
    return RunDirectory(runs_dir, rows[0][0])


def _find_named(runs_dir: Path, word: str, open_history: OpenHistory) -> RunDirectory | None:
    """Return the only run with this name."""
    if not word:
        return None
    sql, name = (
        "SELECT id FROM runs WHERE name = ? ORDER BY created DESC, id DESC",
        word.encode(errors="replace").decode(),
    )
    ids = [id_ for (id_,) in open_history().tuples(sql, (name,))]
    if len(ids) > 1:
        raise InputError(f"{quote_word(word)} is the name of {len(ids)} runs: {list_some(ids)}: give an id")
    return RunDirectory(runs_dir, ids[0]) if ids else None


def _refuse(runs_dir: Path, word: str) -> RunDirectory:
    quoted = quote_word(word)
    raise InputError(f"no run in {runs_dir} has an id starting with {quoted}, or this name: see `clarinet ls`")
