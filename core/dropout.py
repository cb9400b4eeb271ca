"""Dropout with a random stream of its own, and one draw an iteration for all dropouts of a run."""

from typing import Any

import torch
from torch import Generator, Tensor, nn

Share = tuple[float, int]
"""The p of a dropout and the number of its decisions in one call."""


class Dropout(nn.Module):
    """nn.Dropout that draws from the generator of `set_dropout_generator`, or takes what `DropoutFactors` drew."""

    drops_channels = False

    def __init__(self, p: float, width: int | None = None) -> None:
        """`width` is the number of decisions for one row; None is found in the first call."""
        super().__init__()
        self.p = p
        self.width = width
        self.generator: Generator | None = None
        self.factors: Tensor | None = None
        """0 or 1/(1-p) for each decision of the next call."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        factors, self.factors = self.factors, None
        # One element for each decision to keep or drop, which broadcasts to x.
        shape = torch.Size((*x.shape[:2], 1, 1)) if self.drops_channels else x.shape
        if factors is None:
            self.width = shape[1:].numel()
            factors = _draw_factors((self.p, shape.numel()), x.device, self.generator)
        return x * factors.view(shape).to(x.dtype)


class ChannelDropout(Dropout):
    """nn.Dropout2d likewise, which keeps or drops whole channels."""

    drops_channels = True


class DropoutFactors:
    """The factors of every dropout in an iteration, computed from one draw of random numbers.

    The first iteration of a phase draws for each call alone and notes how much was used; later ones draw that at once.
    On the CPU both give the same numbers.
    """

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self.layouts: dict[str, list[Share]] = {}
        """What one iteration of each phase uses, in order; checkpoints store it."""
        self._constants: dict[str, tuple[list[Share], Tensor, Tensor]] = {}
        """The layout of each phase as thresholds and factors."""
        self._used: list[Share] = []
        self._drawn: list[tuple[Share, Tensor]] = []
        """The next share is the last."""
        self._dropouts: dict[nn.Module, list[Dropout]] = {}

    def start(self, phase: str) -> None:
        """Draw what the last iteration of the phase used."""
        layout = self.layouts.get(phase, [])
        self.layouts[phase] = self._used = []
        self._drawn = []
        if layout:
            if phase not in self._constants or self._constants[phase][0] != layout:
                device = self.generator.device
                limits = [torch.full((size,), _threshold(p), dtype=torch.int32, device=device) for p, size in layout]
                factors = [torch.ones(size, device=device).div_(1 - p) for p, size in layout]
                self._constants[phase] = (layout, torch.cat(limits), torch.cat(factors))
            _, thresholds, scales = self._constants[phase]
            drawn = torch.empty_like(thresholds).random_(generator=self.generator)
            parts = torch.split(scales * (drawn < thresholds), [size for _, size in layout])
            self._drawn = list(zip(layout, parts, strict=True))[::-1]

    def assign(self, network: nn.Module, rows: int) -> None:
        """Give each dropout of `network` the factors of its next call, which has `rows` rows."""
        if network not in self._dropouts:
            self._dropouts[network] = [part for part in network.modules() if isinstance(part, Dropout)]
        dropouts = [part for part in self._dropouts[network] if part.training and part.p]
        if any(dropout.width is None for dropout in dropouts):
            return  # they draw themselves and learn their widths
        for dropout in dropouts:
            share = (dropout.p, (dropout.width or 0) * rows)
            self._used.append(share)
            dropout.factors = self._take(share)

    def _take(self, share: Share) -> Tensor:
        if self._drawn and self._drawn[-1][0] == share:
            return self._drawn.pop()[1]
        self._drawn.clear()  # this iteration is the first, or differs from the last one
        return _draw_factors(share, self.generator.device, self.generator)

    def state(self) -> dict[str, Any]:
        return {phase: [list(share) for share in layout] for phase, layout in self.layouts.items()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.layouts = {phase: [(p, size) for p, size in layout] for phase, layout in state.items()}


def _threshold(p: float) -> int:
    """Numbers below this, of 0 to 2^31 - 1, are kept: on the CPU three times as fast as bernoulli_."""
    return round((1 - p) * 2**31)


def _draw_factors(share: Share, device: torch.device, generator: Generator | None) -> Tensor:
    p, size = share
    drawn = torch.empty(size, dtype=torch.int32, device=device).random_(generator=generator)
    return (drawn < _threshold(p)).float().div_(1 - p)


def set_dropout_generator(module: nn.Module, generator: Generator | None) -> None:
    """Make every dropout of `module` draw from `generator`, which is on the module's device."""
    for submodule in module.modules():
        if isinstance(submodule, Dropout):
            submodule.generator = generator


def disable_dropout(module: nn.Module) -> None:
    for submodule in module.modules():
        if isinstance(submodule, Dropout):
            submodule.p = 0.0
