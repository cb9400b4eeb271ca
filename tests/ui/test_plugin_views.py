"""Settings and metrics of plug-ins in the app."""

from pathlib import Path

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.ui.launch_check import check_form
from clarinet_tui.ui.launch_form import LaunchForm, make_form
from clarinet_tui.ui.query_completion import complete
from clarinet_tui.ui.widgets.chart import Chart
from clarinet_tui.ui.widgets.comparison import CompareCharts
from core.methods import methods
from core.resolve import resolve
from tests.support.app import WIDE, expect_text, open_app, screen_text, wait_until
from tests.support.events import step
from tests.support.plugins import SHARP, OwnSettings, installed
from tests.support.ui_runs import NOW, STEPS, write_family_run, write_run


def measure_distance(run: RunDirectory, iteration: int) -> None:
    """Append iterations with a metric that the catalogue does not know."""
    with JournalWriter(run.journal, now=lambda: NOW) as journal:
        for number in range(iteration + 1, iteration + 21):
            journal.append(step(number, {"coral_distance": number / 100}))


async def test_live_and_its_grid_show_metrics_of_plug_ins(runs_dir: Path) -> None:
    measure_distance(write_run(runs_dir, "ccc333", until=5, end="running"), 5 * STEPS)
    async with open_app(runs_dir, "ccc333", text="coral distance", size=WIDE) as (app, pilot):
        await pilot.press("g")
        await expect_text(pilot, "Coral distance")
        (chart,) = [chart for chart in app.screen.query(Chart) if chart.title == "Coral distance"]
        assert len(chart.lines[0].x) == 20
        await pilot.press("g", "x")
        await expect_text(pilot, "coral distance")


async def test_compare_draws_metrics_of_plug_ins(runs_dir: Path) -> None:
    for method, seed in (("clarinet", 1), ("clarinet", 2), ("gac+dan", 1), ("gac+dan", 2)):
        run = write_family_run(runs_dir, f"{method[-3:]}{seed}", method, seed, until=5, end="running")
        measure_distance(run, 5 * STEPS)
    async with open_app(runs_dir, view="4", text="arget accuracy %", size=WIDE) as (app, pilot):
        comparison = app.state.snapshot and app.state.snapshot.comparison
        assert comparison
        assert comparison.metrics[-1] == "coral_distance"
        await pilot.press(*["M"] * (len(comparison.metrics) - 1))
        await wait_until(pilot, lambda: "oral distance" in app.screen.query_one(CompareCharts).left.title)
        await wait_until(pilot, lambda: len(app.screen.query_one(CompareCharts).left.lines[0].x) > 1)


async def test_the_launch_form_has_the_settings_of_the_selected_method(runs_dir: Path) -> None:
    with installed(ImportError("no licence"), SHARP):
        async with open_app(runs_dir, view="2", text="plug-in broken", size=WIDE) as (app, pilot):
            assert "own.temperature" not in screen_text(app)
            await pilot.press(*["right"] * list(methods()).index("sharp"), "space")
            await expect_text(pilot, "own.temperature")


def test_the_form_checks_settings_of_the_selected_methods() -> None:
    names = [f"own.{name}" for name in OwnSettings.__struct_fields__]
    with installed(SHARP):
        checked = check_form(LaunchForm(("sharp",), settings={"own.temperature": "1, 2"}))
        assert [setting.name for setting in checked.settings][:4] == names
        assert checked.defaults["own.kind"] == "soft"
        assert checked.grid is not None
        assert len(checked.grid) == 2
        assert "--grid own.temperature=1,2" in checked.command
        both = check_form(LaunchForm(("sharp", "gac"), settings={"own.temperature": "1"}))
        assert both.problems == {"own.temperature": "own.temperature: gac does not use it; sharp does"}
        wrong = check_form(LaunchForm(("sharp",), settings={"own.steps": "x"}))
        assert wrong.problems == {"own.steps": 'own.steps: expected an integer ≥ 1, got "x"'}
        config = resolve(method="sharp", preset="smoke", own={"kind": "hard"})
        assert make_form(config).settings == {"own.kind": "hard"}
        assert complete("own.ki", 6, {})[1] == ("own.kind:",)
        assert complete("own.kind:", 9, {})[1] == ("hard", "soft")
