"""The paper's board from history: tasks × methods, each cell with its runs, its mean and the published one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from clarinet_tui.evidence.board_cells import Cell, make_cell
from clarinet_tui.evidence.groups import LeftOut
from clarinet_tui.evidence.published import ABLATION_METHODS, ABLATIONS, CAUTION, METHODS, SEEDS, published
from clarinet_tui.evidence.run_records import Archive, Record
from clarinet_tui.evidence.selection import ORACLE, SENTENCES, Rule
from core.errors import InputError
from core.presets import PRESETS
from core.tasks import PAPER_TASKS

PAPER_PRESETS = frozenset({"paper", "literal"})


@dataclass(frozen=True)
class Average:
    """A method's mean over the paper's tasks that are complete."""

    mean: float
    tasks: tuple[str, ...]
    published: float | None
    """Over the same tasks."""


@dataclass(frozen=True)
class Part:
    """One table of the board; the best of a row is the best among its methods."""

    title: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Board:
    tasks: tuple[str, ...]
    parts: tuple[Part, ...]
    cells: Mapping[tuple[str, str], Cell]
    """By method and task."""
    averages: Mapping[str, Average]
    rule: Rule
    seeds: int
    preset: str | None
    """None where all presets were taken."""
    mix: bool
    query: str
    left_out: tuple[LeftOut, ...]
    """Whole runs that are in no cell."""

    @property
    def oracle(self) -> bool:
        """Whether target labels have chosen the numbers."""
        return self.rule == ORACLE

    def best(self, task: str, methods: Sequence[str]) -> frozenset[str]:
        """The methods with the greatest mean of a row; none where there is nothing to compare with."""
        means = {method: mean for method in methods if (mean := self.cells[method, task].summary.mean) is not None}
        return _greatest(means)

    def best_average(self, methods: Sequence[str]) -> frozenset[str]:
        """None where the averages are over different tasks."""
        found = {method: self.averages[method] for method in methods if method in self.averages}
        alike = len({average.tasks for average in found.values()}) == 1
        return _greatest({method: average.mean for method, average in found.items()}) if alike else frozenset()

    @property
    def conditions(self) -> tuple[str, ...]:
        """Under which all numbers stand: how they were selected, and by which protocol they were made."""
        selected = f"Accuracies are of the {SENTENCES['last']}."
        if self.rule != "last":
            selected = f"Selected by {SENTENCES[self.rule]}; the published numbers are of the last epoch."
        if self.preset in PAPER_PRESETS:
            return (selected, f"Preset {self.preset}.")
        return (selected, f"Preset {self.preset or 'mixed'}: not the protocol of the published numbers.")

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said with the numbers."""
        return (*self.conditions, *self.remarks([method for method, _ in self.cells]))

    def remarks(self, methods: Sequence[str]) -> tuple[str, ...]:
        """What must be said with the numbers of some methods: of the paper's, the data, settings and what was mixed."""
        cells = [cell for cell in self.cells.values() if cell.figures and cell.method in methods]
        caution = (CAUTION,) if any(cell.published for cell in cells) else ()
        return (*caution, *_together(cells))

    @property
    def not_counted(self) -> list[tuple[str, LeftOut]]:
        """Everything that is left out, each after its place: of whole runs an empty one."""
        cells = self.cells.items()
        of_cells = [(f"{task} {method}: ", left) for (method, task), cell in cells for left in cell.left_out]
        return [("", left) for left in self.left_out] + of_cells


def make_board(
    archive: Archive,
    query: str = "",
    *,
    rule: Rule = "last",
    preset: str | None = None,
    seeds: int = SEEDS,
    mix: bool = False,
    by_commit: bool = False,
) -> Board:
    """Of the runs that match. Without a preset, the one with most finished runs is taken, unless they may mix."""
    if preset is not None and preset not in PRESETS:
        raise InputError(f"preset: expected one of {', '.join(PRESETS)}, got {preset!a}")
    return board_of(archive.search(query), query, rule=rule, preset=preset, seeds=seeds, mix=mix, by_commit=by_commit)


