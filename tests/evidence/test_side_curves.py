"""Curves of a side along every axis, from real journals."""

from pathlib import Path

import numpy as np
import pytest

from clarinet_tui.evidence.choices import Axis
from clarinet_tui.evidence.run_records import RunRecords
from clarinet_tui.evidence.side_curves import make_side_curves, read_run_evaluations, run_curve
from clarinet_tui.evidence.sides import make_sides
from tests.support.finished_runs import make_finished_run, read_runs
from tests.support.ui_families import STEPS, write_family_run


def drawn(archive: RunRecords, run: str, metric: str, axis: Axis) -> tuple[list[float], list[float]]:
    (record,) = archive.search(f"id:{run}")
    x, y = run_curve(archive.db, run, read_run_evaluations(archive.db, record), metric, axis, 100)
    return x.tolist(), y.tolist()


def test_accuracies_are_those_of_the_last_stage(tmp_path: Path) -> None:
    write_family_run(tmp_path, "dann1", "gac+dann", 1)
    archive = read_runs(tmp_path)
    x, _ = drawn(archive, "dann1", "target_accuracy", "epoch")
    assert x == list(range(7, 19))
    assert drawn(archive, "dann1", "target_accuracy", "adaptation epoch")[0] == list(range(1, 13))
    assert drawn(archive, "dann1", "target_accuracy", "iteration")[0] == [epoch * STEPS for epoch in range(7, 19)]


def test_losses_lie_where_their_iterations_do(tmp_path: Path) -> None:
    write_family_run(tmp_path, "clar1", "clarinet", 1)
    archive = read_runs(tmp_path)
    iterations, _ = drawn(archive, "clar1", "complementary_loss", "iteration")
    for axis, share in (("epoch", 1 / STEPS), ("device time", 0.1)):
        places, _ = drawn(archive, "clar1", "complementary_loss", axis)  # type: ignore[arg-type]
        assert places == pytest.approx([iteration * share for iteration in iterations])


def test_a_shared_stage_1_has_been_paid_for_when_the_losses_begin(tmp_path: Path) -> None:
    make_finished_run(tmp_path, "dann1", 80.0, method="gac+dann", shared=("abc123", 60.0))
    archive = read_runs(tmp_path)
    (place,), _ = drawn(archive, "dann1", "target_accuracy", "device time")
    assert place > 60


def test_the_mean_is_of_finished_runs_and_all_stand_behind_it(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_family_run(tmp_path, f"clar{seed}", "clarinet", seed)
    write_family_run(tmp_path, "clar3", "clarinet", 3, until=4, end="running")
    archive = read_runs(tmp_path)
    records = archive.search()
    (side,) = make_sides(records)
    curves = {
        record.row.id: run_curve(
            archive.db, record.row.id, read_run_evaluations(archive.db, record), "target_accuracy", "epoch", 100
        )
        for record in records
    }
    found = make_side_curves(side, curves, "target_accuracy", "epoch")
    assert found.mean.n.tolist() == [2] * 12
    assert len(found.members) == 3
    np.testing.assert_allclose(found.mean.mean, (curves["clar1"][1] + curves["clar2"][1]) / 2)


def test_one_run_alone_is_its_own_mean_with_nothing_behind_it(tmp_path: Path) -> None:
    write_family_run(tmp_path, "clar1", "clarinet", 1)
    archive = read_runs(tmp_path)
    (record,) = archive.search()
    (side,) = make_sides([record])
    one = run_curve(archive.db, "clar1", read_run_evaluations(archive.db, record), "target_accuracy", "samples", 100)
    found = make_side_curves(side, {"clar1": one}, "target_accuracy", "samples")
    assert found.members == ()
    np.testing.assert_allclose(found.mean.mean, one[1])


def test_what_a_run_has_not_is_empty(tmp_path: Path) -> None:
    write_family_run(tmp_path, "clar1", "clarinet", 1)
    assert drawn(read_runs(tmp_path), "clar1", "mmd", "epoch") == ([], [])
