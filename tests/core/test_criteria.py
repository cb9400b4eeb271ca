"""The criteria for choosing without target labels: literal formulations, identities, and hand-made models."""

import math
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import entropy
from sklearn.cluster import KMeans
from sklearn.metrics import accuracy_score, adjusted_mutual_info_score
from torch import Tensor

from core.criteria.evaluation import (
    BLOCK,
    CLUSTER_SEED,
    CLUSTER_STARTS,
    cluster_agreement,
    complementary_estimation_loss,
    draw_partners,
    information,
    mix,
    mixed_consistency,
    neighbourhood_density,
    nuclear_norm,
)
from core.criteria.pool import behind_gate, ensemble_agreement, is_informative

CLASSES = 4


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def shuffled(count: int, seed: int = 5) -> Tensor:
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def one_hot(labels: Tensor, classes: int = CLASSES) -> Tensor:
    return torch.nn.functional.one_hot(labels, classes).double()


def softmax(rows: int, classes: int = CLASSES, seed: int = 1) -> Tensor:
    return (2 * drawn(rows, classes, seed=seed)).softmax(dim=1)


Y = torch.arange(40) % CLASSES
PERFECT = one_hot(Y)
COLLAPSED = one_hot(torch.zeros(40, dtype=torch.int64))
UNIFORM = torch.full((40, CLASSES), 1 / CLASSES, dtype=torch.float64)


def blobs(count: int = 40, spread: float = 0.05) -> Tensor:
    """Return features of separate classes, whose labels repeat as those of Y do."""
    return 5 * one_hot(torch.arange(count) % CLASSES) + spread * drawn(count, CLASSES, seed=9)


# -- IM and BNM ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_information_against_scipy(seed: int) -> None:
    p = softmax(30, seed=seed).numpy()
    expected = entropy(p.mean(axis=0)) - np.mean([entropy(row) for row in p])
    assert information(torch.from_numpy(p)).item() == pytest.approx(expected, rel=1e-12)


def test_information_of_hand_made_predictions() -> None:
    assert information(PERFECT).item() == pytest.approx(math.log(CLASSES), rel=1e-14)
    assert information(COLLAPSED).item() == 0
    assert information(UNIFORM).item() == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_nuclear_norm_against_the_eigenvalues_of_the_gram_matrix(seed: int) -> None:
    p = softmax(30, seed=seed).numpy()
    expected = np.sqrt(np.linalg.eigvalsh(p.T @ p)).sum() / 30
    assert nuclear_norm(torch.from_numpy(p)).item() == pytest.approx(expected, rel=1e-12)


def test_nuclear_norm_of_hand_made_predictions() -> None:
    assert nuclear_norm(PERFECT).item() == pytest.approx(math.sqrt(CLASSES / 40), rel=1e-14)
    assert nuclear_norm(COLLAPSED).item() == pytest.approx(math.sqrt(1 / 40), rel=1e-12)
    assert nuclear_norm(UNIFORM).item() == pytest.approx(math.sqrt(1 / CLASSES / 40), rel=1e-12)


PROBABILITIES = st.integers(2, 6).flatmap(
    lambda classes: st.lists(
        st.lists(st.floats(-30, 30), min_size=classes, max_size=classes), min_size=1, max_size=20
    ).map(lambda rows: torch.tensor(rows, dtype=torch.float64).softmax(dim=1))
)


@settings(deadline=None)
@given(PROBABILITIES)
def test_bounds_of_information_and_of_the_nuclear_norm(p: Tensor) -> None:
    count, classes = p.shape
    assert -1e-12 <= information(p).item() <= math.log(classes) + 1e-12
    assert nuclear_norm(p).item() <= math.sqrt(min(count, classes) * count) / count + 1e-12


# -- SCEL ------------------------------------------------------------------------------------------------------------


def literal_scel(p: Tensor, weights: Tensor, transition: Tensor) -> float:
    total = 0.0
    for row, weight in zip(p.tolist(), weights.tolist(), strict=True):
        for label, share in enumerate(weight):
            likelihood = sum(row[true] * transition[true, label].item() for true in range(len(row)))
            total -= share * math.log(likelihood) / len(p)
    return total


