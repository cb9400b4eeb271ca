"""The generator: every method, stage by stage, iteration by iteration, as events."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from core.config import RunConfig
from core.data.task_data import TaskData
from core.events import Event
from core.methods import find_method
from core.training.device import TorchSettings, find_device
from core.training.plan import make_plan
from core.training.session import Hooks, Session


def prepare(
    config: RunConfig, data_dir: Path | str = "data", progress: Callable[[str, int, int], None] | None = None
) -> tuple[str, TaskData]:
    """The device and the data of a run, for those who must know them before it is trained."""
    device = find_device(config.device)  # before data is read or made for nothing
    from core.data.load import load_task

    data = load_task(config, Path(data_dir), progress)
    make_plan(config, find_method(config.method), len(data.source_train), len(data.target_train))  # or an InputError
    return str(device), data


def train(
    config: RunConfig,
    *,
    data_dir: Path | str = "data",
    data: TaskData | None = None,
    checkpoint_dir: Path | None = None,
    resume: bool = False,
    pseudo_labels: Sequence[int] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    before_checkpoint: Callable[[], None] = lambda: None,
    progress: Callable[[str, int, int], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Event]:
    """Train `config`, yielding one event for each iteration and a few between them.

    `resume` goes on from the newest checkpoint in `checkpoint_dir`. `should_stop` is asked before each iteration:
    then what was measured is yielded, the state is saved and the generator ends. `close()` saves too, and what could
    not be yielded any more comes first when the run is resumed. `before_checkpoint` is called before a state is
    written, so that whoever records the events can make them durable first. `pseudo_labels` stand in for stage 1.
    """
    device = find_device(config.device)  # before data is read or made for nothing
    with TorchSettings(config):
        if data is None:
            from core.data.load import load_task

            data = load_task(config, Path(data_dir), progress)
        surroundings = Hooks(checkpoint_dir, should_stop, before_checkpoint, clock)
        session = Session(config, data, device, pseudo_labels, surroundings)
        try:
            yield from session.resume() if resume else session.start()
            yield from session.run()
        except GeneratorExit:
            session.save()
            raise
