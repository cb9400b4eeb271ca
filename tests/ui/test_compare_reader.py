"""Comparisons as the feed's thread reads them: nothing twice, and nothing slow before it is needed."""

from pathlib import Path

import pytest

from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.ui.feed.compare_reader import CompareReader
from clarinet_tui.ui.snapshot.comparison import ComparisonRequest
from core.events import Event
from tests.support.app import open_app, wait_until
from tests.support.cli import imported_modules
from tests.support.events import evaluation, step
from tests.support.histories import ingested
from tests.support.known import known
from tests.support.ui_runs import FAMILY_STEPS, five_seeds, write_family_run

READ = """from pathlib import Path
from clarinet_tui.ui.feed.history_reader import HistoryReader
from clarinet_tui.ui.snapshot.snapshot import ViewRequest
HistoryReader(Path({!r})).read(ViewRequest())"""


def test_numbers_are_computed_again_only_after_an_evaluation(tmp_path: Path) -> None:
    five_seeds(tmp_path, ("clarinet", "gac+dann"))
    going = write_family_run(tmp_path, "clar6", "clarinet", 6, until=5, end="running")
    accuracy, loss = ComparisonRequest(), ComparisonRequest(metric="complementary_loss")
    append(going.journal, step(5 * FAMILY_STEPS + 1, epoch=6, adaptation_epoch=6))
    with ingested(tmp_path) as db:
        reader = CompareReader(db, tmp_path)
        first, curves = reader.read(accuracy), reader.read(loss)
        assert curves.comparison is first.comparison
        append(going.journal, step(5 * FAMILY_STEPS + 2, epoch=6, adaptation_epoch=6))
        ingest_all(db, tmp_path)
        moved = reader.read(loss)
        assert moved.comparison is first.comparison, "an iteration changes no number"
        assert moved is not curves, "but it is drawn"
        assert reader.read(loss) is moved
        append(going.journal, evaluation(6 * FAMILY_STEPS, 70.0, stage="clarinet", epoch=6))
        ingest_all(db, tmp_path)
        last = reader.read(accuracy)
        assert last.comparison is not first.comparison
        assert reader.read(accuracy) is last


def test_the_default_opponent_is_the_best_two_step_baseline(tmp_path: Path) -> None:
    five_seeds(tmp_path, ("clarinet", "gac+dann"))
    with ingested(tmp_path) as db:
        assert "method:" not in (CompareReader(db, tmp_path).read(ComparisonRequest()).queries or ("", ""))[1]
        write_family_run(tmp_path, "cdan1", "gac+cdan-e", 1)
        ingest_all(db, tmp_path)
        queries = known(CompareReader(db, tmp_path).read(ComparisonRequest()).queries)
        assert queries[1] == f"method:gac+cdan-e {queries[0]}"


def test_basset_is_compared_with_its_controls_which_no_other_method_is(tmp_path: Path) -> None:
    five_seeds(tmp_path, ("clarinet", "gac+dann", "gac+cdan-e"))
    for number, method in enumerate(("basset", "fwd+basset", "fwd+basset-kept")):
        write_family_run(tmp_path, f"bass{number}", method, 1)
    with ingested(tmp_path) as db:
        found = CompareReader(db, tmp_path).read(ComparisonRequest())
    assert [(one.left.method, one.right.method) for one in known(found.comparison).differences] == [
        ("clarinet", "gac+cdan-e"),
        ("basset", "fwd+basset"),
        ("basset", "fwd+basset-kept"),
        ("basset", "gac+cdan-e"),
    ]


def append(journal: Path, event: Event) -> None:
    with JournalWriter(journal) as writer:
        writer.append(event)


def test_reading_the_history_does_not_import_scipy(tmp_path: Path) -> None:
    write_family_run(tmp_path, "clar1", "clarinet", 1)
    write_family_run(tmp_path, "dann1", "gac+dann", 1)
    ingested(tmp_path).close()
    assert "scipy" not in imported_modules(READ.format(str(tmp_path)))


@pytest.mark.parametrize("both", [False, True])
async def test_compare_is_imported_ahead_only_if_both_families_have_runs(
    runs_dir: Path, both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_family_run(runs_dir, "clar1", "clarinet", 1)
    if both:
        write_family_run(runs_dir, "dann1", "gac+dann", 1)
    started: list[str] = []
    monkeypatch.setattr("clarinet_tui.ui.app.IDLE_SECONDS", 0.01)
    monkeypatch.setattr("clarinet_tui.ui.app.import_compare", lambda: started.append("compare"))
    monkeypatch.setattr(
        "clarinet_tui.queue.local.ensure_supervisor_if_needed", lambda runs_dir: started.append("supervisor")
    )
    async with open_app(runs_dir) as (app, pilot):
        await wait_until(pilot, lambda: app.state.snapshot and app.state.snapshot.is_ingested, "the history")
        await wait_until(pilot, lambda: len(started) == 1 + both, "the threads")
    assert sorted(started) == [*(["compare"] if both else []), "supervisor"]


def test_the_usual_choice_needs_both_families_and_quotes_what_it_asks(tmp_path: Path) -> None:
    folder = "my (own) digits->M"
    write_family_run(tmp_path, "clar1", "clarinet", 1, task=folder)
    with ingested(tmp_path) as db:
        reader = CompareReader(db, tmp_path)
        assert "Nothing to compare yet" in reader.read(ComparisonRequest()).description
        write_family_run(tmp_path, "dann1", "gac+dann", 1, task=folder)
        ingest_all(db, tmp_path)
        found = reader.read(ComparisonRequest())
    assert found.queries == ('task:"my (own) digits->M" preset:smoke state:finished,running',) * 2
    assert found.matches == (1, 1)
    assert [part.task_preset for part in found.parts] == [(folder, "smoke")]
    assert found.command.startswith("clarinet compare --one-step 'task:")
