"""Seeds that cells of the board are missing: which runs would fill them, and what to ask before they are queued."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clarinet_tui.devices.local import candidates
from clarinet_tui.evidence.published import title
from clarinet_tui.text import duration
from clarinet_tui.ui.text.board_detail import listed
from clarinet_tui.ui.text.launch import missing
from clarinet_tui.ui.text.task_name import task_name

if TYPE_CHECKING:
    from clarinet_tui.evidence.board_cells import Cell
    from clarinet_tui.ui.snapshot.machine import Machine

MOST_NAMED = 4
"""Cells that a question names."""
RESUMABLE = ("failed", "stopped", "lost")


@dataclass(frozen=True)
class Gap:
    """Seeds of a cell that have no run; new ones are made as `model` was, or as the preset says."""

    method: str
    task: str
    preset: str
    seeds: tuple[int, ...]
    model: str | None = None
    changes: tuple[str, ...] = ()


def gaps(cells: Iterable[Cell], preset: str, queued: Mapping[tuple[str, str, str], Collection[int]]) -> list[Gap]:
    """Without seeds that were queued just now, and are not in the history yet."""
    found = []
    for cell in cells:
        coming = queued.get((cell.method, cell.task, preset), ())
        seeds = tuple(seed for seed in cell.missing if seed not in coming)
        if seeds:
            found.append(Gap(cell.method, cell.task, preset, seeds, cell.model, cell.changes))
    return found


def nothing(cells: Collection[Cell]) -> str:
    """Why there is nothing to queue."""
    if len(cells) != 1:
        return "No seed is missing in this table."
    (cell,) = cells
    broken = sum(cell.states.get(state, 0) for state in RESUMABLE)
    advice = f"; {broken} did not end well: enter shows them, r in History goes on with them" if broken else ""
    return f"No seed of {title(cell.method)} on {task_name(cell.task)} is missing{advice}."


def question(found: list[Gap]) -> str:
    runs = sum(len(gap.seeds) for gap in found)
    return f"Queue {runs} {'run' if runs == 1 else 'runs'}?"


def explanation(found: list[Gap], machine: Machine | None) -> str:
    """What, how, how long, where; and which data such runs would not find."""
    said = [f"{_what(gap)}." for gap in found[:MOST_NAMED]]
    if len(found) > MOST_NAMED:
        said.append(f"And {len(found) - MOST_NAMED} cells more.")
    changes = next((gap.changes for gap in found if gap.changes), ())
    with_changes = f" with {', '.join(changes)}, as the runs that are there" if changes and len(found) == 1 else ""
    said.append(f"Preset {found[0].preset}{with_changes}. {_time(found, machine)}")
    if machine and machine.devices:
        said.append(f"On what is free first: {', '.join(one.label for one in candidates('auto', machine.devices))}.")
        letters = [letter for gap in found for letter in gap.task.split("->")]
        gone = [f"{one.title} is missing: {one.advice}." for one in missing(letters, machine)]
        said += [*gone, "Runs without their data fail."] if gone else []
    return " ".join(said)


def _what(gap: Gap) -> str:
    seeds = "seed" if len(gap.seeds) == 1 else "seeds"
    return f"{title(gap.method)} on {task_name(gap.task)}, {seeds} {listed(gap.seeds)}"


def _time(found: list[Gap], machine: Machine | None) -> str:
    """Of device time, if runs take as long as finished ones of their kind did."""
    known = machine.durations if machine else {}
    kinds = [(gap.method, gap.task, gap.preset) for gap in found]
    if not all(kind in known for kind in kinds):
        return "Time unknown: none like them has finished yet."
    total = sum(known[kind].seconds * len(gap.seeds) for kind, gap in zip(kinds, found, strict=True))
    return f"About {duration(total)} of computing."
