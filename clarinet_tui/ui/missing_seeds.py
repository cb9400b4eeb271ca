"""The question before the missing seeds of the board's cells are queued."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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


def format_none_missing(cells: Collection[BoardCell]) -> str:
    """Explain why there is nothing to queue."""
    if len(cells) != 1:
        return "No seed is missing in this table."
    (cell,) = cells
    resumable = sum(cell.states.get(state, 0) for state in RunState if state.is_resumable)
    advice = f"; {resumable} failed, stopped or lost: enter shows them, r in History resumes them" if resumable else ""
    return f"No seed of {method_title(cell.method)} on {format_task(cell.task)} is missing{advice}."


def format_explanation(cells: Sequence[BoardCell], preset: str, machine: MachineSnapshot | None) -> str:
    """Name the runs of the missing seeds, their settings, duration and devices, and the data that is missing."""
    sentences = []
    for cell in cells[:MAX_NAMED]:
        seeds = f"{'seed' if len(cell.missing) == 1 else 'seeds'} {format_seeds(cell.missing)}"
        sentences.append(f"{method_title(cell.method)} on {format_task(cell.task)}, {seeds}.")
    if len(cells) > MAX_NAMED:
        sentences.append(f"And {len(cells) - MAX_NAMED} more cells.")
    changes = next((cell.changes for cell in cells if cell.changes), ())
    with_changes = f" with {', '.join(changes)}, as in the existing runs" if changes and len(cells) == 1 else ""
    sentences.append(f"Preset {preset}{with_changes}.")
    seconds = [cell.seconds * len(cell.missing) for cell in cells if cell.seconds is not None]
    if len(seconds) < len(cells):
        sentences.append("Duration unknown: no such run has finished yet.")
    else:
        sentences.append(f"About {format_duration(sum(seconds))} of device time.")
    if machine and machine.devices:
        devices = ", ".join(device.label for device in match_devices("auto", machine.devices))
        sentences.append(f"On the first free device of {devices}.")
        letters = [letter for cell in cells for letter in cell.task.split("->")]
        missing = [f"{domain.title} is missing: {domain.advice}." for domain in missing_domains(letters, machine)]
        sentences += [*missing, "Runs without their data fail."] if missing else []
    return " ".join(sentences)