UNIFORM_TRANSITION = (1 - torch.eye(CLASSES, dtype=torch.float64)) / (CLASSES - 1)
WRONG = (Y + 1 + torch.arange(40) // CLASSES % (CLASSES - 1)) % CLASSES
"""A complementary label of each image whose class is Y, each wrong class equally often."""


def test_scel_against_loops() -> None:
    p = softmax(40)
    expected = literal_scel(p, one_hot(WRONG), UNIFORM_TRANSITION)
    assert complementary_estimation_loss(p, WRONG).item() == pytest.approx(expected, rel=1e-12)
    assert complementary_estimation_loss(p, one_hot(WRONG)).item() == pytest.approx(expected, rel=1e-12)


def test_scel_of_several_labels_is_weighted() -> None:
    p, weights = softmax(12), softmax(12, seed=3)
    weights[::3] = one_hot(torch.arange(4))
    expected = literal_scel(p, weights, UNIFORM_TRANSITION)
    assert complementary_estimation_loss(p, weights).item() == pytest.approx(expected, rel=1e-12)


def test_scel_with_a_transition_that_is_not_uniform() -> None:
    p, transition = softmax(12), softmax(CLASSES, seed=4).fill_diagonal_(0)
    transition /= transition.sum(dim=1, keepdim=True)
    expected = literal_scel(p, one_hot(WRONG[:12]), transition)
    assert complementary_estimation_loss(p, WRONG[:12], transition).item() == pytest.approx(expected, rel=1e-12)


def test_scel_of_hand_made_predictions() -> None:
    assert complementary_estimation_loss(PERFECT, WRONG).item() == pytest.approx(math.log(CLASSES - 1), rel=1e-14)
    assert complementary_estimation_loss(UNIFORM, WRONG).item() == pytest.approx(math.log(CLASSES), rel=1e-14)
    assert complementary_estimation_loss(COLLAPSED, WRONG).item() > 100, "certain of classes that are ruled out"


def test_images_without_a_complementary_label_do_not_count_in_scel() -> None:
    p, labels = softmax(40), WRONG.clone()
    labels[10:] = -1
    expected = complementary_estimation_loss(p[:10], WRONG[:10]).item()
    assert complementary_estimation_loss(p, labels).item() == pytest.approx(expected, rel=1e-12)
    assert math.isnan(complementary_estimation_loss(p, torch.full((40,), -1)).item())


def test_scel_is_exact_where_one_minus_p_would_round_to_0() -> None:
    logits = torch.zeros(1, CLASSES)
    logits[0, 2] = 50
    loss = complementary_estimation_loss(logits.softmax(dim=1), torch.tensor([2])).item()
    assert loss == pytest.approx(50, rel=1e-6), "3·exp(-50) is shared by three classes"


def test_scel_is_finite_where_a_label_is_impossible() -> None:
    loss = complementary_estimation_loss(one_hot(WRONG), WRONG).item()
    assert math.isfinite(loss)
    assert loss > 700


# -- SND and its gate ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 40, BLOCK, BLOCK + 1, 2 * BLOCK + 7])
def test_neighbourhood_density_against_scipy(count: int) -> None:
    z = drawn(count, 6).numpy()
    similarities = 1 - cdist(z, z, "cosine")
    rows = [np.delete(row, index) for index, row in enumerate(similarities)]
    expected = np.mean([entropy(np.exp(row / 0.05 - np.max(row / 0.05))) for row in rows])
    assert neighbourhood_density(torch.from_numpy(z)).item() == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_neighbourhood_density_of_separate_classes_counts_their_images() -> None:
    z = 5 * one_hot(Y)
    far = 30 * math.exp(-20)  # the other classes, at right angles
    assert neighbourhood_density(z).item() == pytest.approx(math.log(9), abs=10 * far)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_collapsed_features_have_the_highest_density_and_do_not_pass_the_gate(value: float) -> None:
    density = neighbourhood_density(torch.full((40, 6), value)).item()
    assert density == pytest.approx(math.log(39), rel=1e-12)
    assert density > neighbourhood_density(blobs()).item()
    assert behind_gate(density, information(COLLAPSED).item(), CLASSES) == -math.inf
    assert behind_gate(density, information(UNIFORM).item(), CLASSES) == -math.inf
    assert behind_gate(1.5, information(PERFECT).item(), CLASSES) == 1.5


def test_gate_is_half_of_the_greatest_information() -> None:
    half = 0.5 * math.log(CLASSES)
    assert is_informative(half, CLASSES)
    assert not is_informative(math.nextafter(half, 0), CLASSES)
    assert is_informative(0.2, CLASSES, least_share=0.1)
    assert not is_informative(math.nan, CLASSES)
    assert math.isnan(behind_gate(math.nan, half, CLASSES))


# -- MixVal ----------------------------------------------------------------------------------------------------------


def literal_mixval(p: Tensor, mixed: Tensor, partners: Tensor) -> float:
    kept: dict[bool, list[bool]] = {True: [], False: []}
    for row, mixed_row, partner in zip(p.tolist(), mixed.tolist(), partners.tolist(), strict=True):
        predicted = row.index(max(row))
        other = p[partner].tolist()
        kept[predicted == other.index(max(other))].append(mixed_row.index(max(mixed_row)) == predicted)
    return sum(sum(kind) / len(kind) if kind else 0.0 for kind in kept.values()) / 2


@pytest.mark.parametrize("seed", range(5))
def test_mixed_consistency_against_loops(seed: int) -> None:
    p, mixed, partners = softmax(41, seed=seed), softmax(41, seed=seed + 50), shuffled(41, seed)
    expected = literal_mixval(p, mixed, partners)
    assert mixed_consistency(p, mixed, partners).item() == pytest.approx(expected, rel=1e-14)


def test_mixed_consistency_of_hand_made_predictions() -> None:
    partners = draw_partners(PERFECT, generator())
    assert mixed_consistency(PERFECT, PERFECT, partners).item() == 1
    assert mixed_consistency(PERFECT, PERFECT[partners], partners).item() == 0.5, "only pairs of equal classes"
    assert mixed_consistency(COLLAPSED, COLLAPSED, draw_partners(COLLAPSED, generator())).item() == 0.5
    assert mixed_consistency(PERFECT, one_hot((Y + 1) % CLASSES), partners).item() < 0.5


def test_a_linear_model_of_separate_classes_has_full_mixed_consistency() -> None:
    x = blobs()
    partners = draw_partners(x.softmax(dim=1), generator())
    mixed = mix(x, x[partners])
    torch.testing.assert_close(mixed, torch.lerp(x[partners], x, 0.55))
    assert mixed_consistency(x.softmax(dim=1), mixed.softmax(dim=1), partners).item() == 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=30), st.integers(0, 2**32))
