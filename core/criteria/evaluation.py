"""Criteria of one model, from its outputs for unlabelled target images or held-out source images.

`p` (N, K) are softmax probabilities, a row for each image, and `z` (N, d) features. Sums are taken in float64. Each
criterion is a 0-dimensional tensor on the device of its input, so that nothing waits until it is read, with two
exceptions: torch's singular values wait for CUDA, and clusters are found on the host. A criterion of outputs that are
not finite is NaN.
"""

import warnings

import torch
from torch import Tensor

TEMPERATURE = 0.05
"""Of the similarities in SND, as its authors have it."""
MIXED_SHARE = 0.55
"""The share of the first image in a mixed one, as MixVal's authors have it."""
CLUSTER_SEED, CLUSTER_STARTS = 0, 3
"""Of k-means. The agreement of equal features varies with the seed, less with the best of several starts."""
BLOCK = 500
"""Rows of the similarities that are in memory at once."""


def information(p: Tensor) -> Tensor:
    """IM, higher is better: H(mean_i p_i) - mean_i H(p_i), from 0 to log K.

    Bridle, Heading and MacKay 1991, Unsupervised Classifiers, Mutual Information and 'Phantom Targets'; a validator in
    Musgrave, Belongie and Lim 2022, Three New Validators and a Large-Scale Benchmark Ranking for Unsupervised Domain
    Adaptation. It assumes balanced classes.
    """
    p = _in_float64(p)
    mean_entropy = torch.special.entr(p).sum(dim=1).mean()
    criterion: Tensor = torch.special.entr(p.mean(dim=0)).sum() - mean_entropy
    return criterion


def nuclear_norm(p: Tensor) -> Tensor:
    """BNM, higher is better: the sum of the singular values of p, divided by N; √(K/N) where classes are balanced.

    Cui, Wang, Zhuo, Li, Huang and Tian 2020, Towards Discriminability and Diversity: Batch Nuclear-norm Maximization
    under Label Insufficient Situations; a validator in Musgrave, Belongie and Lim 2022. It assumes balanced classes.
    Its size depends on N: compare models on equally many images.
    """
    p = _in_float64(p)
    norm = torch.linalg.svdvals(p.nan_to_num()).sum() / p.shape[0]  # values that are not finite would raise
    return _nan_unless_finite(norm, p)


def complementary_estimation_loss(p: Tensor, labels: Tensor, transition: Tensor | None = None) -> Tensor:
    """SCEL, lower is better: the mean of -log((p Q)_ȳ); at least log(K-1) if Q is uniform, and log K for a guess.

    Lin and Lin 2023, Reduction from Complementary-Label Learning to Probability Estimates; what libcll (Ye, Mai, Wang,
    Lin and Lin 2024) validates with, which adds 1e-6 to each probability. Here one that is 0 counts as the smallest
    number. On held-out images of the source: it sees nothing of the target.

    Args:
        p: (N, K), of the images with these labels.
        labels: Complementary labels, (N,) with -1 where there is none, or (N, K) the weight of each in its image.
        transition: Q (K, K), the distribution of ȳ in the row of each true class; by default uniform over the others.
    """
    p = _in_float64(p)
    classes = torch.arange(p.shape[1], device=p.device)
    labels = labels.to(p.device)
    weights = (labels.unsqueeze(1) == classes if labels.dim() == 1 else labels).to(p.dtype)
    if transition is None:
        transition = (classes.unsqueeze(1) != classes) / p.new_tensor(p.shape[1] - 1)
    estimates = (p @ transition.to(p)).clamp(min=torch.finfo(p.dtype).tiny)  # never 1 - p_ȳ, which cancels
    return -(weights * estimates.log()).sum() / weights.sum()


def neighbourhood_density(z: Tensor) -> Tensor:
    """SND, higher is better: the mean entropy of the rows of softmax(cos(z_i, z_j) / 0.05), j ≠ i; at most log(N-1).

    Saito, Kim, Teterwak, Sclaroff, Darrell and Saenko 2021, Tune it the Right Way: Unsupervised Validation of Domain
    Adaptation via Soft Neighborhood Density. z may be features, logits or probabilities: published programs differ. A
    collapse, where all of them are equal, maximises it: it counts only behind `core.criteria.pool.behind_gate`.
    """
    z = torch.nn.functional.normalize(_in_float64(z), dim=1)
    totals, means = z.new_zeros(len(z)), z.new_zeros(len(z))
    for first in range(0, len(z), BLOCK):
        for second in range(first, len(z), BLOCK):  # the similarities are symmetric: half of them are computed
            rows, columns = slice(first, first + BLOCK), slice(second, second + BLOCK)
            exponents = (z[rows] @ z[columns].T - 1) / TEMPERATURE  # at most 0, and at least -40
            terms = exponents.exp()
            if first == second:
                terms.fill_diagonal_(0)
            products = exponents.mul_(terms)
            totals[rows] += terms.sum(dim=1)
            means[rows] += products.sum(dim=1)
            if first != second:
                totals[columns] += terms.sum(dim=0)
                means[columns] += products.sum(dim=0)
    return (totals.log() - means / totals).mean()


