"""Alarms: each rule on synthetic events, none on recorded healthy runs, and a worker that raises one."""

import gzip
import math
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.queries import get_run, read_open_alarms
from clarinet_tui.logs.event_text import describe_event
from clarinet_tui.runs.worker_command import hook_environment
from clarinet_tui.worker.alarms import ALARM_KINDS, EARLY, PATIENCE, WINDOW, AlarmMonitor
from core.config import setting_specs
from core.events import Alarmed, Evaluated, Event, Resumed, StageStarted, Started, Stepped
from tests.support.events import evaluation, read_journal, resumed, started, step
from tests.support.forked_python import run_worker
from tests.support.workers import events_named, make_task, tiny_run

RECORDED = Path(__file__).with_name("recorded")
EVEN = [[10, 0, 0, 0], [0, 10, 0, 0], [0, 0, 10, 0], [0, 0, 0, 10]]
ALL_ONE = [[10, 0, 0, 0]] * 4


def alarms_of(events: Iterable[Event], monitor: AlarmMonitor | None = None) -> list[tuple[str, bool, int]]:
    """Kind, whether it ends, and iteration of all alarms."""
    monitor = monitor or AlarmMonitor()
    return [(alarm.kind, alarm.over, alarm.iteration) for event in events for alarm in monitor.observe(event)]


def stage(iteration: int = 0, name: str = "clarinet") -> StageStarted:
    return StageStarted(stage=name, index=1, iteration=iteration, epoch=0)


def steps(count: int, start: int = 0, /, **measured: float) -> list[Stepped]:
    """Iterations after `start` with the same metrics and a falling loss."""
    return [step(start + n, {"complementary_loss": 2.3 / n, **measured}) for n in range(1, count + 1)]


def evaluations(*fields: dict[str, Any], start: int = EARLY) -> list[Evaluated]:
    return [evaluation(start + 100 * n, **one) for n, one in enumerate(fields)]


# -- windows of iterations ------------------------------------------------------------------------------------


def test_ascent_alarm_starts_and_ends_once() -> None:
    bad, good = {"ascended": 1.0}, {"ascended": 0.2}
    events = [stage(), *steps(3 * WINDOW, **bad), *steps(2 * WINDOW, 3 * WINDOW, **good)]
    assert alarms_of(events) == [("ascent", False, WINDOW), ("ascent", True, 4 * WINDOW)]


def test_alarm_does_not_change_between_its_limits() -> None:
    between = [step(n, {"complementary_loss": 1.0, "ascended": float(n % 10 > 0)}) for n in range(1, WINDOW + 1)]
    assert alarms_of([stage(), *between]) == []
    again = [step(WINDOW + n, one.metrics) for n, one in enumerate(between)]
    assert alarms_of([stage(), *steps(WINDOW, ascended=1.0), *again]) == [("ascent", False, WINDOW)]


def test_constant_discriminator_differs_from_a_confused_one() -> None:
    assert alarms_of([stage(), *steps(WINDOW, discriminator_accuracy=50.0)]) == [("discriminator-blind", False, WINDOW)]
    chance = random.Random(1)
    for images in (64, 256, 1024):
        guesses = (100 * sum(chance.random() < 0.5 for _ in range(images)) / images for _ in range(WINDOW))
        measured = [{"complementary_loss": 1.0, "discriminator_accuracy": guess} for guess in guesses]
        assert alarms_of(step(n, one) for n, one in enumerate(measured, 1)) == []


def test_unbeaten_discriminator_counts_only_at_full_strength() -> None:
    wins = {"discriminator_accuracy": 99.9}
    assert alarms_of([stage(), *steps(WINDOW, **wins, **{"lambda": 0.5})]) == []
    unbeaten = alarms_of([stage(), *steps(WINDOW, **wins, **{"lambda": 0.95})])
    assert unbeaten == [("discriminator-unbeaten", False, WINDOW)]