def test_no_image_is_its_own_partner(labels: list[int], seed: int) -> None:
    partners = draw_partners(one_hot(torch.tensor(labels)), generator(seed))
    assert all(partner != index for index, partner in enumerate(partners.tolist()))


@settings(deadline=None)
@given(st.permutations(range(CLASSES)), st.integers(0, 2**32))
def test_partners_do_not_depend_on_the_order_of_the_classes(order: list[int], seed: int) -> None:
    p = softmax(40)
    torch.testing.assert_close(draw_partners(p[:, order], generator(seed)), draw_partners(p, generator(seed)))


def test_half_of_the_partners_are_of_the_same_class_and_half_of_any() -> None:
    y = torch.arange(4000) % CLASSES
    partners = draw_partners(one_hot(y), generator(3))
    assert int((y == y[partners]).sum()) == pytest.approx(2000 + 2000 / CLASSES, abs=150)
    pairs = torch.bincount(y * CLASSES + y[partners], minlength=CLASSES**2).reshape(CLASSES, CLASSES)
    assert pairs.fill_diagonal_(125).tolist() == pytest.approx(np.full((4, 4), 125), abs=60), "every two classes meet"
    assert len({tuple(draw_partners(PERFECT, generator(seed)).tolist()) for seed in range(5)}) == 5


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=30), st.integers(0, 2**32))
def test_the_first_half_of_the_images_has_partners_of_its_classes(labels: list[int], seed: int) -> None:
    y = torch.tensor(labels)
    partners = draw_partners(one_hot(y), generator(seed))
    half = torch.randperm(len(y), generator=generator(seed))[: len(y) // 2]
    for image in half.tolist():
        assert labels.count(labels[image]) == 1 or y[partners[image]] == y[image]


def test_partners_depend_on_their_own_generator_alone() -> None:
    before = torch.random.get_rng_state()
    first = draw_partners(PERFECT, generator(7))
    torch.rand(3)
    second = draw_partners(PERFECT, generator(7))
    torch.testing.assert_close(first, second)
    torch.random.set_rng_state(before)
    draw_partners(PERFECT, generator(7))
    torch.testing.assert_close(torch.random.get_rng_state(), before)


# -- ClassAMI --------------------------------------------------------------------------------------------------------


def literal_ami(first: list[int], second: list[int]) -> float:
    """Return AMI with the expectation over all arrangements of tables with these margins (Vinh et al. 2010)."""
    count = len(first)
    a = [first.count(label) for label in sorted(set(first))]
    b = [second.count(label) for label in sorted(set(second))]

    def term(both: int, left: int, right: int) -> float:
        return both / count * math.log(count * both / (left * right)) if both else 0.0

    mutual = sum(
        term(sum((x, y) == (i, j) for x, y in zip(first, second, strict=True)), first.count(i), second.count(j))
        for i in set(first)
        for j in set(second)
    )
    expected = 0.0
    for left in a:
        for right in b:
            for both in range(max(0, left + right - count), min(left, right) + 1):
                ways = math.comb(left, both) * math.comb(count - left, right - both) / math.comb(count, right)
                expected += ways * term(both, left, right)
    return (mutual - expected) / (float(entropy(a) + entropy(b)) / 2 - expected)


@pytest.mark.parametrize("seed", range(3))
def test_cluster_agreement_against_the_formula(seed: int) -> None:
    z, p = blobs(spread=2.0) + drawn(40, CLASSES, seed=seed), softmax(40, seed=seed)
    kmeans = KMeans(CLASSES, n_init=CLUSTER_STARTS, random_state=CLUSTER_SEED)
    clusters = kmeans.fit_predict(z.float().numpy()).tolist()
    expected = literal_ami(p.argmax(dim=1).tolist(), clusters)
    assert cluster_agreement(z, p) == pytest.approx(expected, rel=1e-9)


def test_cluster_agreement_of_hand_made_predictions() -> None:
    assert cluster_agreement(blobs(), PERFECT) == pytest.approx(1)
    assert cluster_agreement(blobs(), one_hot((Y + 1) % CLASSES)) == pytest.approx(1), "a permutation is seen as right"
    assert abs(cluster_agreement(blobs(), one_hot(shuffled(40) % CLASSES))) < 0.2, "by chance"
    assert cluster_agreement(blobs(), COLLAPSED) == 0
    assert cluster_agreement(blobs(), UNIFORM) == 0


@pytest.mark.filterwarnings("error")
def test_a_total_collapse_has_no_cluster_agreement() -> None:
    assert adjusted_mutual_info_score([0, 0], [0, 0]) == 1
    assert cluster_agreement(torch.ones(40, 6), COLLAPSED) == 0
    assert cluster_agreement(torch.ones(40, 6), PERFECT) == 0
    assert cluster_agreement(blobs(3), PERFECT[:3]) == pytest.approx(1), "fewer images than classes"


def test_cluster_agreement_is_the_same_each_time_whatever_the_global_streams() -> None:
    z, p, threads = drawn(600, 8), softmax(600), torch.get_num_threads()
    values = []
    for seed in range(3):
        np.random.seed(seed)
        torch.manual_seed(seed)
        values.append(cluster_agreement(z, p))
    assert values[0] == values[1] == values[2]
    assert torch.get_num_threads() == threads


# -- EnsV ------------------------------------------------------------------------------------------------------------


def literal_ensv(predictions: list[list[list[float]]]) -> list[float]:
    count = len(predictions[0])
    elected = []
    for image in range(count):
        mean = [sum(values) / len(predictions) for values in zip(*(p[image] for p in predictions), strict=True)]
        elected.append(mean.index(max(mean)))
    return [accuracy_score(elected, [row.index(max(row)) for row in p]) for p in predictions]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ensemble_agreement_against_loops(dtype: torch.dtype) -> None:
    stack = [softmax(30, seed=seed).to(dtype).numpy() for seed in range(5)]
    expected = literal_ensv([p.tolist() for p in stack])
    assert ensemble_agreement(stack).tolist() == pytest.approx(expected, rel=1e-14)


def test_ensemble_agreement_of_hand_made_pools() -> None:
    perfect, collapsed = PERFECT.numpy(), COLLAPSED.numpy()
    assert ensemble_agreement([perfect, perfect, collapsed]).tolist() == [1, 1, 0.25]
    assert ensemble_agreement([perfect, collapsed, collapsed]).tolist() == [0.25, 1, 1], "a pool elects its own failure"
    gate = [is_informative(information(torch.from_numpy(p)).item(), CLASSES) for p in (perfect, collapsed, collapsed)]
    assert ensemble_agreement([perfect, collapsed, collapsed], gate).tolist() == [1, -math.inf, -math.inf]
    assert ensemble_agreement([collapsed, collapsed], [False, False]).tolist() == [-math.inf, -math.inf]
    assert ensemble_agreement([UNIFORM.numpy()]).tolist() == [1], "one candidate agrees with itself"


def test_a_diverged_candidate_counts_only_if_it_is_eligible() -> None:
    good, bad = softmax(30).numpy(), softmax(30, seed=2).numpy()
    bad[3, 1] = math.nan
    assert np.isnan(ensemble_agreement([good, bad])).all()
    assert ensemble_agreement([good, bad], [True, False]).tolist() == [1, -math.inf]
    assert not is_informative(information(torch.from_numpy(bad)).item(), CLASSES)


def test_pools_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="candidate 1"):
        ensemble_agreement([softmax(30).numpy(), softmax(29).numpy()])
    with pytest.raises(ValueError, match="eligible"):
        ensemble_agreement([softmax(30).numpy()], [True, True])


