"""What the app does to runs. Every action reads or writes files and may block: do not call it in the UI thread."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from clarinet_tui.place import LaunchOptions, StopResult
from clarinet_tui.queue import requests
from clarinet_tui.queue.local import LocalPlace
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.annotations import add_tag, remove_tag, set_note, validate_tag
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import as_input_error
from clarinet_tui.runs.ownership import is_read_only
from clarinet_tui.text import directory_options
from core.errors import InputError
from core.files import replace_file

if TYPE_CHECKING:
    from clarinet_tui.analysis.board import BoardCell
    from clarinet_tui.history.database import Database
    from clarinet_tui.place import SlurmOptions
    from clarinet_tui.queue.sweep import Grid
    from clarinet_tui.ui.launch_form import LaunchForm
    from core.config import RunConfig


@dataclass(frozen=True)
class ActionResult:
    message: str = ""
    errors: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    """The runs for which it succeeded."""
    text: str = ""
    """What the action has produced: a command, a table, or the path of a file."""
    form: LaunchForm | None = None
    """The launch form of a cloned run."""


Arguments = ParamSpec("Arguments")


def changing(action: Callable[Arguments, ActionResult]) -> Callable[Arguments, ActionResult]:
    """Refuse an action in an app that only watches."""

    @wraps(action)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> ActionResult:
        if is_read_only():
            raise InputError("this app is read-only: it shows runs and changes nothing")
        return action(*args, **kwargs)

    return checked


@dataclass(frozen=True)
class RunActions:
    """Actions on the runs of one directory; new runs read their data from `data_dir`."""

    runs_dir: Path
    data_dir: Path
    database: Path | None = None

    @changing
    def stop(self, ids: Iterable[str]) -> ActionResult:
        """Stop runs, which save a checkpoint first; a waiting run leaves the queue."""
        results = {}

        def stop(run: RunDirectory) -> None:
            results[run.id] = requests.stop(run)

        def describe(runs: Sequence[str]) -> str:
            if len(runs) > 1:
                return f"{len(runs)} runs were asked to stop; r resumes them"
            dequeued = results[runs[0]] is StopResult.DEQUEUED
            return f"{runs[0]} was {'removed from the queue' if dequeued else 'asked to stop'}; r resumes it"

        return self._for_each(ids, stop, describe)

    @changing
    def resume(self, ids: Iterable[str]) -> ActionResult:
        return self._for_each(
            ids, lambda run: requests.resume([run], self._options()), lambda runs: f"{_runs_are(runs)} queued again"
        )

    @changing
    def delete(self, ids: Iterable[str]) -> ActionResult:
        """Move runs to the trash, from which `restore` returns them."""
        from clarinet_tui.history import trash

        return self._for_each(
            ids,
            lambda run: trash.remove_run(run, self.database),
            lambda runs: f"{_runs_are(runs)} deleted; u restores {'it' if len(runs) == 1 else 'them'}",
        )

    @changing
    def restore(self, ids: Iterable[str]) -> ActionResult:
        from clarinet_tui.history import trash

        return self._for_each(
            ids,
            lambda run: trash.restore_run(self.runs_dir, run.id, self.database),
            lambda runs: f"{_runs_are(runs)} restored",
        )

    @changing
    def tag(self, ids: Iterable[str], text: str) -> ActionResult:
        """Add and remove tags: `icml -old` adds one and removes another."""
        changes = [(word.removeprefix("-"), not word.startswith("-")) for word in text.split()]
        for name, _ in changes:
            validate_tag(name)

        def tag(run: RunDirectory) -> None:
            for name, is_added in changes:
                (add_tag if is_added else remove_tag)(run, name)

        return self._for_each(ids, tag, lambda runs: f"{_runs_are(runs)} tagged {text.strip()}")

    @changing
    def note(self, ids: Iterable[str], text: str) -> ActionResult:
        def describe(runs: Sequence[str]) -> str:
            subject = f"Note of {runs[0]}" if len(runs) == 1 else f"Notes of {len(runs)} runs"
            return f"{subject} {'saved' if text else 'removed'}"

        return self._for_each(ids, lambda run: set_note(run, text), describe)

    @changing
    def inspect(self, ids: Iterable[str]) -> ActionResult:
        """Return the runs to inspect, each in a process of its own: that writes to their directories."""
        return ActionResult(runs=tuple(ids))

    def make_command(self, run: str) -> ActionResult:
        """Return the command line that starts this run again."""
        from clarinet_tui.queue.sweep import run_command
        from core.resolve import minimal_settings

        command = run_command(minimal_settings(RunDirectory(self.runs_dir, run).read_config()))
        return ActionResult(text=self.add_directories(command), runs=(run,))

    def add_directories(self, command: str, *, data: bool = True) -> str:
        """Append the directory options that differ from their defaults; `data` is off for commands without data."""
        options = directory_options(self.runs_dir, self.data_dir if data else None)
        return f"{command} {shlex.join(options)}" if options else command

    def make_form(self, runs: Iterable[str], sweep: str = "") -> ActionResult:
        """Return the form that starts the runs again, as a part of a sweep if one is named."""
        from clarinet_tui.ui.launch_form import make_form

        configs = [RunDirectory(self.runs_dir, run).read_config() for run in runs]
        return ActionResult(form=make_form(*configs, sweep=sweep))

    @changing
    def submit(
        self, grid: Grid, *, paused: bool, slurm: SlurmOptions | None = None, tags: Sequence[str] = ()
    ) -> ActionResult:
        """Queue the runs of the grid, on Slurm or here: paused at the end of the queue, or at its front.

        Several runs are a sweep; one that exists is extended by the runs that it does not have yet.
        """
        from clarinet_tui.history.sweeps import join_sweep
        from clarinet_tui.queue.sweep import expand_grid

        options = self._options(paused=paused, slurm=slurm)
        place = requests.place_named(self.runs_dir, options.on)
        cores = place.cores(str(grid.settings.get("device", "auto")), options)
        configs = expand_grid(grid, cores)
        if grid.name or len(configs) > 1:
            with self._open_history() as history:
                name, configs = join_sweep(history, grid, configs)
            if not configs:
                raise InputError(f"sweep {name}: has all of these runs already")
        result = self._submit(configs, options, front=not paused)
        for run in result.runs:
            for tag in tags:
                add_tag(RunDirectory(self.runs_dir, run), tag)
        existing = f"; {len(grid) - len(configs)} exist already" if len(configs) < len(grid) else ""
        return replace(result, message=result.message + existing)

    def _open_history(self) -> Database:
        from clarinet_tui.history.database import Database

        try:
            return Database.open_read_only(self.runs_dir, self.database)
        except InputError:  # there are no runs yet
            return Database.in_memory()

    @changing
    def start_demo(self) -> ActionResult:
        """Queue the runs of the demo."""
        from clarinet_tui.queue.demo import demo_configs

        return self._submit(demo_configs(), self._options(), front=True)

    @changing
    def queue_missing_seeds(self, cells: Iterable[BoardCell], preset: str) -> ActionResult:
        """Queue missing seeds of the board: the first seed of every cell comes before any second one.

        New runs have the settings of the cell's existing runs, so that all count in one mean.
        """
        from clarinet_tui.queue.sweep import Grid, expand_grid
        from core.config import Tag, settings_tagged
        from core.resolve import minimal_settings

        cores = LocalPlace(self.runs_dir).cores("auto", self._options())
        own = settings_tagged(Tag.IDENTITY, Tag.NO_EFFECT) - {"preset"}
        configs: list[RunConfig] = []
        for cell in cells:
            settings: dict[str, Any] = {"preset": preset}
            if cell.template_run:
                template = minimal_settings(RunDirectory(self.runs_dir, cell.template_run).read_config())
                settings = {name: value for name, value in template.items() if name not in own}
            configs += expand_grid(Grid([cell.method], [cell.task], cell.missing, settings, source="board"), cores)
        return self._submit(sorted(configs, key=lambda config: config.seed), self._options())

    def _submit(self, configs: list[RunConfig], options: LaunchOptions, front: bool = False) -> ActionResult:
        place = requests.place_named(self.runs_dir, options.on)
        ids = tuple(run.id for run in place.submit(configs, options, front=front))
        is_paused_here = place.is_here and read_queue(self.runs_dir).paused
        paused_here = "; the queue is paused: P in Devices resumes it" if is_paused_here else ""
        return ActionResult(f"{_runs_are(ids)} queued{', paused' if options.paused else paused_here}", runs=ids)

    @changing
    def write_file(self, path: Path, make: Callable[[], str], *, replace: bool = False) -> ActionResult:
        """Write a file; an existing file is kept unless `replace` is set, and then `text` is empty."""
        if path.exists() and not replace:
            return ActionResult()
        with as_input_error(path.parent):
            replace_file(path, make().encode())
        return ActionResult(f"Written: {path}", text=str(path))

    @changing
    def move(self, run: str, step: int) -> ActionResult:
        """Move a waiting run by `step` from its current position."""
        place = requests.place_of(self.runs_dir, run)
        waiting = [row.id for row in place.list_runs() if row.is_waiting and not row.user]
        if run in waiting:
            place.move([run], max(0, waiting.index(run) + step))
        return ActionResult(runs=(run,))

    @changing
    def toggle_pause(self, run: str) -> ActionResult:
        """Pause a waiting run, or let it start again."""
        place = requests.place_of(self.runs_dir, run)
        paused = not any(row.is_paused for row in place.list_runs() if row.id == run)
        place.hold([run], paused)
        return ActionResult(f"{run} {'is paused; p releases it' if paused else 'may start'}", runs=(run,))

    @changing
    def toggle_queue_pause(self) -> ActionResult:
        paused = not read_queue(self.runs_dir).paused
        LocalPlace(self.runs_dir).pause(paused)
        return ActionResult(f"The queue is {'paused; running runs continue, P resumes it' if paused else 'resumed'}")

    @changing
    def cancel(self, run: str) -> ActionResult:
        requests.cancel(self.runs_dir, [run])
        return ActionResult(f"{run} was removed from the queue; r in History queues it again", runs=(run,))

    @changing
    def change_slots(self, device: str, step: int) -> ActionResult:
        """Change the number of runs that a device may run at once."""
        count = read_queue(self.runs_dir).slots_for(device) + step
        LocalPlace(self.runs_dir).set_slots({device: count})
        return ActionResult()

    def _options(self, **options: Any) -> LaunchOptions:
        return LaunchOptions.from_paths(self.data_dir, **options)

    def _for_each(
        self, ids: Iterable[str], act: Callable[[RunDirectory], object], describe: Callable[[Sequence[str]], str]
    ) -> ActionResult:
        """Act on each run and describe the successes; an error in one run does not affect the others."""
        done, errors = [], []
        for run in ids:
            try:
                act(RunDirectory(self.runs_dir, run))
                done.append(run)
            except InputError as error:
                errors.append(str(error))
        return ActionResult(describe(done) if done else "", tuple(errors), tuple(done))


def _runs_are(ids: Sequence[str]) -> str:
    return f"{ids[0]} is" if len(ids) == 1 else f"{len(ids)} runs are"
