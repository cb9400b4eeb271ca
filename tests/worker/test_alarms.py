"""Alarms: each rule on made sequences, none on what healthy runs really said, and the worker that says them."""

import gzip
import math
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clarinet_tui.history.alarms import alarms
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.queries import get_run
from clarinet_tui.logs.event_text import sentence
from clarinet_tui.runs.journal_reader import Record, read
from clarinet_tui.worker.alarm_rules import EARLY, PATIENCE, WINDOW
from clarinet_tui.worker.alarms import KINDS, Watch
from core.config import fields
from core.events import Alarmed, Evaluated, Event, Resumed, StageStarted, Started, Stepped
from tests.support.child_processes import lived
from tests.support.events import evaluation, resumed, started, step
from tests.support.workers import make_task, said, tiny_run

RECORDED = Path(__file__).with_name("recorded")
EVEN = [[10, 0, 0, 0], [0, 10, 0, 0], [0, 0, 10, 0], [0, 0, 0, 10]]
ALL_ONE = [[10, 0, 0, 0]] * 4


def heard(events: Iterable[Event], watch: Watch | None = None) -> list[tuple[str, bool, int]]:
    """Kind, whether it is over, and when, of all that is said."""
    watch = watch or Watch()
    return [(alarm.kind, alarm.over, alarm.iteration) for event in events for alarm in watch.hear(event)]


def stage(iteration: int = 0, name: str = "clarinet") -> StageStarted:
    return StageStarted(stage=name, index=1, iteration=iteration, epoch=0)


def steps(count: int, start: int = 0, /, **measured: float) -> list[Stepped]:
    """Iterations after `start`, all with the same numbers beside a loss that falls."""
    return [step(start + n, {"complementary_loss": 2.3 / n, **measured}) for n in range(1, count + 1)]


def evaluations(*told: dict[str, Any], start: int = EARLY) -> list[Evaluated]:
    return [evaluation(start + 100 * n, **one) for n, one in enumerate(told)]


# -- one window after another ------------------------------------------------------------------------------------


def test_ascent_in_every_step_begins_and_ends_once() -> None:
    bad, good = {"ascended": 1.0}, {"ascended": 0.2}
    said = [stage(), *steps(3 * WINDOW, **bad), *steps(2 * WINDOW, 3 * WINDOW, **good)]
    assert heard(said) == [("ascent", False, WINDOW), ("ascent", True, 4 * WINDOW)]


def test_between_its_limits_an_alarm_stays_as_it_is() -> None:
    between = [step(n, {"complementary_loss": 1.0, "ascended": float(n % 10 > 0)}) for n in range(1, WINDOW + 1)]
    assert heard([stage(), *between]) == []
    again = [step(WINDOW + n, one.measured) for n, one in enumerate(between)]
    assert heard([stage(), *steps(WINDOW, ascended=1.0), *again]) == [("ascent", False, WINDOW)]


def test_a_discriminator_that_says_always_the_same_is_told_from_one_that_guesses() -> None:
    assert heard([stage(), *steps(WINDOW, discriminator_accuracy=50.0)]) == [("discriminator-blind", False, WINDOW)]
    chance = random.Random(1)
    for images in (64, 256, 1024):
        guesses = (100 * sum(chance.random() < 0.5 for _ in range(images)) / images for _ in range(WINDOW))
        measured = [{"complementary_loss": 1.0, "discriminator_accuracy": guess} for guess in guesses]
        assert heard(step(n, one) for n, one in enumerate(measured, 1)) == []


def test_a_discriminator_that_always_wins_counts_only_at_full_strength() -> None:
    wins = {"discriminator_accuracy": 99.9}
    assert heard([stage(), *steps(WINDOW, **wins, **{"lambda": 0.5})]) == []
    unbeaten = heard([stage(), *steps(WINDOW, **wins, **{"lambda": 0.95})])
    assert unbeaten == [("discriminator-unbeaten", False, WINDOW)]


