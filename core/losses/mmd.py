"""Multi-kernel maximum mean discrepancy between two batches of features (DAN, Long et al. 2015).

The kernel is Σ_u exp(-‖x - y‖² / b_u) with b_u = b·factor^(u - kernels // 2) and b the mean squared distance over
all pairs of the two batches together, detached: five kernels of factor 2 start at b / 4, as in DAN's program.
"""

import torch
from torch import Tensor


def mmd_linear(source: Tensor, target: Tensor, kernels: int = 5, factor: float = 2.0) -> Tensor:
    """The linear-time estimate over neighbouring pairs (i, i+1), the last row's neighbour being the first.

    mean_i k(s_i, s_i+1) + k(t_i, t_i+1) - k(s_i, t_i+1) - k(s_i+1, t_i); both batches have the same size. May be < 0.
    """
    next_source, next_target = source.roll(-1, 0), target.roll(-1, 0)
    left = torch.stack((source, target, source, next_source))
    right = torch.stack((next_source, next_target, next_target, target))
    values = _kernel((left - right).square().sum(dim=2), _bandwidth(source, target), kernels, factor).mean(dim=1)
    return values[0] + values[1] - values[2] - values[3]


def mmd_quadratic(source: Tensor, target: Tensor, kernels: int = 5, factor: float = 2.0) -> Tensor:
    """The unbiased U-statistic over all pairs, none with itself. May be < 0."""
    both = torch.cat((source, target))
    square = both.square().sum(dim=1)
    distances = (square.unsqueeze(1) + square - 2 * both @ both.T).clamp(min=0)
    values = _kernel(distances, _bandwidth(source, target), kernels, factor)
    m, n = source.shape[0], target.shape[0]
    itself = values.diagonal()
    within_source = (values[:m, :m].sum() - itself[:m].sum()) / (m * (m - 1))
    within_target = (values[m:, m:].sum() - itself[m:].sum()) / (n * (n - 1))
    return within_source + within_target - 2 * values[:m, m:].mean()


def _bandwidth(source: Tensor, target: Tensor) -> Tensor:
    """The mean of ‖x - y‖² over the pairs of different rows: twice the summed variance, so no pair is visited."""
    both = torch.cat((source, target)).detach()
    mean_distance = 2 * both.var(dim=0, correction=1).sum()
    return mean_distance.clamp(min=torch.finfo(both.dtype).tiny ** 0.5)  # its inverse is finite: equal rows have 0·1/b


def _kernel(distances: Tensor, bandwidth: Tensor, kernels: int, factor: float) -> Tensor:
    values = [torch.exp(-distances / (bandwidth * factor ** (u - kernels // 2))) for u in range(kernels)]
    return torch.stack(values).sum(dim=0)
