"""Comparisons of one-step with two-step methods: pairs, label draws, costs, settings, corrections."""

import json
from pathlib import Path

import pytest
from scipy import stats

from clarinet_tui.analysis.comparison import Comparison, compare_queries, compare_runs
from clarinet_tui.analysis.comparison_table import comparison_object, comparison_view, pair_table, side_row
from clarinet_tui.analysis.statistics import Summary
from core.errors import InputError
from tests.support.histories import make_run
from tests.support.tables import printed
from tests.support.trained_runs import make_seeds, make_trained_run, read_runs

CLARINET = (83.1, 84.9, 82.6, 83.3, 84.2)
CDAN = (71.2, 73.9, 70.4, 71.9, 70.1)
DAN = (84.0, 83.0, 84.5, 82.1, 84.9)


def five_of_each(runs: Path) -> None:
    make_seeds(runs, "clar", CLARINET)
    make_seeds(runs, "cdan", CDAN, method="gac+cdan-e")
    make_seeds(runs, "dan", DAN, method="gac+dan")


def compare(runs: Path, one: str = "", two: str = "") -> Comparison:
    return compare_queries(read_runs(runs), one, two)


def on_terminal(comparison: Comparison, *, named: bool = False) -> str:
    return printed(comparison_view(comparison, named=named))


def test_every_two_step_method_is_compared_with_holm_correction(tmp_path: Path) -> None:
    five_of_each(tmp_path)
    comparison = compare(tmp_path)
    dan, cdan = comparison.differences
    assert (dan.right.method, cdan.right.method) == ("gac+dan", "gac+cdan-e"), "in the paper's order"
    assert cdan.left.accuracy.mean == pytest.approx(83.62)
    raw = [stats.ttest_rel(CLARINET, other).pvalue for other in (DAN, CDAN)]
    assert (dan.paired.p, cdan.paired.p) == pytest.approx(raw)
    assert (dan.p, cdan.p) == pytest.approx((raw[0], 2 * raw[1])), "Holm takes the smaller one twice"
    assert cdan.comparisons == 2
    ranks = [stats.wilcoxon(CLARINET, other, method="exact").pvalue for other in (DAN, CDAN)]
    assert (dan.paired.rank_p, cdan.paired.rank_p) == pytest.approx(ranks)
    assert (dan.rank_p, cdan.rank_p) == pytest.approx((ranks[0], 2 * ranks[1])), "over the same two comparisons"
    assert cdan.rank_p == cdan.smallest_rank_p == 0.125
    assert not cdan.is_interim
    text = on_terminal(comparison)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("p-values: Holm over the 2 comparisons shown, each test by itself.") == 1
    assert "p < 0.0001 (paired t-test, Holm)" in text
    assert "p = 0.1250 (Wilcoxon signed-rank, Holm); with 5 pairs never below 0.1250" in text
    assert "+12.12 points over 5 pairs, 95 % " in text
    assert "BCa" not in text
    fields = json.loads(json.dumps(comparison_object(comparison), allow_nan=False))
    assert [side["method"] for side in fields["sides"]] == ["clarinet", "gac+dan", "gac+cdan-e"]
    assert [(one["left"], one["right"]) for one in fields["differences"]] == [(0, 1), (0, 2)]
    assert len(fields["runs"]) == 15
    assert fields["sides"][0]["accuracy"]["n"] == 5
    assert fields["correction"] == "p-values: Holm over the 2 comparisons shown, each test by itself."
    assert fields["differences"][1]["rank_p"] == fields["differences"][1]["smallest_rank_p"] == 0.125
    assert fields["differences"][1]["paired"]["bootstrap"] is None
    assert "(Wilcoxon signed-rank, Holm)" in fields["differences"][1]["sentences"][2]


def test_rank_test_and_bootstrap_of_many_pairs(tmp_path: Path) -> None:
    make_seeds(tmp_path, "clar", [80.0 + seed % 7 for seed in range(20)])
    make_seeds(tmp_path, "dan", [70.0 + seed % 5 for seed in range(20)], method="gac+dan")
    make_seeds(tmp_path, "cdan", [70.0, 69.0], method="gac+cdan-e")
    text = " ".join(on_terminal(compare(tmp_path)).split())
    assert "bootstrap 95 % " in text
    assert "p < 0.0001 (Wilcoxon signed-rank, Holm) seed" in text, "can become significant"
    assert "p-values: Holm over the 1 comparison shown with p-values, each test by itself." in text


