"""Missing seeds of the board's cells, and the question before they are queued."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clarinet_tui.analysis.published import method_title
from clarinet_tui.devices.placement import match_devices
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_duration, format_task
from clarinet_tui.ui.text.board import format_seeds
from clarinet_tui.ui.text.launch import missing_domains

if TYPE_CHECKING:
    from clarinet_tui.analysis.board import BoardCell
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot

MAX_NAMED = 4
"""Maximum number of cells named in the question."""


@dataclass(frozen=True)
class MissingSeeds:
    """Seeds of a cell without a run; new runs take the settings of `template_run`, or of the preset."""

    method: str
    task: str
    preset: str
    seeds: tuple[int, ...]
    template_run: str | None = None
    changes: tuple[str, ...] = ()
    seconds: float | None = None
    """The time that a run of the cell took."""


def find_missing_seeds(
    cells: Iterable[BoardCell], preset: str, submitted: Mapping[tuple[str, str, str], Collection[int]]
) -> list[MissingSeeds]:
    """Return the missing seeds of each cell, without those `submitted` that are not in the history yet."""
    missing = []
    for cell in cells:
        queued = submitted.get((cell.method, cell.task, preset), ())
        seeds = tuple(seed for seed in cell.missing if seed not in queued)
        if seeds:
            of_cell = cell.template_run, cell.changes, cell.seconds
            missing.append(MissingSeeds(cell.method, cell.task, preset, seeds, *of_cell))
    return missing


def format_none_missing(cells: Collection[BoardCell]) -> str:
    """Explain why there is nothing to queue."""
    if len(cells) != 1:
        return "No seed is missing in this table."
    (cell,) = cells
    resumable = sum(cell.states.get(state, 0) for state in RunState if state.is_resumable)
    advice = f"; {resumable} failed, stopped or lost: enter shows them, r in History resumes them" if resumable else ""
    return f"No seed of {method_title(cell.method)} on {format_task(cell.task)} is missing{advice}."


def format_explanation(cells: list[MissingSeeds], machine: MachineSnapshot | None) -> str:
    """Name the runs, their settings, duration and devices, and the data that is missing."""
    sentences = [f"{_format_seeds(cell)}." for cell in cells[:MAX_NAMED]]
    if len(cells) > MAX_NAMED:
        sentences.append(f"And {len(cells) - MAX_NAMED} more cells.")
    changes = next((cell.changes for cell in cells if cell.changes), ())
    with_changes = f" with {', '.join(changes)}, as in the existing runs" if changes and len(cells) == 1 else ""
    sentences.append(f"Preset {cells[0].preset}{with_changes}. {_format_time(cells)}")
    if machine and machine.devices:
        devices = ", ".join(device.label for device in match_devices("auto", machine.devices))
        sentences.append(f"On the first free device of {devices}.")
        letters = [letter for cell in cells for letter in cell.task.split("->")]
        missing = [f"{domain.title} is missing: {domain.advice}." for domain in missing_domains(letters, machine)]
        sentences += [*missing, "Runs without their data fail."] if missing else []
    return " ".join(sentences)


def _format_seeds(cell: MissingSeeds) -> str:
    seeds = "seed" if len(cell.seeds) == 1 else "seeds"
    return f"{method_title(cell.method)} on {format_task(cell.task)}, {seeds} {format_seeds(cell.seeds)}"


def _format_time(cells: list[MissingSeeds]) -> str:
    """Estimate the device time from the finished runs of the same cells."""
    if any(cell.seconds is None for cell in cells):
        return "Duration unknown: no such run has finished yet."
    total = sum((cell.seconds or 0.0) * len(cell.seeds) for cell in cells)
    return f"About {format_duration(total)} of device time."
