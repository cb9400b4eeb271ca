"""Reads a sweep: a line for each variant, a run for each seed, and the accuracy against a setting."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from clarinet_tui.analysis.figures.figure import Figure
from clarinet_tui.analysis.figures.kinds import setting_figure
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import RunRow, list_runs
from clarinet_tui.history.sweeps import sweep_query
from clarinet_tui.history.variants import Variant, differing_settings, group_all, name_variants
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_setting, format_task
from clarinet_tui.ui.snapshot.sweep import SweepLine, SweepSnapshot
from core.config import in_order
from core.errors import InputError

COMMON = ("method", "task", "preset")
"""Fields of a run that all runs have in common, or that label the lines."""


class SweepReader:
    """Used by one thread; makes the figure again only after other runs have finished."""

    def __init__(self, db: Database, runs_dir: Path) -> None:
        self._db, self._records = db, RunRecords(db, runs_dir)
        self._figure: tuple[Hashable, Figure | None] = None, None

    def read(self, name: str) -> SweepSnapshot:
        rows = list_runs(self._db, sweep_query(name), limit=-1)
        values = {field: list(dict.fromkeys(getattr(row, field) for row in reversed(rows))) for field in COMMON}
        variants = group_all(rows)
        settings = in_order({name for names in differing_settings(variants).values() for name in names})

        def order(variant: Variant) -> tuple[Any, ...]:
            """Tasks and methods as they were queued, then the settings: numbers before texts."""
            places = [values[field].index(getattr(variant.rows[0], field)) for field in ("task", "method", "preset")]
            known = [(variant.settings or {}).get(name) for name in settings]
            return (*places, [(value is None, isinstance(value, str), value or 0) for value in known])

        variants.sort(key=order)
        varied = [field for field in COMMON if len(values[field]) > 1]
        labels = [
            (
                *(_label(field, getattr(variant.rows[0], field)) for field in varied),
                *(_label(name, (variant.settings or {}).get(name)) for name in settings),
            )
            for variant in variants
        ]
        titles = [*varied, *settings]
        if len(set(labels)) < len(labels):  # variants of other data, or of another version of the program
            titles.append("")
            names = (name.rpartition(" (")[2].rstrip(")") for name in name_variants(variants))
            labels = [
                (*label, name if labels.count(label) > 1 else "") for label, name in zip(labels, names, strict=True)
            ]
        return SweepSnapshot(
            name=name,
            runs=tuple(rows),
            common=tuple(_label(field, values[field][0]) for field in COMMON if len(values[field]) == 1),
            titles=tuple(titles),
            seeds=tuple(sorted({row.seed for row in rows}, key=lambda seed: (seed is None, seed or 0))),
            lines=tuple(_make_line(variant, label) for variant, label in zip(variants, labels, strict=True)),
            figure=self._read_figure(name, rows, settings),
        )

    def _read_figure(self, name: str, rows: Sequence[RunRow], settings: Sequence[str]) -> Figure | None:
        key = name, tuple(row.id for row in rows if row.state is RunState.FINISHED)
        if self._figure[0] != key:
            try:
                figure = setting_figure(self._records, sweep_query(name), candidates=settings) if settings else None
            except InputError:  # the finished runs do not differ in a setting yet
                figure = None
            self._figure = key, figure
        return self._figure[1]


def _label(name: str, value: Any) -> str:
    if value is None:
        return "–"
    return format_task(value) if name == "task" else format_setting(value)


def _make_line(variant: Variant, labels: tuple[str, ...]) -> SweepLine:
    accuracies = variant.accuracies
    return SweepLine(
        labels=labels,
        runs={row.seed: row for row in reversed(variant.rows)},
        mean=fmean(accuracies) if accuracies else None,
        std=stdev(accuracies) if len(accuracies) > 1 else None,
        measured=len(accuracies),
    )
