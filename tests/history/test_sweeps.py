"""Sweeps: what separates their runs, and which runs a sweep lacks."""

from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import list_runs, varied_settings
from clarinet_tui.history.sweeps import join_sweep, sweep_query
from clarinet_tui.history.variants import read_variants
from clarinet_tui.queue.sweep import Grid, expand_grid
from clarinet_tui.runs.stage1 import stage1_role
from core.resolve import resolve
from tests.support.histories import ingested, make_run, open_history

GRID = Grid(["basset"], ["M->U"], [1, 2], {"preset": "smoke"}, {"classifier_rate": [0.01, 0.02]}, name="first")


def test_a_sweep_never_separates_variants(db: Database, tmp_path: Path) -> None:
    for seed, sweep in ((1, "first"), (2, "second"), (3, "")):
        make_run(tmp_path, method="basset", task="M->U", preset="smoke", seed=seed, sweep=sweep)
    with ingested(tmp_path) as history:
        (variant,) = read_variants(history)
        assert len(variant.rows) == 3
        assert varied_settings(variant.rows) == []
    roles = [stage1_role(resolve(method="gac+dann", task="M->U", sweep=sweep)) for sweep in ("first", "")]
    assert roles[0] == roles[1] is not None


@pytest.mark.parametrize("name", ["first", 'a "b" * c', "methods × tasks", "ünï, (x)", "back\\slash"])
def test_a_query_finds_the_runs_of_one_sweep(tmp_path: Path, name: str) -> None:
    run = make_run(tmp_path, sweep=name)
    make_run(tmp_path, sweep="other")
    make_run(tmp_path)
    with ingested(tmp_path) as db:
        assert [row.id for row in list_runs(db, sweep_query(name))] == [run.id]


def test_a_sweep_lacks_runs_of_other_settings_or_seeds(tmp_path: Path) -> None:
    configs = expand_grid(GRID)
    with open_history(tmp_path) as db:
        assert join_sweep(db, GRID, configs) == ("first", configs)
    for config in configs[:3]:
        rate = config.classifier_rate
        make_run(
            tmp_path,
            method="basset",
            task="M->U",
            preset="smoke",
            seed=config.seed,
            classifier_rate=rate,
            sweep="first",
            threads=7,
        )
    make_run(tmp_path, method="basset", task="M->U", preset="smoke", seed=2, classifier_rate=0.02)  # of no sweep
    with ingested(tmp_path) as db:
        assert join_sweep(db, GRID, configs) == ("first", configs[3:])
