"""Read results from Python: plain dictionaries and numpy arrays, ready for pandas."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from clarinet_tui.history import curves, queries
from clarinet_tui.history.database import Database
from clarinet_tui.history.reindex import open_history
from clarinet_tui.history.states import update_history
from clarinet_tui.runs.directory import RunDirectory, find_run
from core.errors import InputError
from core.metrics import level_of

if TYPE_CHECKING:
    from clarinet_tui.analysis.choices import Rule
    from clarinet_tui.history.curves import Series


class History:
    """The runs of a directory. Use it in one thread; close it, or use it in a `with` statement.

    Opening it ingests what the runs have written since the last time. With `read_only` nothing is written, and only
    what was ingested before is shown. An id may be shortened to a unique prefix.
    """

    def __init__(self, runs_dir: str | Path = "runs", *, read_only: bool = False, db: str | Path | None = None) -> None:
        self.runs_dir = Path(runs_dir)
        self.read_only = read_only
        if not self.runs_dir.is_dir():
            raise InputError(f"{self.runs_dir}: no such directory")
        path = None if db is None else Path(db)
        self._db = Database.open_read_only(self.runs_dir, path) if read_only else open_history(self.runs_dir, path)
        self.refresh()

    def refresh(self) -> None:
        """Ingest what runs have written meanwhile; do nothing with `read_only`."""
        if not self.read_only:
            update_history(self._db, self.runs_dir)

    def runs(
        self, query: str = "", *, sort: str = "created", descending: bool = True, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Return a dictionary for each run, newest first.

        Times are Unix seconds, accuracies percent; `seconds` is the training time.
        """
        limit = -1 if limit is None else limit
        rows = queries.list_runs(self._db, query, sort=sort, descending=descending, limit=limit)
        return [asdict(row) | {"state": str(row.state)} for row in rows]

    def config(self, id: str) -> dict[str, Any]:  # noqa: A002
        """Return all settings of a run; `stage1` is a dictionary."""
        import msgspec

        plain: dict[str, Any] = msgspec.to_builtins(RunDirectory(self.runs_dir, self._id(id)).read_config())
        return plain

    def metrics(self, id: str) -> list[str]:  # noqa: A002
        """Return the names of the run's metrics: of iterations first, then of evaluations."""
        return curves.list_metrics(self._db, self._id(id))

    def evaluations(self, id: str) -> list[dict[str, Any]]:  # noqa: A002
        """Return a dictionary for each evaluation in order.

        A metric that needs missing labels is None; `confusion` has a row for each true class.
        """
        return queries.read_evaluations(self._db, self._id(id))

    def events(self, id: str) -> list[dict[str, Any]]:  # noqa: A002
        """Return all other events in order; `superseded` ones were recorded again after a resume."""
        return queries.read_events(self._db, self._id(id))

    def iterations(
        self,
        id: str,  # noqa: A002
        metrics: Sequence[str] | None = None,
        start: int | None = None,
        stop: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield a dictionary for each iteration from `start` to before `stop`.

        All have the same keys; a metric without a value at that iteration is None.
        """
        run = self._id(id)
        known = [name for name in self.metrics(run) if level_of(name) == "iteration"]
        names = list(metrics) if metrics is not None else known
        for name in names:
            if name not in known:
                raise InputError(
                    f"metrics: run {run} has no {name!a} at iterations: expected one of {_format_names(known)}"
                )
        rows = queries.read_iterations(self._db, run, start=start, stop=stop)
        return ({key: row.get(key) for key in (*queries.ITERATION_KEYS, *names)} for row in rows)

    def series(
        self,
        id: str,  # noqa: A002
        metric: str,
        width: int = 200,
        start: int | None = None,
        stop: int | None = None,
    ) -> "Series":
        """Return a curve of at most `width` points as arrays x, low, high, mean and missing."""
        run = self._id(id)
        if metric not in self.metrics(run):
            raise InputError(f"metric: run {run} has no {metric!a}: expected one of {_format_names(self.metrics(run))}")
        return curves.read_series(self._db, run, metric, start=start, stop=stop, width=width)

    def table(
        self,
        query: str = "",
        *,
        select: "Rule" = "last",
        preset: str | None = None,
        seeds: int = 5,
        mix: bool = False,
        by_commit: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the board: a dictionary for each method and task, with the keys of `clarinet table --format csv`."""
        from clarinet_tui.analysis.board import make_board
        from clarinet_tui.analysis.board_table import cell_columns
        from clarinet_tui.analysis.run_records import RunRecords

        records = RunRecords(self._db, self.runs_dir)
        board = make_board(records, query, rule=select, preset=preset, seeds=seeds, mix=mix, by_commit=by_commit)
        return [cell_columns(board, cell) for cell in board.cells.values()]

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _id(self, prefix: str) -> str:
        run = find_run(self.runs_dir, prefix).id
        if queries.get_run(self._db, run) is None:
            raise InputError(
                f"run {run}: not in the history yet: call refresh(), or open the history without read_only"
            )
        return run


def _format_names(metrics: Sequence[str]) -> str:
    return ", ".join(metrics) or "none yet"
