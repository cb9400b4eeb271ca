"""The values of options of tables and figures; without imports, so that `clarinet --help` stays fast."""

from typing import Literal, get_args

Rule = Literal["last", "best", "risk", "information"]
"""How the epoch whose accuracy counts is selected."""
RULES: tuple[Rule, ...] = get_args(Rule)
BandKind = Literal["std", "interval", "range"]
"""What the band around a mean curve shows."""
BAND_KINDS: tuple[BandKind, ...] = get_args(BandKind)
Budget = Literal["source_fraction", "ybars_per_sample"]
"""Settings that limit the labels of a run."""
BUDGETS: tuple[Budget, ...] = get_args(Budget)
COMPARED_FAMILIES = ("one-step", "two-step")
Format = Literal["png", "svg", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
