"""Complementary labels: their draw, their shares and label budgets."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from core.data.labels import (
    class_priors,
    complementary_mask,
    draw_complementary,
    label_hash,
    label_weights,
)
from core.data.task_data import ImageSet, TaskData
from tests.support.image_folders import images, labels, load, mnist_folder, save


@given(
    y=st.lists(st.integers(0, 4), min_size=1, max_size=60), per_sample=st.integers(1, 4), seed=st.integers(0, 2**63 - 1)
)
def test_draw_has_distinct_wrong_labels(y: list[int], per_sample: int, seed: int) -> None:
    mask = draw_complementary(np.array(y), 5, per_sample, seed)
    assert not mask[np.arange(len(y)), y].any()
    assert (mask.sum(axis=1) == per_sample).all()


@pytest.mark.parametrize("per_sample", [1, 3])
def test_draw_is_uniform_over_the_wrong_labels(per_sample: int) -> None:
    y = np.random.default_rng(0).integers(0, 10, 100_000)
    mask = draw_complementary(y, 10, per_sample, seed=7)
    assert not mask[np.arange(len(y)), y].any()
    for true in range(10):
        wrong = np.delete(mask[y == true].sum(axis=0), true)
        assert chisquare(wrong).pvalue > 1e-4


def test_more_labels_extend_fewer_and_the_seed_decides() -> None:
    y = np.random.default_rng(1).integers(0, 6, 9000)
    masks = [draw_complementary(y, 6, count, seed=3) for count in range(1, 6)]
    for fewer, more in pairwise(masks):
        assert (more[fewer]).all()
    assert (draw_complementary(y, 6, 1, seed=3) == masks[0]).all()
    assert (draw_complementary(y, 6, 1, seed=4) != masks[0]).any()


def test_labels_are_drawn_where_the_class_is_known() -> None:
    y = np.array([0, -1, 2, 1])
    mask = complementary_mask(y, None, 3, 1, seed=1)
    assert mask.sum(axis=1).tolist() == [1, 0, 1, 1]
    assert not mask[[0, 2, 3], [0, 2, 1]].any()


def test_given_labels_are_kept_and_a_true_label_rules_out_all_others() -> None:
    y = np.array([-1, 2, 1, -1])
    ybar = np.array([[1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)
    mask = complementary_mask(y, ybar, 3, 2, seed=1)
    assert mask.tolist() == [[True, False, False], [True, True, False], [True, False, False], [False, False, False]]
    assert not ybar[1].any(), "the input is not modified"


def test_weights_and_priors_share_an_image_between_its_labels() -> None:
    mask = np.array([[1, 1, 0, 0], [0, 0, 0, 1]], dtype=bool)
    assert label_weights(mask).tolist() == [[0.5, 0.5, 0, 0], [0, 0, 0, 1]]
    assert label_weights(mask).dtype == np.float32
    assert class_priors(mask).tolist() == [0.25, 0.25, 0.0, 0.5]


def test_hash_differs_between_draws() -> None:
    mask = draw_complementary(np.zeros(50, dtype=np.int64), 4, 1, 1)
    other = mask.copy()
    other[7] = np.roll(other[7], 1)
    assert len(label_hash(mask)) == 12
    assert label_hash(mask) == label_hash(mask.copy())
    assert label_hash(mask) != label_hash(other)
    assert label_hash(np.zeros((2, 4), dtype=bool)) != label_hash(np.zeros((4, 2), dtype=bool))


COUNT = 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("source", "target"):
        for split in ("train", "test"):
            x = images(COUNT, (4, 4))
            x[:, 0, 0] = np.arange(COUNT)
            save(tmp_path / name / f"{split}.npz", x=x, y=labels(COUNT, 5))
    return tmp_path


def loaded(folder: Path, **settings: Any) -> TaskData:
    return load(folder / "source", folder / "target", folder, **settings)


def rows(images: ImageSet | None) -> list[int]:
    """Return the numbers of the images, which are in their first pixels."""
    assert images is not None
    return [int(row) for row in images.x[:, 0, 0, 0]]


def masks(images: ImageSet | None) -> NDArray[np.bool_]:
    assert images is not None
    assert images.ybar is not None
    return images.ybar


def test_default_is_all_images_in_order(folder: Path) -> None:
    data = loaded(folder)
    for part in (data.source_train, data.source_test, data.target_train, data.target_test):
        assert rows(part) == list(range(COUNT))


def test_smaller_budget_is_a_subset_with_the_same_labels(folder: Path) -> None:
    seen: dict[int, list[bool]] = {}
    smaller: set[int] = set()
    for fraction in (0.05, 0.2, 0.5, 1.0):
        train = loaded(folder, source_fraction=fraction).source_train
        assert len(train) == round(COUNT * fraction)
        assert smaller <= set(rows(train))
        smaller = set(rows(train))
        for row, mask, label in zip(rows(train), masks(train).tolist(), train.y, strict=True):
            assert seen.setdefault(row, mask) == mask
            assert label == row % 5
            assert not mask[label]


def test_true_labels_rule_out_all_other_classes_for_a_growing_share_of_images(folder: Path) -> None:
    drawn = masks(loaded(folder).source_train)
    smaller: set[int] = set()
    for fraction in (0.1, 0.4, 1.0):
        train = loaded(folder, true_fraction=fraction).source_train
        has_true_label = masks(train).sum(axis=1) == 4
        chosen = set(np.flatnonzero(has_true_label).tolist())
        assert abs(len(chosen) - fraction * COUNT) <= 3 * (COUNT * fraction * (1 - fraction)) ** 0.5
        assert smaller <= chosen
        assert not masks(train)[np.arange(COUNT), train.y].any()
        np.testing.assert_array_equal(masks(train)[~has_true_label], drawn[~has_true_label])
        smaller = chosen
    test = masks(loaded(folder, true_fraction=1.0).source_test)
    assert set(test.sum(axis=1)) == {1}, "evaluation keeps its complementary labels"


def test_size_applies_before_the_fraction_and_leaves_one_image_or_more(folder: Path) -> None:
    capped = loaded(folder, source_size=100).source_train
    thinned = loaded(folder, source_size=100, source_fraction=0.1).source_train
    assert (len(capped), len(thinned)) == (100, 10)
    assert set(rows(thinned)) <= set(rows(capped))
    assert len(loaded(folder, source_size=3, source_fraction=0.01).source_train) == 1
    assert len(loaded(folder, source_size=10_000, target_size=10_000).source_train) == COUNT


def test_more_labels_an_image_extend_fewer(folder: Path) -> None:
    one, two = (masks(loaded(folder, ybars_per_sample=count).source_train) for count in (1, 2))
    assert two[one].all()
    assert (two.sum(axis=1) == 2).all()


def test_target_and_test_images_do_not_depend_on_the_budget_or_the_method(folder: Path) -> None:
    settings = {"target_size": 50, "test_size": 20, "source_size": 100}
    plain = loaded(folder, **settings)
    budget = loaded(folder, **settings, source_fraction=0.1, ybars_per_sample=3, method="gac+cdan-e")
    assert rows(plain.target_train) == rows(budget.target_train)
    assert rows(plain.target_test) == rows(budget.target_test)
    assert rows(plain.source_test) == rows(budget.source_test)
    assert [len(rows(part)) for part in (plain.target_train, plain.target_test, plain.source_test)] == [50, 20, 20]


def test_methods_have_the_same_subset_and_labels_and_seeds_have_others(folder: Path) -> None:
    one = loaded(folder, source_size=60, method="clarinet").source_train
    other = loaded(folder, source_size=60, method="gac").source_train
    assert rows(one) == rows(other)
    assert (masks(one) == masks(other)).all()
    assert rows(one) != rows(loaded(folder, source_size=60, seed=2).source_train)


def test_usps_is_split_as_published_or_shuffled(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    for split, count in (("train", 70), ("test", 30)):
        save(tmp_path / "usps" / f"{split}.npz", x=images(count, (16, 16), seed=count), y=labels(count, 10))
    official = load("U", "M", tmp_path)
    shuffled, again = (load("U", "M", tmp_path, usps_split="80/20", seed=seed) for seed in (1, 2))
    parts = [[data.source_train.x, data.source_test.x] for data in (official, shuffled) if data.source_test]
    assert [[len(x) for x in part] for part in parts] == [[70, 30], [80, 20]]
    assert (shuffled.source_train.x == again.source_train.x).all(), "the split is the same for every seed"
    assert np.concatenate(parts[0]).sum() == np.concatenate(parts[1]).sum()
    assert any("shuffled 80/20" in note for note in shuffled.notes)
