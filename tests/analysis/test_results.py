"""`python -m benchmarks.results` writes all files of docs/results without details of this machine."""

from pathlib import Path

import pytest

from benchmarks.results import check_file, write_results
from clarinet_tui.runs.lock import host_name
from core.errors import InputError
from tests.support.trained_runs import make_trained_run

PAGE = Path(__file__).parents[2] / "docs" / "results.md"
FILES = "accuracy.svg board.csv board.md board.tex comparison.txt report.html"


def test_results_are_written_without_machine_details(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "out"
    out.mkdir()
    page = tmp_path / "out.md"
    page.write_text(PAGE.read_text())
    for seed in (1, 2):
        for method, accuracy in (("clarinet", 70.0), ("gac+dan", 60.0)):
            name = f"{method[:3]}{seed}"
            run = make_trained_run(runs, name, (50.0, accuracy + seed), seed=seed, method=method, task="M->U", epochs=7)
            run.environment.write_text(f'{{"host": "{host_name()}", "command": ["{tmp_path}/worker.py"]}}')
    make_trained_run(runs, "more", (50.0,), seed=3, task="M->U", end="running")
    write_results(runs, out, seeds=2)
    assert sorted(file.name for file in out.iterdir()) == sorted(FILES.split())
    written = page.read_text()
    assert "4 of 5 runs are finished" in written
    assert (
        'clarinet sweep --methods gac+dan,clarinet --tasks "M->U" --seeds 1,2 --preset smoke --set epochs=7' in written
    )
    assert "clarinet table --seeds 2 --format markdown --out docs/results/board.md --runs-dir RUNS" in written
    assert "| cla2 | M->U | `clarinet` | 2 | 72.00 |" in written
    assert "M→U, CLARINET epochs=7 minus GAC+DAN" in written
    assert "+10.00 points over 2 pairs" in (out / "comparison.txt").read_text()
    assert written.endswith(PAGE.read_text().partition("<!-- measured: end -->")[2]), "what is written by hand stays"
    write_results(runs, out, seeds=2)
    assert page.read_text() == written, "a second time nothing grows"


@pytest.mark.parametrize("secret", [lambda runs: f"made on {host_name()}.", lambda runs: str(runs.parent / "data")])
def test_machine_details_are_refused(tmp_path: Path, secret: object) -> None:
    assert callable(secret)
    file = tmp_path / "page.html"
    file.write_text(f"<p>{secret(tmp_path / 'runs')}</p>")
    with pytest.raises(InputError, match="contains a name of this machine"):
        check_file(file, tmp_path / "runs")