def test_differences_that_do_not_vary_have_no_interval(tmp_path: Path) -> None:
    make_seeds(tmp_path, "clar", (10.0,) * 5)
    make_seeds(tmp_path, "dan", (10.0,) * 5, method="gac+dan")
    make_seeds(tmp_path, "cdan", (9.0,) * 5, method="gac+cdan-e", start={"label_hash": "another"})
    comparison = compare(tmp_path)
    text = on_terminal(comparison)
    assert "+0.00 points over 5 pairs\n  no interval and no p-value: the differences do not vary" in text
    assert "means differ by +1.00 points, no interval: no side varies, assuming independent runs" in " ".join(
        text.split()
    )
    assert "95 %" not in text
    assert "Holm" not in text
    assert comparison_object(comparison)["differences"][0]["paired"]["interval"] is None


def test_interval_beyond_the_possible_range_is_named_and_not_cut(tmp_path: Path) -> None:
    make_seeds(tmp_path, "clar", (10.0, 40.0))
    make_seeds(tmp_path, "dan", (90.0, 85.0), method="gac+dan")
    make_seeds(tmp_path, "cdan", (90.0, 5.0), method="gac+cdan-e", start={"label_hash": "another"})
    text = on_terminal(compare(tmp_path))
    assert "-62.50 points over 2 pairs, 95 % -284.86 to +159.86 (paired t)" in text
    assert "the interval exceeds the possible ±100 points: 2 pairs are too few for their" in text
    assert "the interval exceeds the possible ±100 points: the runs are too few for their" in text


def test_means_beside_a_difference_are_those_of_its_pairs(tmp_path: Path) -> None:
    make_seeds(tmp_path, "clar", (9.18, 9.18, 11.34))
    make_seeds(tmp_path, "cdan", (9.38, 9.38), method="gac+cdan-e")
    comparison = compare(tmp_path)
    (difference,) = comparison.differences
    assert (difference.left.accuracy.n, difference.paired.left.n) == (3, 2)
    assert difference.left.accuracy.mean == pytest.approx(9.9)
    assert difference.paired.left.mean == pytest.approx(9.18)
    assert (pairs := pair_table(difference))
    assert [cell.text for cell in pairs.rows[-1].cells] == ["mean of 2", "9.18", "9.38", "-0.20"]
    assert side_row(difference.left)["seeds"] == "3/3"
    paired = side_row(difference.left, accuracy=difference.paired.left)
    assert (paired["seeds"], paired["target %"]) == ("2/3", "9.18±0.00")
    assert "mean of 2" in on_terminal(comparison)


def test_pairs_need_the_same_label_draw(tmp_path: Path) -> None:
    make_seeds(tmp_path, "clar", (83.0, 84.0, 85.0))
    make_trained_run(tmp_path, "cdan1", [71.0], seed=1, method="gac+cdan-e")
    make_trained_run(tmp_path, "cdan2", [72.0], seed=2, method="gac+cdan-e", start={"label_hash": "another"})
    make_trained_run(tmp_path, "cdan4", [73.0], seed=4, method="gac+cdan-e")
    (difference,) = compare(tmp_path).differences
    assert [pair.seed for pair in difference.paired.pairs] == [1]
    assert [(refused.seed, refused.reason) for refused in difference.refused] == [
        (2, "the draws of complementary labels differ")
    ]
    assert (difference.paired.only_left, difference.paired.only_right) == ((3,), (4,))
    assert difference.p is None
    text = on_terminal(compare(tmp_path))
    assert "no p-value below 5 pairs" in text
    assert "seed 2 has no counterpart: the draws of complementary labels differ" in text


def test_sides_without_pairs_have_a_difference_of_means(tmp_path: Path) -> None:
    make_seeds(tmp_path, "clar", (81.0, 82.0, 83.0))
    given = {"stage1": {"seed": 9}, "start": {"label_hash": "nine"}}
    make_seeds(tmp_path, "dan", (71.0, 72.0, 73.0), method="gac+dan", **given)
    (difference,) = compare(tmp_path).differences
    assert difference.paired.pairs == ()
    assert difference.unpaired is not None
    assert difference.unpaired.difference == 10.0
    assert "means differ by +10.00 points, 95 %" in " ".join(on_terminal(compare(tmp_path)).split())