def draw_partners(p: Tensor, generator: torch.Generator) -> Tensor:
    """Return the image that each image is mixed with in MixVal, never itself if there are two or more.

    For one half it is a random one of the same predicted class if that has several, for the other half a random one of
    any class. `generator` is one of the host. The pairs do not depend on the order of the classes.
    """
    order = torch.randperm(len(p), generator=generator).to(p.device)
    classes, positions = p.argmax(dim=1)[order].sort(stable=True)
    grouped = order[positions]
    first_of_class = grouped[torch.searchsorted(classes, classes)]
    next_of_class = torch.where(classes == classes.roll(-1), grouped.roll(-1), first_of_class)
    alike = torch.empty_like(order).scatter_(0, grouped, next_of_class)
    partners = torch.empty_like(order).scatter_(0, order, order.roll(-1))
    half = order[: len(p) // 2]
    return partners.scatter(0, half, torch.where(alike[half] == half, partners[half], alike[half]))


def mix(images: Tensor, partners: Tensor) -> Tensor:
    """Return 0.55·x_i + 0.45·x_j for normalised images x_i and their partners x_j."""
    return MIXED_SHARE * images + (1 - MIXED_SHARE) * partners


def mixed_consistency(p: Tensor, mixed: Tensor, partners: Tensor) -> Tensor:
    """MixVal, higher is better: the share of mixed images that are predicted as the larger part of them is.

    The mean of two shares: over the pairs of equal and over those of different predicted classes. One without pairs
    counts as 0: a model that predicts a single class has at most 1/2.

    Hu, Liang, Liew, Xue, Bai and Wang 2023, Mixed Samples as Probes for Unsupervised Model Selection in Domain
    Adaptation.

    Args:
        p: (N, K), of the images.
        mixed: (N, K), of each image mixed with its partner.
        partners: (N,), the index of each image's partner.
    """
    p, mixed = _in_float64(p), _in_float64(mixed)
    predicted = p.argmax(dim=1)
    is_kept = mixed.argmax(dim=1) == predicted
    is_alike = predicted == predicted[partners.to(p.device)]
    kinds = torch.stack((is_alike, ~is_alike)).to(p.dtype)
    shares = kinds @ is_kept.to(p.dtype) / kinds.sum(dim=1).clamp(min=1)
    return _nan_unless_finite(shares.mean(), p, mixed)


def cluster_agreement(z: Tensor, p: Tensor) -> float:
    """ClassAMI, higher is better: adjusted mutual information of K clusters of z and the predicted classes, at most 1.

    The clusters are those of k-means from a fixed seed. Where all images are predicted as one class, which says nothing
    of them, it is 0.

    Musgrave, Belongie and Lim 2022, Three New Validators and a Large-Scale Benchmark Ranking for Unsupervised Domain
    Adaptation; adjusted for chance as by Vinh, Epps and Bailey 2010, Information Theoretic Measures for Clusterings
    Comparison.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import adjusted_mutual_info_score
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    if not bool(z.isfinite().all() & p.isfinite().all()):
        return float("nan")
    predicted = p.argmax(dim=1).cpu().numpy()
    if (predicted == predicted[0]).all():
        return 0.0
    kmeans = KMeans(n_clusters=min(p.shape[1], len(z)), n_init=CLUSTER_STARTS, random_state=CLUSTER_SEED)
    # One thread: the sums of several are added in the order in which they end, and most of their time is waiting.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct images than clusters
        clusters = kmeans.fit_predict(z.detach().float().cpu().numpy())
    return float(adjusted_mutual_info_score(predicted, clusters))


def _in_float64(values: Tensor) -> Tensor:
    """Return the values in float64: on their device, or on the host for MPS, which has no float64."""
    return (values.cpu() if values.device.type == "mps" else values).to(torch.float64)


def _nan_unless_finite(criterion: Tensor, *outputs: Tensor) -> Tensor:
    for values in outputs:
        criterion = criterion.where(values.isfinite().all(), torch.nan)
    return criterion
