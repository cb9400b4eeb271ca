"""Checks a launch form field by field, and expands it to runs. Reads files: do not call it in the UI thread."""

import itertools
import shlex
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clarinet_tui.analysis.run_estimate import Estimator, RunEstimate
from clarinet_tui.history.database import Database
from clarinet_tui.place import PlaceName, SlurmOptions
from clarinet_tui.queue.sweep import MAX_RUNS, Grid, expand_grid, nest, parse_seeds, sweep_command, validate_name
from clarinet_tui.runs.annotations import validate_tag
from clarinet_tui.slurm.options import parse_pairs
from clarinet_tui.ui.launch_form import FORM_FIELDS, LaunchForm, format_value, list_settings, parse_values
from core.config import RunConfig, SettingSpec, merge_settings, setting_values
from core.errors import InputError
from core.methods import MethodSpec, methods, plugin_problems
from core.resolve import resolve
from core.tasks import OFFLINE_TASK, Task, parse_task

SOURCE = "form"
MAX_DEFAULTS = 3
"""Maximum number of different default values shown for one setting."""


@dataclass(frozen=True)
class CheckedForm:
    """A form with its problems, or with the grid of its runs."""

    form: LaunchForm
    grid: Grid | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    """Error message by field: methods, tasks, seeds, sweep, tags, slurm, runs, or the name of a setting."""
    notices: Mapping[str, str] = field(default_factory=dict)
    """Message by field that does not keep the runs from starting: plug-ins that cannot be used."""
    tasks: tuple[Task, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Default value of each setting, as text."""
    settings: tuple[SettingSpec, ...] = ()
    """The settings that the form lists."""
    methods: tuple[MethodSpec, ...] = ()
    """All available methods."""
    slurm: SlurmOptions | None = None
    """The options of Slurm jobs; None for this machine."""
    tags: tuple[str, ...] = ()
    first_runs: tuple[RunConfig, ...] = ()
    """The configurations of the first seed's runs."""
    estimates: Mapping[bool, tuple[RunEstimate | None, ...]] = field(default_factory=dict)
    """How long each of them takes, on a GPU and not on one."""

    @property
    def command(self) -> str:
        return sweep_command(self.grid, self.slurm, self.tags) if self.grid else ""


def check_form(form: LaunchForm) -> CheckedForm:
    """Check everything that can be checked without starting a run."""
    problems: dict[str, str] = {}
    tasks: list[Task] = []
    typed_tasks = [text.strip() for text in form.other_tasks.split(",") if text.strip()]
    for text in (*form.tasks, *typed_tasks):
        try:
            tasks.append(parse_task(text))
        except InputError as error:
            problems["tasks"] = str(error)
    if not tasks and "tasks" not in problems:
        problems["tasks"] = "tasks: select at least one, or type one"
    seeds: list[int] = []
    try:
        seeds = parse_seeds(form.seeds, "seeds")
        resolve({"seed": max(seeds)}, source=SOURCE)
        if len(set(seeds)) < len(seeds):
            raise InputError("seeds: a seed occurs twice")
    except InputError as error:
        problems["seeds"] = _without_source(error)
    if not form.methods:
        problems["methods"] = "methods: select at least one"
    names = list(dict.fromkeys(task.name for task in tasks))
    bases: list[dict[str, Any]] = [
        {"preset": form.preset, "method": method, "task": task}
        for method in form.methods or ("clarinet",)
        for task in names or [OFFLINE_TASK]
    ]
    settings, axes = _parse_settings(form, bases, problems)
    tags, sweep = tuple(dict.fromkeys(form.tags.split())), form.sweep.strip()
    try:
        for tag in tags:
            validate_tag(tag)
    except InputError as error:
        problems["tags"] = str(error)
    try:
        sweep = validate_name(sweep, "sweep") if sweep else ""
    except InputError as error:
        problems["sweep"] = str(error)
    slurm = None
    if form.place is not PlaceName.LOCAL:
        try:
            slurm = parse_pairs(shlex.split(form.slurm), "slurm")
        except (InputError, ValueError) as error:  # ValueError: a quotation mark without its counterpart
            problems["slurm"] = str(error)
    checked = CheckedForm(
        form,
        problems=problems,
        notices={"methods": "; ".join(plugin_problems())} if plugin_problems() else {},
        tasks=tuple(tasks),
        defaults=_default_values(bases),
        settings=list_settings(form),
        methods=tuple(methods().values()),
        slurm=slurm,
        tags=tags,
    )
    if problems:
        return checked
    common = {"preset": form.preset} | (
        {"device": form.device} if form.place is PlaceName.LOCAL and form.device != "auto" else {}
    )
    grid = Grid(form.methods, names, seeds, merge_settings(common, settings), axes, SOURCE, sweep)
    try:
        if len(grid) > MAX_RUNS:
            raise InputError(f"{len(grid)} runs are more than {MAX_RUNS}: start fewer at once")
        configs = expand_grid(replace(grid, seeds=seeds[:1]))
    except InputError as error:
        return replace(checked, problems={"runs": _without_source(error)})
    return replace(checked, grid=grid, first_runs=tuple(configs))


def estimate_times(checked: CheckedForm, runs_dir: Path, data_dir: Path, database: Path | None) -> CheckedForm:
    """Add how long the runs take, at the speed of finished runs."""
    try:
        history = Database.open_read_only(runs_dir, database)
    except InputError:  # there are no runs yet
        history = None
    with history or nullcontext():
        estimators = {on_gpu: Estimator(history, data_dir, on_gpu=on_gpu) for on_gpu in (False, True)}
        estimates = {key: tuple(estimator.estimate_all(checked.first_runs)) for key, estimator in estimators.items()}
    return replace(checked, estimates=estimates)


def _without_source(error: InputError) -> str:
    return str(error).removeprefix(f"{SOURCE}: ")


def _parse_settings(
    form: LaunchForm, bases: list[dict[str, Any]], problems: dict[str, str]
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return settings with one value and those with several; each is checked alone, to show its error beside it."""
    settings: dict[str, Any] = {}
    axes: dict[str, list[Any]] = {}
    specs = {spec.name: spec for spec in list_settings(form)}
    for name, text in form.settings.items():
        values = parse_values(specs[name], text)
        try:
            for base, value in itertools.product(bases, values):
                resolve(merge_settings(base, nest(name, value)), source=SOURCE)
        except InputError as error:
            problems[name] = _without_source(error)
        if len(values) > 1:
            axes[name] = values
        else:
            settings = merge_settings(settings, nest(name, values[0]))
    return settings, axes


def _default_values(bases: list[dict[str, Any]]) -> dict[str, str]:
    """Return the default of each setting for these methods and tasks; several values where they differ."""
    try:
        configs = [resolve(base, source=SOURCE) for base in bases]
    except InputError:  # an unknown method, which is reported elsewhere
        return {}
    defaults = {}
    every = [setting_values(config) for config in configs]
    for name in dict.fromkeys(name for values in every for name in values if name not in FORM_FIELDS):
        values = list(dict.fromkeys(format_value(settings[name]) for settings in every if name in settings))
        defaults[name] = " or ".join(values[:MAX_DEFAULTS]) + (" …" if len(values) > MAX_DEFAULTS else "")
    return defaults
