"""Reading the board: in bounded steps, and only what has changed."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.ui.feed.history_reader import READ_SECONDS, BoardReader, HistoryReader
from clarinet_tui.ui.snapshot.snapshot import BoardRequest, BoardSnapshot, ViewRequest
from tests.support.events import evaluation, step
from tests.support.histories import open_history, write_events
from tests.support.known import known
from tests.support.trained_runs import make_trained_run


class Clock:
    """Each read takes as long as the test sets."""

    def __init__(self) -> None:
        self.now, self.takes = 0.0, 0.0

    def __call__(self) -> float:
        self.now += self.takes
        return self.now


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with closing(open_history(tmp_path)) as opened:
        yield opened


def looked(reader: BoardReader, db: Database, wanted: BoardRequest | None = None) -> BoardSnapshot:
    """After everything in the journals was ingested."""
    ingest_all(db, db.path.parent)
    return known(reader.read(db, wanted or BoardRequest()))


def test_without_a_history_there_is_the_board_of_the_paper(tmp_path: Path) -> None:
    seen = known(BoardReader(tmp_path).read(None, BoardRequest()))
    assert (seen.board.preset, seen.is_complete, seen.runs) == ("quick", True, 0)
    assert seen.board.cells["clarinet", "U->M"].published
    assert BoardReader(tmp_path).read(None, None) is None, "no board is read without a request"


def test_many_runs_are_read_in_several_steps(tmp_path: Path, db: Database) -> None:
    for seed in range(1, 6):
        make_trained_run(tmp_path, f"cum{seed}", [80.0 + seed], seed=seed)
    clock = Clock()
    clock.takes = READ_SECONDS
    reader = BoardReader(tmp_path, clock)
    reads: list[int] = []
    while not reads or reader.has_more:
        seen = looked(reader, db)
        reads.append(seen.read)
        assert bool(seen.board.cells["clarinet", "U->M"].results) == seen.is_complete, "no mean of a part of the runs"
    assert reads == sorted(reads)
    assert len(reads) > 2
    assert reads[-1] == 5
    assert seen.board.cells["clarinet", "U->M"].summary.mean == 83.0


def test_the_same_runs_make_the_same_board(tmp_path: Path, db: Database) -> None:
    make_trained_run(tmp_path, "cum1", [84.0], seed=1)
    run = make_trained_run(tmp_path, "cum2", [50.0], seed=2, end="running")
    reader = BoardReader(tmp_path, clock := Clock())
    first = looked(reader, db)
    clock.now += 100
    write_events(run, [step(150, epoch=1)])
    assert looked(reader, db) is first, "an iteration more is no news"
    clock.now += 100
    write_events(run, [evaluation(200, 60.0, epoch=2)])
    second = looked(reader, db)
    assert second is not first
    assert second.board.cells["clarinet", "U->M"].interim_summary.mean == 60.0
    assert looked(reader, db, BoardRequest(seeds=3)).board.seeds == 3


def test_runs_are_listed_again_after_a_pause(tmp_path: Path, db: Database) -> None:
    make_trained_run(tmp_path, "cum1", [84.0], seed=1)
    clock = Clock()
    reader = BoardReader(tmp_path, clock)
    clock.takes = 0.1
    first = looked(reader, db)
    make_trained_run(tmp_path, "cum2", [86.0], seed=2)
    clock.takes = 0.0
    assert looked(reader, db) is first
    assert reader.has_more
    clock.now += 100
    assert looked(reader, db).board.cells["clarinet", "U->M"].summary.mean == 85.0
    assert not reader.has_more


def test_the_history_reader_includes_the_board(tmp_path: Path, db: Database) -> None:
    make_trained_run(tmp_path, "cum1", [84.0], seed=1)
    make_trained_run(tmp_path, "quick1", [70.0], seed=1, preset="quick")
    make_trained_run(tmp_path, "quick2", [70.0], seed=2, preset="quick")
    ingest_all(db, tmp_path)
    reader = HistoryReader(tmp_path)
    board = known(known(reader.read(ViewRequest(board=BoardRequest()))).board)
    assert (board.presets, board.board.preset) == ({"smoke": 1, "quick": 2}, "quick")
    assert reader.read(ViewRequest(board=BoardRequest())) is None
    other = known(reader.read(ViewRequest(board=BoardRequest("smoke", "best"))))
    assert known(other.board).board.uses_oracle
    assert known(reader.read(ViewRequest())).board is None
    reader.close()
