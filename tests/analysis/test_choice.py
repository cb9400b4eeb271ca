"""The best variant: chosen without target labels, or by the oracle."""

from pathlib import Path
from typing import Any

from clarinet_tui.analysis.choice import choose_variants
from clarinet_tui.history.queries import list_runs
from core.events import Event
from tests.support.cli import invalid, invoke
from tests.support.events import end_events, epoch_events, started
from tests.support.histories import make_run, write_events
from tests.support.trained_runs import make_trained_run, read_runs


def write_scored(
    runs_dir: Path, name: str, rate: float, information: float, risk: float, accuracy: float | None, **settings: Any
) -> None:
    run = make_run(runs_dir, name, classifier_rate=rate, **settings)
    scores: dict[str, Any] = {"target_information": information, "complementary_risk": risk}
    events: list[Event] = [started(seed=run.read_config().seed)]
    events += epoch_events("clarinet", 1, accuracy, lambda _: {"complementary_loss": 1.0}, steps=10, **scores)
    write_events(run, [*events, *end_events("finished", 10, 1)])


def chosen(runs_dir: Path, *, oracle: bool = False) -> list[tuple[str, int]]:
    db = read_runs(runs_dir).db
    return [(choice.name, choice.candidates) for choice in choose_variants(db, list_runs(db), oracle=oracle)]


def test_the_ranks_of_both_criteria_decide_and_target_labels_do_not(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_scored(tmp_path, f"low{seed}", 0.001, 1.0, 0.5, 99.0, seed=seed)
        write_scored(tmp_path, f"mid{seed}", 0.01, 2.0, 0.2, 90.0, seed=seed)
        write_scored(tmp_path, f"high{seed}", 0.1, 1.9, 0.3, 20.0, seed=seed)
    make_trained_run(tmp_path, "going", [50.0], classifier_rate=0.5, end="running")
    assert chosen(tmp_path) == [("clarinet classifier_rate=0.01", 3)]
    assert chosen(tmp_path, oracle=True) == [("clarinet classifier_rate=0.001", 3)]


def test_runs_without_target_labels_are_ranked_too(tmp_path: Path) -> None:
    write_scored(tmp_path, "bad", 0.001, 1.0, 0.5, None)
    write_scored(tmp_path, "good", 0.01, 2.0, 0.2, None)
    assert chosen(tmp_path) == [("clarinet classifier_rate=0.01", 2)]
    assert chosen(tmp_path, oracle=True) == []


def test_ls_lists_the_runs_of_the_best_settings(tmp_path: Path) -> None:
    write_scored(tmp_path, "low", 0.001, 1.0, 0.5, 99.0)
    write_scored(tmp_path, "mid", 0.01, 2.0, 0.2, 90.0)
    result = invoke(tmp_path, "ls", "--best", "--quiet")
    assert result.stdout == "mid\n"
    assert "U→M clarinet classifier_rate=0.01: best of 2 variants" in result.stderr
    assert "target labels" not in result.stderr
    oracle = invoke(tmp_path, "ls", "--best", "--oracle", "--quiet")
    assert (oracle.stdout, "chosen with target labels" in oracle.stderr) == ("low\n", True)
    assert "only with --best" in invalid(tmp_path, "ls", "--oracle")