def test_pool_needs_no_torch() -> None:
    program = "import sys; import core.criteria.pool; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


def test_evaluation_loads_scikit_learn_only_for_clusters() -> None:
    program = "import sys; import core.criteria.evaluation; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


# -- all -------------------------------------------------------------------------------------------------------------

Criterion = Callable[[Tensor, Tensor], float]
"""Of probabilities and features of the same images; p and z come from one model."""


def mixval(p: Tensor, z: Tensor) -> float:
    """Return MixVal with pairs of the images that follow in the order of their features."""
    order = z[:, 0].argsort()
    partners = torch.empty_like(order).scatter_(0, order, order.roll(1))
    return mixed_consistency(p, mix(p, p[partners]), partners).item()


def scel(p: Tensor, z: Tensor) -> float:
    return complementary_estimation_loss(p, p.argsort(dim=1)[:, 1]).item()


def ensv(p: Tensor, z: Tensor) -> float:
    other = (p * p).softmax(dim=1)
    return float(ensemble_agreement([p.numpy(), other.numpy(), (1 - p).softmax(dim=1).numpy()])[2])


CRITERIA: dict[str, Criterion] = {
    "IM": lambda p, z: information(p).item(),
    "BNM": lambda p, z: nuclear_norm(p).item(),
    "SCEL": scel,
    "SND": lambda p, z: neighbourhood_density(z).item(),
    "MixVal": mixval,
    "ClassAMI": lambda p, z: cluster_agreement(z, p),
    "EnsV": ensv,
}


