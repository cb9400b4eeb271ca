"""Complementary labels are never the true one, uniform, and nested."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from core.data.labels import (
    class_priors,
    complementary_mask,
    draw_complementary,
    label_hash,
    label_weights,
)
from core.errors import InputError


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


def test_more_labels_extend_fewer() -> None:
    y = np.random.default_rng(1).integers(0, 6, 9000)
    masks = [draw_complementary(y, 6, count, seed=3) for count in range(1, 6)]

    for fewer, more in pairwise(masks):
        assert (more[fewer]).all()


def test_draw_depends_on_the_seed() -> None:
    y = np.zeros(500, dtype=np.int64)

    assert (draw_complementary(y, 10, 1, 5) == draw_complementary(y, 10, 1, 5)).all()
    assert (draw_complementary(y, 10, 1, 5) != draw_complementary(y, 10, 1, 6)).any()


def test_more_labels_than_wrong_classes_is_an_error() -> None:
    with pytest.raises(InputError, match=r"ybars_per_sample: 3 classes have 2 wrong labels an image, got 3"):
        draw_complementary(np.zeros(4, dtype=np.int64), 3, 3, 1)


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
