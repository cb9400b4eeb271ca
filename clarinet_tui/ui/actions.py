"""What the app does to runs when it is asked to. Each act writes to disk and may wait: not for the UI thread."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.annotations import add_tag, checked_tag, remove_tag, set_note
from clarinet_tui.runs.atomic_files import replace_file, told
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.ui.action_result import Outcome
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.queue.sweep import Grid
    from clarinet_tui.ui.board_gaps import Gap
    from clarinet_tui.ui.launch_form import Form
    from core.config import RunConfig


HELD = "; the queue is paused: P in Devices continues it"
USUAL = {"--runs-dir": ("CLARINET_RUNS", "runs"), "--data-dir": ("CLARINET_DATA", "data")}
"""Options, the variables that stand for them, and what they are otherwise."""


@dataclass(frozen=True)
class Acts:
    """On the runs of one directory; new work reads its data from `data_dir`."""

    runs_dir: Path
    data_dir: Path
    database: Path | None = None

    def stop(self, ids: Iterable[str]) -> Outcome:
        """Each saves itself and can be resumed; one that waits leaves the queue."""
        told = {}

        def one(run: RunDirectory) -> None:
            told[run.id] = requests.stop(run)

        done = self._each(ids, one)
        if len(done.runs) == 1:
            return _said(done, f"{done.runs[0]} {told[done.runs[0]]}; r goes on with it")
        return _said(done, f"{len(done.runs)} runs were asked to stop; r goes on with them")

    def resume(self, ids: Iterable[str]) -> Outcome:
        done = self._each(ids, lambda run: requests.resume([run], self._wishes()))
        return _said(done, f"{_counted(done.runs)} in the queue again")

    def remove(self, ids: Iterable[str]) -> Outcome:
        """Into the trash, from where `restore` takes them back."""
        from clarinet_tui.history import trash

        done = self._each(ids, lambda run: trash.remove(run, self.database))
        return _said(done, f"{_counted(done.runs)} removed; u takes {'it' if len(done.runs) == 1 else 'them'} back")

    def restore(self, ids: Iterable[str]) -> Outcome:
        from clarinet_tui.history import trash

        done = self._each(ids, lambda run: trash.restore(self.runs_dir, run.id, self.database))
        return _said(done, f"{_counted(done.runs)} back")

    def tag(self, ids: Iterable[str], words: str) -> Outcome:
        """`icml -old` gives one tag and takes another away."""
        wanted = [(word.removeprefix("-"), not word.startswith("-")) for word in words.split()]
        for name, _ in wanted:
            checked_tag(name)

        def one(run: RunDirectory) -> None:
            for name, add in wanted:
                (add_tag if add else remove_tag)(run, name)

        done = self._each(ids, one)
        return _said(done, f"{_counted(done.runs)} tagged {words.strip()}")

    def note(self, ids: Iterable[str], text: str) -> Outcome:
        done = self._each(ids, lambda run: set_note(run, text))
        return _said(done, f"{_counted(done.runs)} noted" if text else f"{_counted(done.runs)} without a note")

    def command(self, run: str) -> Outcome:
        """The line that makes this run again."""
        from clarinet_tui.queue.sweep import run_command
        from core.resolve import settings_of

        command = run_command(settings_of(RunDirectory(self.runs_dir, run).read_config()))
        return Outcome(text=self.addressed(command), runs=(run,))

    def addressed(self, command: str, *, data: bool = True) -> str:
        """The command with the directories that another shell would not guess; some commands need no data."""
        here = {"--runs-dir": self.runs_dir} | ({"--data-dir": self.data_dir} if data else {})
        usual = {flag: os.environ.get(variable) or path for flag, (variable, path) in USUAL.items()}
        words = [word for flag, path in here.items() if str(path) != usual[flag] for word in (flag, str(path))]
        return f"{command} {shlex.join(words)}" if words else command

    def form(self, run: str) -> Form:
        """The launch form that makes this run again."""
        from clarinet_tui.ui.launch_form import form_of

        return form_of(RunDirectory(self.runs_dir, run).read_config())

    def submit(self, grid: Grid, *, paused: bool) -> Outcome:
        """Every run of the grid into the queue: paused at its end, or at its front."""
        from clarinet_tui.queue.sweep import expand

        configs = expand(grid, requests.cores_for(self.runs_dir, str(grid.settings.get("device", "auto"))))
        queue = read_queue(self.runs_dir)
        made = requests.submit(self.runs_dir, configs, self._wishes(paused))
        ids = tuple(run.id for run in made)
        if queue.waiting and not paused:
            _to_the_front(self.runs_dir, ids)
        state = ", paused" if paused else HELD if queue.paused else ""
        return Outcome(f"{_counted(ids)} queued{state}", runs=ids)

    def fill(self, gaps: Sequence[Gap]) -> Outcome:
        """Missing seeds of the board to the end of the queue; every cell gets its first before any gets its second."""
        configs = [config for gap in gaps for config in self._filling(gap)]
        made = requests.submit(self.runs_dir, sorted(configs, key=lambda config: config.seed), self._wishes())
        ids = tuple(run.id for run in made)
        held = HELD if read_queue(self.runs_dir).paused else ""
        return Outcome(f"{_counted(ids)} queued{held}", runs=ids)

    def _filling(self, gap: Gap) -> list[RunConfig]:
        """As the runs that are there, so that they may stand in one mean; their devices and names do not matter."""
        from clarinet_tui.queue.sweep import Grid, expand
        from core.config import PROTOCOL_EXEMPT
        from core.resolve import settings_of

        settings: dict[str, Any] = {"preset": gap.preset}
        if gap.model:
            like = settings_of(RunDirectory(self.runs_dir, gap.model).read_config())
            own = {"method", "task", "seed", *PROTOCOL_EXEMPT}
            settings = {name: value for name, value in like.items() if name not in own}
        grid = Grid([gap.method], [gap.task], gap.seeds, settings, place="board")
        return expand(grid, requests.cores_for(self.runs_dir, "auto"))

    def write(self, path: Path, make: Callable[[], str], *, replace: bool = False) -> Outcome:
        """A new file; one that is there stays as it is unless it may be replaced: then `text` is empty."""
        if path.exists() and not replace:
            return Outcome()
        with told(path.parent):
            replace_file(path, make().encode())
        return Outcome(f"Written: {path}", text=str(path))

    def shift(self, run: str, step: int) -> Outcome:
        """A waiting run sooner or later; counted from where it is when this is done."""
        waiting = [entry.id for entry in read_queue(self.runs_dir).waiting]
        if run in waiting:
            requests.move(self.runs_dir, [run], waiting.index(run) + step)
        return Outcome(runs=(run,))

    def pause(self, run: str) -> Outcome:
        """Hold a waiting run back, or let it go."""
        queue = read_queue(self.runs_dir)
        paused = run in queue and not queue[run].paused
        requests.pause(self.runs_dir, [run], paused)
        return Outcome(f"{run} {'is held back; p lets it go' if paused else 'may start'}", runs=(run,))

    def pause_all(self) -> Outcome:
        paused = not read_queue(self.runs_dir).paused
        requests.pause(self.runs_dir, [], paused)
        return Outcome("The queue is paused: what runs goes on, P continues" if paused else "The queue goes on")

    def cancel(self, run: str) -> Outcome:
        requests.cancel(self.runs_dir, [run])
        return Outcome(f"{run} has left the queue; r in History puts it back", runs=(run,))

    def slots(self, device: str, step: int) -> Outcome:
        """So many more runs, or fewer, at once on a device."""
        count = read_queue(self.runs_dir).slots_of(device) + step
        requests.set_slots(self.runs_dir, {device: count})
        return Outcome()

    def _wishes(self, paused: bool = False) -> requests.Wishes:
        return requests.Wishes(self.data_dir, Path.cwd(), paused=paused)

    def _each(self, ids: Iterable[str], act: Callable[[RunDirectory], object]) -> Outcome:
        """One after the other: what cannot be done to one is done to the others all the same."""
        done, problems = [], []
        for run in ids:
            try:
                act(RunDirectory(self.runs_dir, run))
                done.append(run)
            except InputError as error:
                problems.append(str(error))
        return Outcome(problems=tuple(problems), runs=tuple(done))


def _to_the_front(runs_dir: Path, ids: Sequence[str]) -> None:
    """Those that have not started meanwhile."""
    waiting = {entry.id for entry in read_queue(runs_dir).waiting}
    rest = [run for run in ids if run in waiting]
    with suppress(InputError):  # one has started just now, and is before all others anyway
        requests.move(runs_dir, rest, 0)


def _said(done: Outcome, sentence: str) -> Outcome:
    return Outcome(sentence if done.runs else "", done.problems, done.runs)


def _counted(ids: Sequence[str]) -> str:
    return f"{ids[0]} is" if len(ids) == 1 else f"{len(ids)} runs are"