@pytest.mark.parametrize("name", CRITERIA)
def test_criterion_does_not_depend_on_the_order_of_images(name: str) -> None:
    p, z, order = softmax(40), blobs(), shuffled(40)
    assert CRITERIA[name](p[order], z[order]) == pytest.approx(CRITERIA[name](p, z), rel=1e-12)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("order", [[3, 2, 1, 0], [1, 2, 3, 0]])
def test_criterion_does_not_depend_on_the_names_of_classes(name: str, order: list[int]) -> None:
    p, z = softmax(40), drawn(40, 6)
    assert CRITERIA[name](p[:, order], z) == pytest.approx(CRITERIA[name](p, z), rel=1e-12)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("everywhere", [False, True])
def test_criterion_of_logits_that_are_not_finite_is_nan(name: str, value: float, everywhere: bool) -> None:
    logits, z = drawn(40, CLASSES), drawn(40, 6)
    logits[slice(None) if everywhere else 7, 2] = value  # the softmax of infinity is NaN
    z[slice(None) if everywhere else 7, 2] = value
    assert math.isnan(CRITERIA[name](logits.softmax(dim=1), z))


def test_mixed_consistency_of_mixed_images_that_are_not_finite_is_nan() -> None:
    mixed = softmax(40)
    mixed[5] = math.nan
    assert math.isnan(mixed_consistency(softmax(40), mixed, shuffled(40)).item())


