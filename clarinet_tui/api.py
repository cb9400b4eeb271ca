"""Read results from Python: plain dictionaries and numpy arrays, ready for pandas."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from clarinet_tui.history import curves, lookup, queries
from clarinet_tui.history.database import Database
from clarinet_tui.history.reindex import open_history
from clarinet_tui.history.states import update_history
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError
from core.metrics import level_of

if TYPE_CHECKING:
    from clarinet_tui.analysis.choices import Rule
    from clarinet_tui.chart.curve import Curve


class History:
    """The recorded runs of a directory.

    Opening it ingests what the runs have written since the last time, also of runs that are training. Use it in one
    thread, and close it, or use it in a `with` statement. Wherever a method takes the id of a run, a unique prefix is
    enough, and `last` is the newest run, `last-2` the third newest, and a name the only run of that name; a word for no
    run or for several raises InputError.

    Args:
        runs_dir: The directory of the runs.
        read_only: Write nothing, and show only what was ingested before.
        db: The path of the database; by default that of the command line: `CLARINET_DB`, or `clarinet.db` among the
            runs.

    Raises:
        InputError: There is no such directory; or, with `read_only`, no database, or one of an older version.
        HistoryError: The database cannot be used now, because the disk is full or another process has locked it.

    Examples:
        >>> with History("runs") as history:
        ...     for run in history.runs("state:finished", sort="target_accuracy"):
        ...         print(run["id"], run["method"], run["seed"], run["target_accuracy"])
        run2 clarinet 2 62.0
        run1 clarinet 1 61.0
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
        """Ingest what runs have written since the history was opened; do nothing with `read_only`."""
        if not self.read_only:
            update_history(self._db, self.runs_dir)

    def runs(
        self, query: str = "", *, sort: str = "created", descending: bool = True, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the matching runs, newest first.

        Args:
            query: Conditions as for `clarinet ls`; empty for all runs.
            sort: The key to sort by, such as `created`, `target_accuracy` or `classifier_rate`. Runs without a value
                come last.
            descending: Whether the greatest value comes first.
            limit: The maximum number of runs; None for all.

        Returns:
            A dictionary for each run: what was recorded, then its settings by name, such as `classifier_rate` and
            `stage1.epochs`. Times are Unix seconds, accuracies percent; `seconds` is the training time.

        Raises:
            InputError: The query is invalid, or runs cannot be sorted by that key.

        Examples:
            >>> [run["id"] for run in history.runs("seed:1..2 acc>60", sort="seed", descending=False)]
            ['run1', 'run2']
        """
        limit = -1 if limit is None else limit
        rows = queries.list_runs(self._db, query, sort=sort, descending=descending, limit=limit)
        return [row.as_object() for row in rows]

    def config(self, id: str) -> dict[str, Any]:
        """Return all settings of a run; `stage1` is a dictionary.

        Raises:
            InputError: The run's `config.toml` cannot be read.

        Examples:
            >>> history.config("run1")["task"]
            'U->M'
        """
        plain: dict[str, Any] = msgspec.to_builtins(RunDirectory(self.runs_dir, self._id(id)).read_config())
        return plain

    def metrics(self, id: str) -> list[str]:
        """Return the names of a run's metrics: of iterations first, then of evaluations.

        Examples:
            >>> history.metrics("run1")[:2]
            ['complementary_loss', 'adversarial_loss']
        """
        return curves.list_metrics(self._db, self._id(id))

    def evaluations(self, id: str) -> list[dict[str, Any]]:
        """Return the evaluations of a run in order.

        Returns:
            A dictionary for each evaluation. A metric that needs missing labels is None; `confusion` has a row of
            counts for each true class.

        Examples:
            >>> [evaluation["target_accuracy"] for evaluation in history.evaluations("run2")]
            [20.0, 62.0]
        """
        return queries.read_evaluations(self._db, self._id(id))

    def events(self, id: str) -> list[dict[str, Any]]:
        """Return the other events of a run in order, with the fields that its journal has.

        Returns:
            A dictionary for each event; `superseded` ones were recorded again after a resume.

        Examples:
            >>> [event["event"] for event in history.events("run1")]
            ['started', 'stage', 'finished']
        """
        return queries.read_events(self._db, self._id(id))

    def iterations(
        self, id: str, metrics: Sequence[str] | None = None, start: int | None = None, stop: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the iterations of a run in order, in bounded memory.

        Args:
            id: The id of the run.
            metrics: The names of the metrics; by default all that the run has.
            start: The first iteration.
            stop: The iteration before which to end.

        Returns:
            A dictionary for each iteration, all with the same keys. A metric without a value at an iteration is None.

        Raises:
            InputError: The run has no such metric at iterations.

        Examples:
            >>> [row["complementary_loss"] for row in history.iterations("run1", ["complementary_loss"], stop=3)]
            [1.0, 1.0]
        """
        run = self._id(id)
        known = [name for name in self.metrics(run) if level_of(name) == "iteration"]
        names = list(metrics) if metrics is not None else known
        for name in names:
            if name not in known:
                expected = ", ".join(known) or "none yet"
                raise InputError(f"metrics: run {run} has no {name!a} at iterations: expected one of {expected}")
        rows = queries.read_iterations(self._db, run, start=start, stop=stop)
        return ({key: row.get(key) for key in (*queries.ITERATION_KEYS, *names)} for row in rows)

    def series(
        self, id: str, metric: str, width: int = 200, start: int | None = None, stop: int | None = None
    ) -> "Curve":
        """Return a metric as a curve, in time that does not depend on the length of the run.

        Args:
            id: The id of the run.
            metric: The name of a metric of iterations or evaluations.
            width: The maximum number of points of a metric of iterations; evaluations are all returned.
            start: The first iteration.
            stop: The iteration before which to end.

        Returns:
            Arrays with an entry for each point: `x`, `low`, `high` and `mean` of the finite values there, and the
            number of `missing` ones, which are not finite.

        Raises:
            InputError: The run has no such metric.

        Examples:
            >>> history.series("run1", "complementary_loss", width=2).mean.tolist()
            [1.0, 0.5]
        """
        run = self._id(id)
        known = self.metrics(run)
        if metric not in known:
            expected = ", ".join(known) or "none yet"
            raise InputError(f"metric: run {run} has no {metric!a}: expected one of {expected}")
        return curves.read_series(self._db, run, metric, start=start, stop=stop, width=width)

    def table(
        self,
        query: str = "",
        *,
        select: "Rule" = "last",
        preset: str | None = None,
        seeds: int = 5,
        by_commit: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the board: mean and standard deviation over seeds of each method, task and variant.

        Args:
            query: Conditions as for `clarinet ls`; empty for all runs.
            select: Which epoch of a run to report; `best` uses target labels, and is marked as oracle selection.
            preset: Only runs of this preset; by default that of most finished runs.
            seeds: The number of seeds that make a cell complete.
            by_commit: Do not average runs that were started at different git commits.

        Returns:
            A dictionary for each method, task and variant, with the keys of `clarinet table --format csv`.

        Raises:
            InputError: The query is invalid.

        Examples:
            >>> [(cell["method"], cell["mean"]) for cell in history.table(seeds=2) if cell["runs"]]
            [('clarinet', 61.5)]
        """
        from clarinet_tui.analysis.board import make_board
        from clarinet_tui.analysis.board_table import cell_columns
        from clarinet_tui.analysis.run_records import RunRecords

        records = RunRecords(self._db, self.runs_dir)
        board = make_board(records, query, rule=select, preset=preset, seeds=seeds, by_commit=by_commit)
        return [cell_columns(board, cell) for cell in board.all_cells()]

    def close(self) -> None:
        """Close the database; a `with` statement does so at its end."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _id(self, word: str) -> str:
        run = lookup.find_run(self.runs_dir, word, lambda: self._db).id
        if queries.get_run(self._db, run) is None:
            raise InputError(
                f"run {run}: not in the history yet: call refresh(), or open the history without read_only"
            )
        return run