def test_shared_stage_1_counts_in_each_run_and_once_in_the_total(tmp_path: Path) -> None:
    make_seeds(tmp_path, "clar", (83.0, 83.0))
    make_seeds(tmp_path, "dan", (71.0, 71.0), method="gac+dan", shared=("origin1", 60.0))
    (difference,) = compare(tmp_path).differences
    own = 30 / 64
    assert difference.left.seconds.mean == 10 / 64
    assert difference.right.seconds.mean == own + 60
    assert difference.right.total_seconds == 2 * own + 60
    assert difference.right.pseudo_label_accuracy == Summary(2, 90.0, 0.0)
    assert difference.left.pseudo_label_accuracy == Summary(0)


def test_stage_1_trained_by_the_side_is_not_added_to_the_total(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "clar1", [83.0], seed=1)
    make_trained_run(tmp_path, "dan1", [71.0], seed=1, method="gac+dan", stage1={"seed": 1})
    make_trained_run(tmp_path, "dan2", [71.0], seed=2, method="gac+dan", stage1={"seed": 1}, shared=("dan1", 1.5))
    (difference,) = compare(tmp_path).differences
    assert difference.right.total_seconds == 2 * 30 / 64
    assert difference.right.seconds.mean == 30 / 64 + 0.75


def test_unrecorded_cost_is_a_caution_and_only_differing_settings_are_listed(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "clar1", [83.0], seed=1)
    make_trained_run(tmp_path, "dan1", [71.0], seed=1, method="gac+dan", shared=("", 0.0))
    comparison = compare(tmp_path)
    (difference,) = comparison.differences
    assert difference.cautions == ("GAC+DAN: the cost of stage 1 is not recorded for dan1",)
    assert "≥0s" in on_terminal(comparison)
    fields = {name: (left, right) for name, left, right in difference.settings}
    assert fields["warmup_epochs"] == (2, 0)
    assert fields["stage1.epochs"] == (None, 3)
    assert not {"seed", "method", "task", "batch_size", "momentum"} & set(fields)


def test_unfinished_runs_make_a_difference_interim(tmp_path: Path) -> None:
    five_of_each(tmp_path)
    make_run(tmp_path, "wait6", seed=6)
    comparison = compare(tmp_path, two="method:gac+dan")
    (difference,) = comparison.differences
    assert difference.is_interim
    assert difference.left.accuracy.n == 5
    assert "interim" in on_terminal(comparison)


def test_each_variant_is_compared_with_the_closest_one_of_another_method(tmp_path: Path) -> None:
    for epochs in (3, 9):
        make_seeds(tmp_path, f"clar{epochs}x", (70.0, 71.0), epochs=epochs)
    make_seeds(tmp_path, "short", (60.0, 61.0, 62.0), method="gac+dan")
    make_seeds(tmp_path, "long", (80.0, 81.0), method="gac+dan", epochs=9)
    make_seeds(tmp_path, "cdan", (50.0, 51.0), method="gac+cdan-e", epochs=5)
    comparison = compare(tmp_path)
    pairs = {(one.left.title, one.right.title): one for one in comparison.differences}
    assert list(pairs) == [
        ("CLARINET epochs=9", "GAC+DAN epochs=9"),
        ("CLARINET epochs=9", "GAC+CDAN_E"),
        ("CLARINET epochs=3", "GAC+DAN epochs=3"),
        ("CLARINET epochs=3", "GAC+CDAN_E"),
    ]
    budgets = [[caution for caution in one.cautions if "budgets" in caution] for one in pairs.values()]
    assert budgets == [[], ["the budgets differ: epochs 9 and 5"], [], ["the budgets differ: epochs 3 and 5"]]


def test_runs_without_a_result_are_not_counted(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "clar1", [20.0], seed=1, end="running")
    make_trained_run(tmp_path, "dan1", [71.0], seed=1, method="gac+dan")
    make_trained_run(tmp_path, "dan2", [None], seed=2, method="gac+dan")
    comparison = compare(tmp_path)
    (difference,) = comparison.differences
    text = on_terminal(comparison)
    assert "not counted: clar1 is running, 20.00 so far" in text
    assert "not counted: dan2 has no target accuracy" in text
    assert (difference.left.accuracy.n, difference.paired.pairs, difference.paired.only_right) == (0, (), (1,))


