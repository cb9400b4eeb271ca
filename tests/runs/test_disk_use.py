"""The disk space of a run, by what its files are for."""

from pathlib import Path

from clarinet_tui.doctor.checks import check_runs_size
from clarinet_tui.runs.directory import DiskUse, disk_use
from tests.support.cli import invoke
from tests.support.histories import make_run


def test_checkpoints_and_models_are_counted_apart(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    before = disk_use(run.path)
    run.checkpoint.write_bytes(bytes(3000))
    run.checkpoint_previous.write_bytes(bytes(2000))
    run.model.write_bytes(bytes(1000))
    (run.path / "outside").symlink_to("/bin")
    use = disk_use(run.path)
    assert (use.checkpoints, use.models) == (5000, 1000)
    assert use.total == before.total + 6000


def test_text_names_what_takes_the_space() -> None:
    assert str(DiskUse(30 << 20, 20 << 20, 2 << 20)) == "30 MiB (checkpoints 20 MiB, model 2 MiB)"
    assert str(DiskUse(1 << 20)) == "1 MiB"


def test_missing_directory_takes_no_space(tmp_path: Path) -> None:
    assert disk_use(tmp_path / "none") == DiskUse()


def test_doctor_adds_all_runs(tmp_path: Path) -> None:
    for _ in range(2):
        make_run(tmp_path).checkpoint.write_bytes(bytes(4 << 20))
    check = check_runs_size(tmp_path)
    assert (check.verdict, check.message) == ("good", "2 runs: 8 MiB (checkpoints 8 MiB)")


def test_show_has_the_space_of_a_run(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.checkpoint.write_bytes(bytes(4 << 20))
    run.model.write_bytes(bytes(1 << 20))
    done = invoke(tmp_path, "show", run.id)
    assert "5 MiB (checkpoints 4 MiB, model 1 MiB)" in done.stdout, done.output