def test_metric_missing_in_half_of_a_window_is_ignored() -> None:
    warmup, rest = steps(WINDOW // 2 + 1), steps(WINDOW // 2 - 1, WINDOW // 2 + 1, discriminator_accuracy=50.0)
    assert alarms_of([stage(), *warmup, *rest]) == []


def test_non_finite_loss_raises_at_once_and_ends_after_a_window() -> None:
    broken = [step(n, {"complementary_loss": math.inf, "ascended": 1.0}) for n in (5, 6, 7)]
    alarms = alarms_of([stage(), *steps(4), *broken, *steps(WINDOW + 10, 7)])
    assert alarms == [("not-finite", False, 5), ("not-finite", True, 7 + WINDOW)]


def test_no_progress_starts_after_patience_and_ends() -> None:
    stuck = [step(n, {"complementary_loss": 2.3}) for n in range(1, PATIENCE + 2 * WINDOW)]
    first = -(-PATIENCE // WINDOW) * WINDOW
    assert alarms_of([stage(), *stuck]) == [("no-progress", False, first)]
    better = [step(len(stuck) + n, {"complementary_loss": 1.5}) for n in range(1, 2 * WINDOW)]
    assert alarms_of([stage(), *stuck, *better])[1][:2] == ("no-progress", True)


def test_progress_is_that_of_the_loss_that_is_minimised() -> None:
    noise = [step(n, {"complementary_loss": 2.3, "surrogate_loss": 0.1 / n}) for n in range(1, 3 * PATIENCE)]
    assert alarms_of([stage(), *noise]) == []
    stuck = [step(n, {"complementary_loss": 2.3 / n, "surrogate_loss": 0.1}) for n in range(1, 3 * PATIENCE)]
    assert [kind for kind, _, _ in alarms_of([stage(), *stuck])] == ["no-progress"]


def test_long_run_may_start_slowly() -> None:
    stuck = [step(n, {"complementary_loss": 2.3}) for n in range(1, 4 * PATIENCE)]
    assert alarms_of([started(iterations_total=100 * PATIENCE), stage(), *stuck]) == []
    assert alarms_of([stage(), *stuck], AlarmMonitor(iterations_total=100 * PATIENCE)) == []


def test_converged_resumed_run_raises_no_alarm() -> None:
    converged = [step(n, {"complementary_loss": 0.1}) for n in range(5000, 5000 + 5 * PATIENCE)]
    assert alarms_of([resumed(5000), *converged]) == []


# -- evaluations ------------------------------------------------------------------------------------------------


def test_collapse_in_two_successive_evaluations() -> None:
    even, one = {"confusion": EVEN}, {"confusion": ALL_ONE}
    assert alarms_of([stage(), *evaluations(even, one, even, one)]) == []
    assert alarms_of([stage(), *evaluations(even, one, one, one, even)]) == [
        ("collapse", False, EARLY + 200),
        ("collapse", True, EARLY + 400),
    ]


def test_predictions_that_never_were_diverse_get_patience() -> None:
    never = [{"confusion": ALL_ONE}] * 9
    assert alarms_of([stage(), *evaluations(*never)]) == [("collapse", False, PATIENCE)]
    assert alarms_of([stage(), *evaluations(*never, start=1)])[0][2] > PATIENCE
    assert alarms_of([started(iterations_total=50_000), stage(), *evaluations(*never)]) == []


def test_rare_classes_may_be_rare_in_predictions() -> None:
    rare = [[97, 0, 0], [2, 0, 0], [1, 0, 0]]
    unequal = [[90, 0], [5, 5]]
    single = [[100, 0], [0, 0]]
    for confusion in (rare, unequal, single, None, []):
        alarms = alarms_of([stage(), *evaluations(*[{"confusion": confusion}] * 9)])
        assert bool(alarms) == (confusion is rare), confusion  # there, no other class is ever predicted


def test_overconfident_on_the_target_while_forgetting_the_source() -> None:
    good = {"source_accuracy": 90.0, "target_entropy": 1.0}
    doubtful = {"source_accuracy": 80.0, "target_entropy": 0.3}
    surer = {"source_accuracy": 91.0, "target_entropy": 0.2}
    worse = {"source_accuracy": 80.0, "target_entropy": 0.9}
    unknown = {"source_accuracy": None, "target_entropy": 0.1}
    assert alarms_of([stage(), *evaluations(good, surer, worse, worse, unknown, unknown)]) == []
    assert alarms_of([stage(), *evaluations(good, doubtful, good, doubtful)]) == []
    assert alarms_of([stage(), *evaluations(good, doubtful, doubtful, doubtful, good)]) == [
        ("overconfident", False, EARLY + 200),
        ("overconfident", True, EARLY + 400),
    ]


def test_new_stage_ends_all_alarms() -> None:
    events = [stage(), *steps(WINDOW, ascended=1.0), stage(WINDOW, "cdan-e"), *steps(WINDOW, WINDOW)]
    assert alarms_of(events) == [("ascent", False, WINDOW), ("ascent", True, WINDOW)]


# -- real runs ---------------------------------------------------------------------------------------------------


def recorded(name: str, folder: Path) -> Iterator[Event]:
    """Events of a real run that alarms depend on."""
    journal = folder / "journal.jsonl"
    journal.write_bytes(gzip.decompress((RECORDED / f"{name}.jsonl.gz").read_bytes()))
    for record in read_journal(journal):
        if record["event"] == "step":
            place = {field: record[field] for field in ("iteration", "epoch", "adaptation_epoch", "stage")}
            measured = {field: record[field] for field in record.keys() - place.keys() - {"event"}}
            yield Stepped(**place, metrics=measured)
        elif record["event"] != "finished":
            yield msgspec.convert(record, Started | StageStarted | Evaluated | Resumed)


@pytest.mark.parametrize(
    "name", ["quick-clarinet", "quick-gac+cdan-e", "quick-mnist", "smoke-clarinet", "smoke-gac+cdan-e"]
)
def test_no_alarm_in_healthy_or_short_runs(name: str, tmp_path: Path) -> None:
    assert alarms_of(recorded(name, tmp_path)) == []


def test_alarms_of_a_collapsed_run(tmp_path: Path) -> None:
    alarms = alarms_of(recorded("collapsed", tmp_path))
    assert [kind for kind, over, _ in alarms if not over] == ["ascent", "collapse", "no-progress"]


# -- texts and the worker ---------------------------------------------------------------------------------------


def test_advice_names_settings_that_exist() -> None:
    names = {field.name for field in setting_specs()}
    words = {word.strip(",();").partition("=")[0] for kind in ALARM_KINDS.values() for word in kind.advice.split()}
    assert {word for word in words if "_" in word or "." in word} <= names


def test_guide_lists_every_kind() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "alarms.md"
    listed = [line.split("`")[1] for line in guide.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert [name for name in listed if name in ALARM_KINDS] == list(ALARM_KINDS)


def test_text_of_an_alarm() -> None:
    monitor = AlarmMonitor()
    (raised,) = [one for event in [stage(), *steps(WINDOW, ascended=1.0)] for one in monitor.observe(event)]
    assert describe_event(raised, 0, "abc") == (
        f"alarm ascent: 100 % of the last 200 steps were gradient ascents: {ALARM_KINDS['ascent'].meaning}; "
        f"{ALARM_KINDS['ascent'].advice}"
    )
    ended = [one for event in steps(WINDOW, WINDOW, ascended=0.0) for one in monitor.observe(event)]
    assert [describe_event(one, 0, "abc") for one in ended] == ["alarm ascent: is over"]


def test_worker_records_alarms_and_runs_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "notify.py"
    script.write_text("import os\nprint('received', os.environ['CLARINET_ALARM'], os.environ['CLARINET_RUN'])\n")
    runs = tmp_path / "runs"
    run = tiny_run(runs, make_task(tmp_path), "broken", "gac", on_nan="continue", stage1={"rate": 1e9})
    for name, value in hook_environment((sys.executable, str(script), "secret-token")).items():
        monkeypatch.setenv(name, value)
    assert run_worker(run) == 0, run.log.read_text()
    assert "secret-token" not in run.environment.read_text()
    alarm = msgspec.convert(events_named(run, "alarm")[0], Alarmed)
    assert (alarm.kind, alarm.over, alarm.advice) == ("not-finite", False, ALARM_KINDS["not-finite"].advice)
    assert "complementary_loss is nan" in alarm.message
    assert "received not-finite broken\n" in run.log.read_text()
    with Database.open(runs) as db:
        ingest_run(db, run)
        assert [one.kind for one in read_open_alarms(db, "broken")] == ["not-finite"]
        row = get_run(db, "broken")
    assert row is not None
    assert row.alarms == ("not-finite",)
