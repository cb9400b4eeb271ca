"""Curves of a side along every axis, from real journals."""

from pathlib import Path

import numpy as np
import pytest

from clarinet_tui.analysis.choices import Axis
from clarinet_tui.analysis.comparison import make_sides
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.analysis.side_curves import make_side_curves, read_run_evaluations, run_curve
from tests.support.finished_runs import make_finished_run, read_runs
from tests.support.ui_runs import FAMILY_STEPS, write_family_run


def read_curve(records: RunRecords, run: str, metric: str, axis: Axis) -> tuple[list[float], list[float]]:
    (record,) = records.search(f"id:{run}")
    x, y = run_curve(records.db, run, read_run_evaluations(records.db, record), metric, axis, 100)
    return x.tolist(), y.tolist()


def test_accuracies_are_of_the_last_stage(tmp_path: Path) -> None:
    write_family_run(tmp_path, "dann1", "gac+dann", 1)
    records = read_runs(tmp_path)
    x, _ = read_curve(records, "dann1", "target_accuracy", "epoch")
    assert x == list(range(7, 19))
    assert read_curve(records, "dann1", "target_accuracy", "adaptation epoch")[0] == list(range(1, 13))
    assert read_curve(records, "dann1", "target_accuracy", "iteration")[0] == [
        epoch * FAMILY_STEPS for epoch in range(7, 19)
    ]


def test_losses_are_placed_by_iteration(tmp_path: Path) -> None:
    write_family_run(tmp_path, "clar1", "clarinet", 1)
    records = read_runs(tmp_path)
    iterations, _ = read_curve(records, "clar1", "complementary_loss", "iteration")
    for axis, share in (("epoch", 1 / FAMILY_STEPS), ("device time", 0.1)):
        x, _ = read_curve(records, "clar1", "complementary_loss", axis)  # type: ignore[arg-type]
        assert x == pytest.approx([iteration * share for iteration in iterations])


def test_losses_start_after_the_cost_of_a_shared_stage_1(tmp_path: Path) -> None:
    make_finished_run(tmp_path, "dann1", 80.0, method="gac+dann", shared=("abc123", 60.0))
    records = read_runs(tmp_path)
    (first,), _ = read_curve(records, "dann1", "target_accuracy", "device time")
    assert first > 60


def test_mean_averages_finished_runs_and_members_list_all(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_family_run(tmp_path, f"clar{seed}", "clarinet", seed)
    write_family_run(tmp_path, "clar3", "clarinet", 3, until=4, end="running")
    reader = read_runs(tmp_path)
    records = reader.search()
    (side,) = make_sides(records)
    curves = {
        record.row.id: run_curve(
            reader.db, record.row.id, read_run_evaluations(reader.db, record), "target_accuracy", "epoch", 100
        )
        for record in records
    }
    averaged = make_side_curves(side, curves, "target_accuracy", "epoch")
    assert averaged.mean.n.tolist() == [2] * 12
    assert len(averaged.members) == 3
    np.testing.assert_allclose(averaged.mean.mean, (curves["clar1"][1] + curves["clar2"][1]) / 2)


def test_single_run_has_no_members(tmp_path: Path) -> None:
    write_family_run(tmp_path, "clar1", "clarinet", 1)
    records = read_runs(tmp_path)
    (record,) = records.search()
    (side,) = make_sides([record])
    one = run_curve(records.db, "clar1", read_run_evaluations(records.db, record), "target_accuracy", "samples", 100)
    averaged = make_side_curves(side, {"clar1": one}, "target_accuracy", "samples")
    assert averaged.members == ()
    np.testing.assert_allclose(averaged.mean.mean, one[1])


def test_missing_metric_gives_an_empty_curve(tmp_path: Path) -> None:
    write_family_run(tmp_path, "clar1", "clarinet", 1)
    assert read_curve(read_runs(tmp_path), "clar1", "mmd", "epoch") == ([], [])
