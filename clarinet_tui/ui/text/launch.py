"""What the launch view says of a form: choices, how many runs it makes, how long they take, which data is missing."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.devices.placement import match_devices
from clarinet_tui.text import format_duration, format_task
from clarinet_tui.ui.text import devices as device_lines
from clarinet_tui.ui.text.styled import GAP, Span, styled
from core.errors import InputError
from core.tasks import parse_task

if TYPE_CHECKING:
    from clarinet_tui.queue.sweep import Grid
    from clarinet_tui.ui.launch_check import CheckedForm
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot
    from core.data.catalogue import DomainEntry

MADE_WHEN_NEEDED = frozenset({"synth"})
"""Domains that a run makes by itself if they are not here."""
BARS = 6
ROOMY = 120
"""Columns from which on an estimate says where it is from."""


@dataclass(frozen=True)
class Choice:
    """A value and how it looks; `sentence` tells more of it."""

    value: str
    label: str
    description: str = ""
    role: str = ""
    suffix: tuple[Span, ...] = ()
    """What follows the label, where each choice has a line of its own."""


def missing_domains(letters: Iterable[str], machine: MachineSnapshot | None) -> list[DomainEntry]:
    """Domains that a run of these would not find."""
    wanted = set(letters)
    domains = machine.domains if machine else ()
    return [one for one in domains if one.letter in wanted and not one.is_present and one.name not in MADE_WHEN_NEEDED]


def task_choices(tasks: Iterable[str], machine: MachineSnapshot | None) -> Iterator[Choice]:
    """Known tasks; where data is missing, it says how to get it."""
    for name in tasks:
        task = parse_task(name)
        gone = missing_domains((task.source.letter, task.target.letter), machine)
        titles = f"{task.source.title} to {task.target.title}"
        advice = "; ".join(f"{one.title} is missing: {one.advice}" for one in gone)
        label = format_task(name)
        yield Choice(name, label, f"{titles}. {advice}" if gone else titles, "muted" if gone else "")


def format_missing_data(checked: CheckedForm, machine: MachineSnapshot | None) -> Content:
    """Which data of the picked tasks is missing, and how to get it."""
    gone = missing_domains((side.letter for task in checked.tasks for side in (task.source, task.target)), machine)
    return Content("\n").join(styled((f"{one.title} is missing: ", "warn"), (one.advice, "")) for one in gone)


def device_choices(device: str, machine: MachineSnapshot | None, width: int) -> Iterator[Choice]:
    """Where runs may compute, with who does now."""
    yield Choice(
        "auto",
        "auto",
        "A GPU that is free, or the CPU where there is none.",
        suffix=(("whatever is free first", "muted"),),
    )
    devices = machine.devices if machine else ()
    room = max(0, width - 70)
    for one in devices:
        name = f"{device_lines.format_device_name(one)[:room]:<{min(room, device_lines.NAME)}} " if room >= 8 else ""
        parts = [
            (name, "muted"),
            *device_lines.format_load(one, BARS),
            GAP,
            *device_lines.format_occupants(one, machine or _nothing()),
        ]
        yield Choice(one.label, one.label, f"{one.name}. {one.problem or ''}", suffix=tuple(parts))
    if device not in ("auto", *(one.label for one in devices)):
        yield Choice(device, device, "As the cloned run asked for.", "warn", suffix=(("not seen here", "warn"),))


def _nothing() -> MachineSnapshot:
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot

    return MachineSnapshot()


def format_run_count(grid: Grid) -> Content:
    """10 runs: 2 methods × 1 task × 5 seeds."""
    sizes = [(len(grid.methods), "method"), (len(grid.tasks), "task"), (len(grid.seeds), "seed")]
    sizes += [(len(values), name) for name, values in grid.axes.items()]
    product = " × ".join(_plural(size, word) for size, word in sizes)
    return styled((_plural(len(grid), "run"), "strong"), (f"  {product}", "muted"))


def _plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 or '.' in word or '_' in word else 's'}"


def format_time_estimate(checked: CheckedForm, machine: MachineSnapshot | None, width: int) -> Content:
    """How long it takes if runs take as long as finished ones of their kind did."""
    grid = checked.grid
    if grid is None or machine is None:
        return styled()
    kinds = [(method, task, checked.form.preset) for method in grid.methods for task in grid.tasks]
    unknown = [kind for kind in kinds if kind not in machine.durations]
    if unknown:
        method, task, preset = unknown[0]
        why = f": no {preset} run of {method} on {format_task(task)} has finished yet" if width >= ROOMY else ""
        return styled((f"time unknown{why}", "muted"))
    each = [machine.durations[kind].seconds for kind in kinds]
    slots = _slots(checked.form.device, machine)
    total = _together(each * (len(grid) // len(kinds)), slots)
    known = sum(machine.durations[kind].runs for kind in kinds)
    parts: list[Span] = [("about ", "muted"), (format_duration(total), "strong")]
    if len(grid) > 1:
        span = (
            format_duration(min(each))
            if min(each) == max(each)
            else f"{format_duration(min(each))} to {format_duration(max(each))}"
        )
        parts.append((f", each {span}", "muted"))
    more = f", on {_plural(slots, 'slot')}, as {_plural(known, 'finished run')} took" if width >= ROOMY else ""
    return styled(*parts, (more, "muted"))


def _together(seconds: list[float], slots: int) -> float:
    """Until the last one ends, if each starts where a slot is free first."""
    busy = [0.0] * max(1, slots)
    for one in seconds:
        heapq.heapreplace(busy, busy[0] + one)
    return max(busy)


def _slots(device: str, machine: MachineSnapshot) -> int:
    try:
        possible = match_devices(device, machine.devices)
    except InputError:
        return 1
    return sum(machine.queue.slots_for(one.key) for one in possible)


def format_problem(checked: CheckedForm) -> Content:
    """The first thing that is wrong, and how many others are."""
    first, *others = checked.problems.values()
    more = f"  and {len(others)} more" if others else ""
    return styled(("✗ ", "bad"), (first, "bad"), (more, "muted"))