@pytest.mark.parametrize("name", CRITERIA)
def test_criterion_is_summed_in_float64(name: str) -> None:
    p, z = softmax(2000).float(), drawn(2000, 16).float()
    assert CRITERIA[name](p, z) == pytest.approx(CRITERIA[name](p.double(), z.double()), rel=1e-7)


@pytest.mark.parametrize("name", CRITERIA)
def test_criterion_is_the_same_each_time(name: str) -> None:
    p, z = softmax(1200).float(), drawn(1200, 16).float()
    assert CRITERIA[name](p, z) == CRITERIA[name](p.clone(), z.clone())


def test_criteria_rank_models_from_perfect_to_confused() -> None:
    """The logits of a linear model with ever more noise."""
    y = torch.arange(400) % CLASSES
    models = [6 * one_hot(y) + noise * drawn(400, CLASSES, seed=3) for noise in (0.5, 3.0, 8.0)]
    wrong = (y + 1 + torch.arange(400) // CLASSES % (CLASSES - 1)) % CLASSES
    scores = {
        "SCEL": [-complementary_estimation_loss(z.softmax(dim=1), wrong).item() for z in models],
        "ClassAMI": [cluster_agreement(one_hot(y), z.softmax(dim=1)) for z in models],
        "EnsV": ensemble_agreement([z.softmax(dim=1).numpy() for z in models]).tolist()[1:],
    }
    for name, values in scores.items():
        assert all(better > worse for better, worse in pairwise(values)), (name, values)


ON_DEVICE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "IM": lambda p, z: information(p),
    "BNM": lambda p, z: nuclear_norm(p),
    "SCEL": lambda p, z: complementary_estimation_loss(p, p),
    "SCEL of single labels": lambda p, z: complementary_estimation_loss(p, p.argmax(dim=1), z[:5, :5]),
    "SND": lambda p, z: neighbourhood_density(z),
    "MixVal": lambda p, z: mixed_consistency(p, mix(p, p), draw_partners(p, generator())),
}


@pytest.mark.parametrize("name", ON_DEVICE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_criterion_needs_no_values_until_it_is_read(name: str, dtype: torch.dtype) -> None:
    p, z = (torch.empty(8, width, device="meta", dtype=dtype) for width in (5, 6))
    criterion = ON_DEVICE[name](p, z)
    assert criterion.shape == ()
    assert (criterion.device.type, criterion.dtype) == ("meta", torch.float64)
