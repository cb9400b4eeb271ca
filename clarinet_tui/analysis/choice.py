"""Choose the best variant of each method and task: without target labels, or by the oracle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import RunRow
from clarinet_tui.history.variants import Variant, group_all, name_variants
from clarinet_tui.runs.state import RunState

RULE = "mean rank of information on the target and held-out complementary risk"
ORACLE_RULE = "target accuracy: chosen with target labels"
LAST_EVALUATION = """SELECT target_information, complementary_risk FROM evaluations
    WHERE run = ? ORDER BY iteration DESC LIMIT 1"""


@dataclass(frozen=True)
class Choice:
    """The best of several variants of a method, task and preset."""

    variant: Variant
    name: str
    candidates: int
    """Variants with a finished run; the others cannot be chosen."""


def choose_variants(db: Database, rows: Sequence[RunRow], *, oracle: bool = False) -> list[Choice]:
    """Return the best variant of each method, task and preset; without target labels unless `oracle`."""
    variants = group_all(rows)
    named = zip(variants, name_variants(variants), strict=True)
    choices = []
    for _, group in groupby(named, key=lambda one: (one[0].method, one[0].task, one[0].preset)):
        candidates = [(variant, name, score) for variant, name in group if (score := _score(db, variant, oracle))]
        if candidates:
            ranks = [_ranks([score[at] for *_, score in candidates]) for at in range(len(candidates[0][2]))]
            best = min(range(len(candidates)), key=lambda index: fmean(rank[index] for rank in ranks))
            choices.append(Choice(candidates[best][0], candidates[best][1], len(candidates)))
    return choices


def _score(db: Database, variant: Variant, oracle: bool) -> tuple[float, ...]:
    """Return what is maximised, as means over the seeds with a finished run; empty without one."""
    newest: Mapping[int | None, RunRow] = {
        row.seed: row for row in reversed(variant.rows) if row.state is RunState.FINISHED
    }
    if oracle:
        return (fmean(variant.accuracies),) if variant.accuracies else ()
    read = [db.row(LAST_EVALUATION, (row.id,)) for row in newest.values()]
    known = [(row[0], -row[1]) for row in read if row and row[0] is not None and row[1] is not None]
    return tuple(map(fmean, zip(*known, strict=True)))


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1 for the highest; equal values share the mean of their ranks."""
    return [
        sum(other > value for other in values) + (1 + sum(other == value for other in values)) / 2 for value in values
    ]