def test_other_tasks_and_presets_are_listed_as_unmatched(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "clar1", [83.0], seed=1)
    make_trained_run(tmp_path, "dan1", [71.0], seed=1, method="gac+dan", task="M->U")
    make_trained_run(tmp_path, "dan2", [71.0], seed=1, method="gac+dan", preset="quick")
    comparison = compare(tmp_path)
    assert comparison.differences == ()
    assert comparison.unmatched == ("U->M CLARINET (smoke)", "U->M GAC+DAN quick", "M->U GAC+DAN smoke")


def test_query_without_runs_of_its_family_is_an_error(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "clar1", [83.0], seed=1)
    with pytest.raises(InputError, match=r"--two-step: no two-step run matches 'seed:1', only one-step: .* ID clar1`"):
        compare(tmp_path, two="seed:1")
    with pytest.raises(InputError, match="--two-step: no two-step run matches 'seed:2': `clarinet ls` lists runs"):
        compare(tmp_path, two="seed:2")


def test_queries_skip_methods_without_adaptation_and_references(tmp_path: Path) -> None:
    for index, method in enumerate(("clarinet", "gac", "source-only", "cdan-e", "gac+dan")):
        make_trained_run(tmp_path, f"run{index}", [80.0], seed=1, method=method)
    comparison = compare(tmp_path)
    assert [(one.left.method, one.right.method) for one in comparison.differences] == [("clarinet", "gac+dan")]
    assert {row.method for row in comparison.runs} == {"clarinet", "gac+dan"}
    assert comparison.unmatched == ()


@pytest.mark.parametrize(("method", "family"), [("gac", "no-adaptation"), ("cdan-e", "reference")])
def test_other_families_are_compared_by_id_only(tmp_path: Path, method: str, family: str) -> None:
    make_trained_run(tmp_path, "clar1", [83.0], seed=1)
    make_trained_run(tmp_path, "other1", [71.0], seed=1, method=method)
    for option, queries in (("one-step", (f"method:{method}", "")), ("two-step", ("", f"method:{method}"))):
        with pytest.raises(InputError, match=rf"--{option}: no {option} run matches .*, only {family}: .* ID other1`"):
            compare(tmp_path, *queries)
    (difference,) = compare_runs(read_runs(tmp_path), ["clar1", "other1"]).differences
    assert difference.paired.difference.mean == 12.0


def test_named_runs_are_compared_with_the_first(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa1", [83.0], seed=1)
    make_trained_run(tmp_path, "bbb1", [85.0], seed=1, epochs=9, start={"notes": ["MNIST is made here"]})
    make_trained_run(tmp_path, "ccc1", [71.0], seed=1, method="gac+dan", preset="quick")
    comparison = compare_runs(read_runs(tmp_path), ["aaa", "bbb1", "ccc1", "aaa1"])
    assert [row.id for row in comparison.runs] == ["aaa1", "bbb1", "ccc1"]
    longer, other = comparison.differences
    assert (longer.left.runs[0].run, longer.right.runs[0].run) == ("aaa1", "bbb1")
    assert longer.paired.difference.mean == -2.0
    assert longer.settings == (("epochs", 3, 9),)
    assert any("the data differs" in caution for caution in longer.cautions)
    assert any("presets differ: smoke and quick" in caution for caution in other.cautions)
    text = on_terminal(comparison, named=True)
    assert "CLARINET epochs=3 minus CLARINET epochs=9" in text
    assert max(map(len, text.splitlines())) <= 80
    alone = compare_runs(read_runs(tmp_path), ["aaa1"])
    assert alone.differences == ()
    assert "83.00" in on_terminal(alone, named=True)


def test_every_rule_is_listed_with_its_difference_from_the_oracle(tmp_path: Path) -> None:
    for seed in (1, 2):
        make_trained_run(tmp_path, f"clar{seed}", (70.0, 66.0), seed=seed)
        make_trained_run(tmp_path, f"dan{seed}", (60.0, 61.0), seed=seed, method="gac+dan")
    comparison = compare(tmp_path)
    text = on_terminal(comparison)
    unwrapped = " ".join(text.split())
    assert "CLARINET 66.00 (-4.00) 66.00 (-4.00) 70.00 (0.00) 70.00" in unwrapped
    assert "GAC+DAN 61.00 (0.00) 61.00 (0.00) 60.00 (-1.00) 61.00" in unwrapped
    assert max(map(len, text.splitlines())) <= 80
    assert comparison_object(comparison)["sides"][0]["rules"]["information"]["to_oracle"]["mean"] == 0.0