def board_of(
    records: Sequence[Record],
    query: str = "",
    *,
    rule: Rule = "last",
    preset: str | None = None,
    seeds: int = SEEDS,
    mix: bool = False,
    by_commit: bool = False,
) -> Board:
    """Of these runs, newest first."""
    chosen = preset or (None if mix else usual_preset(records))
    taken = [record for record in records if chosen is None or record.row.preset == chosen]
    found: dict[tuple[str, str], list[Record]] = {}
    for record in taken:
        if record.row.method and record.row.task:
            found.setdefault((record.row.method, record.row.task), []).append(record)
    tasks = (*PAPER_TASKS, *sorted({task for _, task in found} - set(PAPER_TASKS)))
    parts = _parts({method for method, _ in found})
    cells = {
        (method, task): make_cell(
            task, method, found.get((method, task), []), rule=rule, seeds=seeds, mix=mix, by_commit=by_commit
        )
        for method in dict.fromkeys(method for part in parts for method in part.methods)
        for task in tasks
    }
    return Board(
        tasks=tasks,
        parts=parts,
        cells=cells,
        averages=_averages(cells),
        rule=rule,
        seeds=seeds,
        preset=chosen,
        mix=mix,
        query=query,
        left_out=_left_out(records, taken),
    )


def usual_preset(records: Sequence[Record]) -> str | None:
    """The newest of those that are equally frequent."""
    frequent = Counter(record.row.preset for record in records if record.finished) or Counter(
        record.row.preset for record in records
    )
    return frequent.most_common(1)[0][0] if frequent else None


def _parts(methods: set[str]) -> tuple[Part, ...]:
    others = tuple(sorted(methods - {*METHODS, *ABLATIONS}))
    parts = (Part("One step against two", METHODS), Part("Ablations", ABLATION_METHODS))
    return (*parts, Part("Other methods", others)) if others else parts


def _averages(cells: Mapping[tuple[str, str], Cell]) -> dict[str, Average]:
    found = {}
    for method in dict.fromkeys(method for method, _ in cells):
        complete = [cells[method, task] for task in PAPER_TASKS if cells[method, task].complete]
        means = [cell.summary.mean for cell in complete if cell.summary.mean is not None]
        known = [cell.published.mean for cell in complete if cell.published]
        if means:
            tasks = tuple(cell.task for cell in complete)
            found[method] = Average(fmean(means), tasks, fmean(known) if len(known) == len(means) else None)
    return found


def published_average(method: str) -> float | None:
    """Over all tasks, as printed but for rounding."""
    known = [cell.mean for task in PAPER_TASKS if (cell := published(method, task))]
    return fmean(known) if known else None


def _left_out(records: Sequence[Record], taken: Sequence[Record]) -> tuple[LeftOut, ...]:
    ids = {record.row.id for record in taken}
    others: dict[str, list[str]] = {}
    for record in records:
        if record.row.id not in ids:
            others.setdefault(f"preset {record.row.preset or 'unknown'}", []).append(record.row.id)
    nameless = [record.row.id for record in taken if not (record.row.method and record.row.task)]
    found = {**others, **({"settings that cannot be read": nameless} if nameless else {})}
    return tuple(LeftOut(reason, tuple(runs)) for reason, runs in found.items())


def _greatest(means: Mapping[str, float]) -> frozenset[str]:
    if len(means) < 2:
        return frozenset()
    greatest = max(means.values())
    return frozenset(method for method, mean in means.items() if mean == greatest)


def _together(cells: Sequence[Cell]) -> list[str]:
    """Notes on the data and changed settings, each once with the cells that it is about."""
    found: dict[str, list[str]] = {}
    for cell in cells:
        for note in cell.notes:
            found.setdefault(f"data: {note}", []).append(cell.task)
        if cell.changes:
            found.setdefault(f"settings: {', '.join(cell.changes)}", []).append(f"{cell.task} {cell.method}")
        for what in cell.mixed:
            found.setdefault(f"mixed: {what}", []).append(f"{cell.task} {cell.method}")
    return [f"{', '.join(dict.fromkeys(places))}: {note}" for note, places in found.items()]
