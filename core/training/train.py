"""The generator that trains any method and yields its events."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from core.config import RunConfig
from core.data.load import load_task
from core.data.task_data import TaskData
from core.device import TrainingSettings, find_device
from core.events import Evaluated, Event, Noticed, Stepped
from core.methods import find_method
from core.methods.plan import make_plan
from core.training.session import Session
from core.training.state import Hooks


def prepare(
    config: RunConfig, data_dir: Path | str = "data", progress: Callable[[str, int, int], None] | None = None
) -> tuple[str, TaskData]:
    """Return the device and the data of a run before it is trained."""
    device = find_device(config.device)  # first, so that no data is read or generated in vain
    data = load_task(config, Path(data_dir), progress)
    make_plan(config, find_method(config.method), len(data.source_train), len(data.target_train))  # raises InputError
    return str(device), data


def train(
    config: RunConfig,
    *,
    data_dir: Path | str | None = None,
    data: TaskData | None = None,
    checkpoint_dir: Path | None = None,
    resume: bool = False,
    pseudo_labels: Sequence[int] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    before_checkpoint: Callable[[], None] = lambda: None,
    progress: Callable[[str, int, int], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Event]:
    """Train `config` and yield an event for each iteration, and others between them.

    `resume` continues from the newest checkpoint in `checkpoint_dir`. `should_stop` is called before each iteration;
    if it returns True, all metrics are yielded, the state is saved and the generator ends. `close()` saves as well,
    and events that were not yielded come first when the run is resumed. `before_checkpoint` is called before a state
    is written, so that the caller can store the yielded events first. `pseudo_labels` replace stage 1. Without
    `data_dir`, the data is in CLARINET_DATA or ./data. Nothing is recorded: `clarinet_tui.record` does that.

    Generators of one thread can take turns: each trains with its own number of threads and precision, and between two
    events torch has the caller's settings. Threads of one process share them: train several runs at once in processes.
    """
    device = find_device(config.device)  # first, so that no data is read or generated in vain
    with TrainingSettings(config.threads, config.precision) as settings:
        if data is None:
            data = load_task(config, Path(data_dir or os.environ.get("CLARINET_DATA") or "data"), progress)
        hooks = Hooks(checkpoint_dir, should_stop, before_checkpoint, clock)
        session = Session(config, data, device, pseudo_labels, hooks)
        try:
            first = session.resume() if resume else session.start()
            yield from _take_turns(chain(first, _add_notices(session.run(), settings.notices)), session, settings)
        except GeneratorExit:
            settings.resume()
            session.save()
            raise
        finally:
            session.data.close()


def _take_turns(events: Iterator[Event], session: Session, settings: TrainingSettings) -> Iterator[Event]:
    """Yield the events with the caller's settings of torch, and train with those of the run."""
    for event in events:
        settings.suspend()
        yield event
        if not session.metrics.pending:  # switching takes 20 µs: once for a block of iterations
            settings.resume()


def _add_notices(events: Iterator[Event], notices: list[str]) -> Iterator[Event]:
    """Yield the events, and after those of training what was noticed meanwhile."""
    for event in events:
        yield event
        while notices and isinstance(event, Stepped | Evaluated):
            yield Noticed(iteration=event.iteration, message=notices.pop(0), seconds=event.seconds)
