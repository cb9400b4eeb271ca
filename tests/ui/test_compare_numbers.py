"""The numbers of Compare: which settings are listed, and the colours of its sides."""

from pathlib import Path

from clarinet_tui.analysis.comparison import compare_runs
from clarinet_tui.chart.palette import colour, marker
from clarinet_tui.ui.text.difference_table import side_colours
from tests.support.app import make_app, screen_text, wait_until
from tests.support.trained_runs import read_runs
from tests.support.ui_runs import five_seeds, write_family_run


async def test_settings_of_one_side_alone_are_counted_until_d_lists_them(runs_dir: Path) -> None:
    five_seeds(runs_dir, ("clarinet", "gac+cdan-e"))
    app = make_app(runs_dir)
    async with app.run_test(size=(160, 60)) as pilot:
        await wait_until(pilot, lambda: app.state.snapshot and app.state.snapshot.is_ingested, "the history")
        await pilot.press("4")
        await wait_until(pilot, lambda: "settings only of GAC+CDAN_E   d lists them" in screen_text(app), "the count")
        assert "stage1.epochs" not in screen_text(app)
        await pilot.press("d")
        await wait_until(pilot, lambda: "stage1.epochs" in screen_text(app), "the settings")


def test_sides_have_distinct_colours_also_beside_the_methods_of_the_paper(tmp_path: Path) -> None:
    methods = ("clarinet", "gac+cdan-e", "basset", "fwd+basset", "fwd+basset-kept")
    for number, method in enumerate(methods):
        write_family_run(tmp_path, f"run{number}", method, 1)
    comparison = compare_runs(read_runs(tmp_path), [f"run{number}" for number in range(len(methods))])
    indices = side_colours(comparison.sides)
    assert len({colour(index, "dark") for index in indices}) == len({marker(index) for index in indices}) == 5
    repeated = side_colours([*comparison.sides, comparison.sides[0]])
    assert repeated[:5] == indices
    assert repeated[5] not in indices
