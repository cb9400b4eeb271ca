"""`clarinet plot` from the command line."""

from pathlib import Path

import pytest

from clarinet_tui.analysis.choices import BAND_KINDS
from clarinet_tui.history.axes import AXES
from tests.support.cli import invalid, invoke, invoke_json, run_clarinet
from tests.support.trained_runs import make_trained_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for seed in (1, 2):
        make_trained_run(tmp_path / "runs", f"run{seed}", [20, 60 + seed], seed=seed)
    return tmp_path / "runs"


def test_figure_in_the_terminal_and_as_a_file(tmp_path: Path, runs: Path) -> None:
    shown = run_clarinet(tmp_path, "plot")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "● CLARINET  61.5  (60.79 to 62.21)  published 83.69" in shown.stdout
    written = run_clarinet(tmp_path, "plot", "accuracy", "--x", "time", "--out", "figure.PDF", "--width", "3.3")
    assert (written.returncode, written.stderr) == (0, "")
    assert written.stdout.startswith("Written: figure.PDF\n· Curve: mean over seeds")
    assert (tmp_path / "figure.PDF").read_bytes().startswith(b"%PDF")


def test_figure_as_json(runs: Path) -> None:
    figure = invoke_json(runs, "plot", "losses", "--metric", "adversarial_loss")
    assert figure["panels"][0]["title"] == "U→M: adversarial loss"
    assert set(figure["panels"][0]["lines"][0]["y"]) == {0.5}
    matrix = invoke_json(runs, "plot", "confusion", "seed:1")["panels"][0]
    assert matrix["counts"] == [[61, 39], [39, 61]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["accuracy", "--out", "figure.gif"], "expected a name that ends with .png, .svg, .pdf"),
        (["accuracy", "--out", "nowhere/figure.png"], "nowhere: cannot be written"),
        (["accuracy", "--out", "figure.png", "--json"], "exclude each other"),
        (["losses", "--x", "time"], "--x: only for `clarinet plot accuracy`"),
        (["accuracy", "--metric", "mmd"], "--metric: only for `clarinet plot losses`"),
        (["setting", "lr"], "plot setting: no setting 'lr': did you mean classifier_rate or discriminator_rate?"),
        (["setting", "epochs,jitter,seed"], "expected one or two settings"),
        (["setting", "epochs"], "finished runs do not differ in epochs"),
        (["accuracy", "method:none"], "no run matches 'method:none'"),
        (["budget"], "finished runs do not differ"),
    ],
)
def test_invalid_input_is_one_sentence(runs: Path, arguments: list[str], message: str) -> None:
    assert message in invalid(runs, "plot", *arguments)


def test_queued_run_has_no_data_to_draw(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [], end="running")
    assert "these runs have no data to draw yet" in invalid(tmp_path, "plot")


@pytest.mark.parametrize("choice", [*(("--x", axis) for axis in AXES), *(("--band", band) for band in BAND_KINDS)])
def test_every_axis_and_band_can_be_chosen(runs: Path, choice: tuple[str, str]) -> None:
    assert invoke(runs, "plot", *choice).exit_code == 0
