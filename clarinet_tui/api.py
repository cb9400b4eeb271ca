"""What was recorded, for programs in Python: plain dictionaries and numpy arrays, ready for pandas."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from clarinet_tui.history import queries
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.states import refresh_states
from clarinet_tui.runs.directory import RunDirectory, find_run
from core.errors import InputError
from core.metrics import level_of

if TYPE_CHECKING:
    from clarinet_tui.evidence.selection import Rule
    from clarinet_tui.history.curves import Series

PLACE = ("run", "iteration", "epoch", "adaptation_epoch", "stage", "seconds")
"""What every iteration has, whatever was measured."""
EVERYTHING = 2**31


class History:
    """The runs of a directory. For one thread; close it, or use it in a `with` statement.

    Opening it takes in what the runs have said since the last time. With `read_only` nothing is written, and what was
    not taken in before is not seen. Ids may be shortened, as everywhere.
    """

    def __init__(self, runs_dir: str | Path = "runs", *, read_only: bool = False, db: str | Path | None = None) -> None:
        self.runs_dir = Path(runs_dir)
        self.read_only = read_only
        if not self.runs_dir.is_dir():
            raise InputError(f"{self.runs_dir}: there is no such directory of runs")
        path = None if db is None else Path(db)
        self._db = Database.open_read_only(self.runs_dir, path) if read_only else Database.open(self.runs_dir, path)
        self.refresh()

    def refresh(self) -> None:
        """Take in what runs have said meanwhile; nothing with `read_only`."""
        if not self.read_only:
            ingest_all(self._db, self.runs_dir)
            refresh_states(self._db, self.runs_dir)

    def runs(
        self, query: str = "", *, sort: str = "created", descending: bool = True, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """A dictionary a run, newest first. Times are Unix seconds, accuracies percent, `seconds` training time."""
        most = EVERYTHING if limit is None else limit
        rows = queries.list_runs(self._db, query, sort=sort, descending=descending, limit=most)
        return [asdict(row) for row in rows]

    def config(self, id: str) -> dict[str, Any]:  # noqa: A002
        """All settings of a run, those of stage 1 as a dictionary in it."""
        import msgspec

        plain: dict[str, Any] = msgspec.to_builtins(RunDirectory(self.runs_dir, self._id(id)).read_config())
        return plain

    def metrics(self, id: str) -> list[str]:  # noqa: A002
        """Names of all that was measured: at iterations first, then at evaluations."""
        return queries.list_metrics(self._db, self._id(id))

    def evaluations(self, id: str) -> list[dict[str, Any]]:  # noqa: A002
        """Every evaluated epoch in order. None is what the data cannot tell, `confusion` has a row a true class."""
        return queries.read_evaluations(self._db, self._id(id))

    def events(self, id: str) -> list[dict[str, Any]]:  # noqa: A002
        """Everything else that the run said, in order; what is `superseded` was said again after a resume."""
        return queries.read_events(self._db, self._id(id))

    def iterations(
        self,
        id: str,  # noqa: A002
        metrics: Sequence[str] | None = None,
        start: int | None = None,
        stop: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Every iteration from `start` to before `stop`, one after the other: a run may have a million.

        All have the same keys; None is what was not measured at that iteration.
        """
        run = self._id(id)
        known = [name for name in self.metrics(run) if level_of(name) == "iteration"]
        names = list(metrics) if metrics is not None else known
        for name in names:
            if name not in known:
                raise InputError(f"metrics: run {run} has no {name!a} at iterations; it has {_named(known)}")
        rows = queries.read_iterations(self._db, run, start=start, stop=stop)
        return ({key: row.get(key) for key in (*PLACE, *names)} for row in rows)

    def series(
        self,
        id: str,  # noqa: A002
        metric: str,
        width: int = 200,
        start: int | None = None,
        stop: int | None = None,
    ) -> "Series":
        """A curve in at most `width` points, however long the run: arrays x, low, high, mean and missing."""
        run = self._id(id)
        if metric not in self.metrics(run):
            raise InputError(f"metric: run {run} has no {metric!a}; it has {_named(self.metrics(run))}")
        return queries.read_series(self._db, run, metric, start=start, stop=stop, width=width)

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
        """The paper's board: a dictionary a method and task, as `clarinet table --format csv` has it."""
        from clarinet_tui.evidence.board import make_board
        from clarinet_tui.evidence.board_export import cell_columns
        from clarinet_tui.evidence.run_records import RunRecords

        archive = RunRecords(self._db, self.runs_dir)
        board = make_board(archive, query, rule=select, preset=preset, seeds=seeds, mix=mix, by_commit=by_commit)
        return [cell_columns(board, cell) for cell in board.cells.values()]

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _id(self, prefix: str) -> str:
        run = find_run(self.runs_dir, prefix).id
        if queries.get_run(self._db, run) is None:
            raise InputError(f"run {run}: not in the history yet: call refresh(), or open it without read_only")
        return run


def _named(metrics: Sequence[str]) -> str:
    return ", ".join(metrics) or "none yet"
