"""What is wrong with a launch form, field by field, and what it comes to. It reads files: not for the UI thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from clarinet_tui.queue.sweep import MOST, Grid, expand, nested, parse_seeds, sweep_command
from clarinet_tui.ui.launch_form import Form, settings_offered, typed, values_of
from core.config import Field, RunConfig, merge
from core.errors import InputError
from core.methods import methods
from core.methods.registry import MethodSpec
from core.resolve import resolve
from core.tasks import OFFLINE_TASK, Task, parse_task

PLACE = "form"
SHOWN = 3
"""Different usual values of one setting that are shown."""


@dataclass(frozen=True)
class Checked:
    """A form and what came of it. `grid` is None while something is wrong."""

    form: Form
    grid: Grid | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    """A sentence by field: methods, tasks, seeds, runs, or a setting's name."""
    tasks: tuple[Task, ...] = ()
    usual: Mapping[str, str] = field(default_factory=dict)
    """What each setting is where nothing else is said."""
    methods: tuple[MethodSpec, ...] = ()
    """All that can be picked."""

    @property
    def command(self) -> str:
        return sweep_command(self.grid) if self.grid else ""


def check(form: Form) -> Checked:
    """Everything that can be known without starting anything."""
    try:
        known = tuple(methods().values())
    except InputError as error:  # a plug-in that cannot be used
        return Checked(form, problems={"methods": str(error)})
    problems: dict[str, str] = {}
    tasks = _tasks(form, problems)
    seeds = _seeds(form, problems)
    if not form.methods:
        problems["methods"] = "methods: pick at least one"
    bases = list(_bases(form, tasks))
    settings, axes = _settings(form, bases, problems)
    checked = Checked(form, problems=problems, tasks=tuple(tasks), usual=_usual(bases), methods=known)
    if problems:
        return checked
    common = {"preset": form.preset} | ({"device": form.device} if form.device != "auto" else {})
    names = list(dict.fromkeys(task.name for task in tasks))
    grid = Grid(form.methods, names, seeds, merge(common, settings), axes, PLACE)
    try:
        if len(grid) > MOST:
            raise InputError(f"{len(grid)} runs are more than {MOST}: start fewer at once")
        expand(replace(grid, seeds=seeds[:1]))
    except InputError as error:
        return replace(checked, problems={"runs": _sentence(error)})
    return replace(checked, grid=grid)


def _sentence(error: InputError) -> str:
    return str(error).removeprefix(f"{PLACE}: ")


def _tasks(form: Form, problems: dict[str, str]) -> list[Task]:
    found = []
    typed_tasks = [text.strip() for text in form.other_tasks.split(",") if text.strip()]
    for text in (*form.tasks, *typed_tasks):
        try:
            found.append(parse_task(text))
        except InputError as error:
            problems["tasks"] = str(error)
    if not found and "tasks" not in problems:
        problems["tasks"] = "tasks: pick at least one, or type one"
    return found


def _seeds(form: Form, problems: dict[str, str]) -> list[int]:
    try:
        seeds = parse_seeds(form.seeds, "seeds")
        resolve({"seed": max(seeds)}, place=PLACE)
        if len(set(seeds)) < len(seeds):
            raise InputError("seeds: a seed is there twice")
    except InputError as error:
        problems["seeds"] = _sentence(error)
        return []
    return seeds


def _bases(form: Form, tasks: Iterable[Task]) -> Iterator[dict[str, Any]]:
    """What is asked for without the settings, once for each method and task."""
    for method in form.methods or ("clarinet",):
        for task in [task.name for task in tasks] or [OFFLINE_TASK]:
            yield {"preset": form.preset, "method": method, "task": task}


def _settings(
    form: Form, bases: list[dict[str, Any]], problems: dict[str, str]
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Settings with one value and those with several; each is tried alone, so that its problem is told beside it."""
    settings: dict[str, Any] = {}
    axes: dict[str, list[Any]] = {}
    known = {one.name: one for one in settings_offered()}
    for name, text in form.settings.items():
        values = values_of(known[name], text)
        try:
            for value in values:
                _try(bases, name, value)
        except InputError as error:
            problems[name] = _sentence(error)
        if len(values) > 1:
            axes[name] = values
        else:
            settings = merge(settings, nested(name, values[0]))
    return settings, axes


def _try(bases: list[dict[str, Any]], name: str, value: Any) -> None:
    for base in bases:
        resolve(merge(base, nested(name, value)), place=PLACE)


def _usual(bases: list[dict[str, Any]]) -> dict[str, str]:
    """What the preset, the methods and the tasks make of each setting; several values where they differ."""
    try:
        configs = [resolve(base, place=PLACE) for base in bases]
    except InputError:  # a method that is gone: it is told elsewhere
        return {}
    return {one.name: _values(one, configs) for one in settings_offered()}


def _values(setting: Field, configs: Iterable[RunConfig]) -> str:
    found = list(dict.fromkeys(typed(attrgetter(setting.name)(config)) for config in configs))
    return " or ".join(found[:SHOWN]) + (" …" if len(found) > SHOWN else "")