def test_what_is_measured_in_less_than_half_of_a_window_is_not_judged() -> None:
    warmup, rest = steps(WINDOW // 2 + 1), steps(WINDOW // 2 - 1, WINDOW // 2 + 1, discriminator_accuracy=50.0)
    assert heard([stage(), *warmup, *rest]) == []


def test_a_loss_that_is_not_finite_is_told_at_once_and_over_after_a_whole_window() -> None:
    broken = [step(n, {"complementary_loss": math.inf, "ascended": 1.0}) for n in (5, 6, 7)]
    told = heard([stage(), *steps(4), *broken, *steps(WINDOW + 10, 7)])
    assert told == [("not-finite", False, 5), ("not-finite", True, 7 + WINDOW)]


def test_no_progress_is_told_after_patience_and_taken_back() -> None:
    stuck = [step(n, {"complementary_loss": 2.3}) for n in range(1, PATIENCE + 2 * WINDOW)]
    first = -(-PATIENCE // WINDOW) * WINDOW
    assert heard([stage(), *stuck]) == [("no-progress", False, first)]
    better = [step(len(stuck) + n, {"complementary_loss": 1.5}) for n in range(1, 2 * WINDOW)]
    assert heard([stage(), *stuck, *better])[1][:2] == ("no-progress", True)


def test_a_long_run_may_begin_slowly() -> None:
    stuck = [step(n, {"complementary_loss": 2.3}) for n in range(1, 4 * PATIENCE)]
    assert heard([started(iterations_total=100 * PATIENCE), stage(), *stuck]) == []
    assert heard([stage(), *stuck], Watch(iterations_total=100 * PATIENCE)) == []


def test_a_resumed_run_that_has_converged_makes_progress_no_more_and_that_is_well() -> None:
    converged = [step(n, {"complementary_loss": 0.1}) for n in range(5000, 5000 + 5 * PATIENCE)]
    assert heard([resumed(5000), *converged]) == []


# -- one evaluation after another --------------------------------------------------------------------------------


def test_predictions_that_collapse_twice_in_a_row() -> None:
    even, one = {"confusion": EVEN}, {"confusion": ALL_ONE}
    assert heard([stage(), *evaluations(even, one, even, one)]) == []
    assert heard([stage(), *evaluations(even, one, one, one, even)]) == [
        ("collapse", False, EARLY + 200),
        ("collapse", True, EARLY + 400),
    ]


def test_predictions_that_were_never_manifold_are_waited_for() -> None:
    never = [{"confusion": ALL_ONE}] * 9
    assert heard([stage(), *evaluations(*never)]) == [("collapse", False, PATIENCE)]
    assert heard([stage(), *evaluations(*never, start=1)])[0][2] > PATIENCE
    assert heard([started(iterations_total=50_000), stage(), *evaluations(*never)]) == []


def test_classes_that_are_rare_in_truth_may_be_rare_in_predictions() -> None:
    rare = [[97, 0, 0], [2, 0, 0], [1, 0, 0]]
    unequal = [[90, 0], [5, 5]]
    single = [[100, 0], [0, 0]]
    for confusion in (rare, unequal, single, None, []):
        told = heard([stage(), *evaluations(*[{"confusion": confusion}] * 9)])
        assert bool(told) == (confusion is rare), confusion  # there, not a single other class is ever seen


def test_sure_of_the_target_while_the_source_is_forgotten() -> None:
    good = {"source_accuracy": 90.0, "target_entropy": 1.0}
    doubtful = {"source_accuracy": 80.0, "target_entropy": 0.3}
    surer = {"source_accuracy": 91.0, "target_entropy": 0.2}
    worse = {"source_accuracy": 80.0, "target_entropy": 0.9}
    unknown = {"source_accuracy": None, "target_entropy": 0.1}
    assert heard([stage(), *evaluations(good, surer, worse, worse, unknown, unknown)]) == []
    assert heard([stage(), *evaluations(good, doubtful, good, doubtful)]) == []
    assert heard([stage(), *evaluations(good, doubtful, doubtful, doubtful, good)]) == [
        ("overconfident", False, EARLY + 200),
        ("overconfident", True, EARLY + 400),
    ]


def test_a_new_stage_ends_what_was_wrong_and_remembers_nothing() -> None:
    said = [stage(), *steps(WINDOW, ascended=1.0), stage(WINDOW, "cdan-e"), *steps(WINDOW, WINDOW)]
    assert heard(said) == [("ascent", False, WINDOW), ("ascent", True, WINDOW)]


# -- real runs ---------------------------------------------------------------------------------------------------


def recorded(name: str, folder: Path) -> Iterator[Event]:
    """What a real run said, as far as alarms look at it."""
    journal = folder / "journal.jsonl"
    journal.write_bytes(gzip.decompress((RECORDED / f"{name}.jsonl.gz").read_bytes()))
    for record in read(journal):
        assert isinstance(record, Record)
        if record.event == "step":
            place = {field: record.fields[field] for field in ("iteration", "epoch", "adaptation_epoch", "stage")}
            measured = {field: record.fields[field] for field in record.fields.keys() - place.keys() - {"event"}}
            yield Stepped(**place, measured=measured)
        elif record.event != "finished":
            yield msgspec.convert(record.fields, Started | StageStarted | Evaluated | Resumed)


@pytest.mark.parametrize(
    "name", ["quick-clarinet", "quick-gac+cdan-e", "quick-mnist", "smoke-clarinet", "smoke-gac+cdan-e"]
)
def test_no_alarm_in_runs_that_were_well_or_too_short_to_tell(name: str, tmp_path: Path) -> None:
    assert heard(recorded(name, tmp_path)) == []


def test_the_alarms_of_a_run_that_collapsed(tmp_path: Path) -> None:
    told = heard(recorded("collapsed", tmp_path))
    assert [kind for kind, over, _ in told if not over] == ["ascent", "collapse", "no-progress"]


# -- in words, and in the worker ---------------------------------------------------------------------------------


def test_advice_names_settings_that_exist() -> None:
    known = {field.name for field in fields()}
    words = {word.strip(",();").partition("=")[0] for kind in KINDS.values() for word in kind.advice.split()}
    assert {word for word in words if "_" in word or "." in word} <= known


def test_the_guide_tells_of_every_kind() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "alarms.md"
    told = [line.split("`")[1] for line in guide.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert [name for name in told if name in KINDS] == list(KINDS)


def test_an_alarm_in_words() -> None:
    alarm, over = Watch(), []
    (begun,) = [one for event in [stage(), *steps(WINDOW, ascended=1.0)] for one in alarm.hear(event)]
    assert sentence(begun, 0, "abc") == (
        f"alarm ascent: 100 % of the last 200 steps were gradient ascents: {KINDS['ascent'].meaning}; "
        f"{KINDS['ascent'].advice}"
    )
    over = [one for event in steps(WINDOW, WINDOW, ascended=0.0) for one in alarm.hear(event)]
    assert [sentence(one, 0, "abc") for one in over] == ["alarm ascent: is over"]


def test_the_worker_says_its_alarms_and_calls_the_command(tmp_path: Path) -> None:
    script = tmp_path / "tell.py"
    script.write_text("import os\nprint('heard', os.environ['CLARINET_ALARM'], os.environ['CLARINET_RUN'])\n")
    runs = tmp_path / "runs"
    run = tiny_run(runs, make_task(tmp_path), "broken", "gac", on_nan="continue", stage1={"rate": 1e9})
    words = [f"--on-alarm={word}" for word in (sys.executable, str(script))]
    assert lived(run, *words) == 0, run.log.read_text()
    alarm = msgspec.convert(said(run, "alarm")[0], Alarmed)
    assert (alarm.kind, alarm.over, alarm.advice) == ("not-finite", False, KINDS["not-finite"].advice)
    assert "complementary_loss is nan" in alarm.message
    assert "heard not-finite broken\n" in run.log.read_text()
    with Database.open(runs) as db:
        ingest_run(db, run)
        assert [one.kind for one in alarms(db, "broken")] == ["not-finite"]
        row = get_run(db, "broken")
    assert row is not None
    assert row.alarms == ("not-finite",)
