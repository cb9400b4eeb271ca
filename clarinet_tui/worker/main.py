"""The worker: one run, in its own process. Started by name, imported by `verify` alone, the only one with torch."""

import argparse
import itertools
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import msgspec

from clarinet_tui.queue.requests import ensure_supervisor_if_needed
from clarinet_tui.runs.atomic_files import size_of
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import Record, read
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.text import printable
from clarinet_tui.worker.alarm_hook import Herald
from clarinet_tui.worker.alarms import Watch
from clarinet_tui.worker.display import Display, choose_display
from clarinet_tui.worker.failure import failure
from clarinet_tui.worker.recorder import Recorder
from clarinet_tui.worker.shared_stage1 import Sharing
from core.config import RunConfig
from core.errors import InputError
from core.events import Event, Failed, Finished, Noticed, Stopped


class Signals:
    """The first signal asks the run to stop and save; a second one of the same kind ends the process."""

    def __init__(self) -> None:
        self.received = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup means it
                signal.signal(number, self._receive)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        signal.signal(number, signal.SIG_DFL)

    def asked_to_stop(self) -> bool:
        return self.received != 0


def main() -> int:
    arguments = parse(sys.argv[1:])
    signals = Signals()
    display = choose_display(arguments.id, json=arguments.json)
    try:
        run = RunDirectory(arguments.runs_dir, arguments.id)
        with run.hold(), discarded_if_refused(run, arguments.fresh), refusal_recorded(run, arguments.queued):
            return work(run, arguments, signals, display)
    except InputError as error:
        display.close()
        print(f"clarinet: {printable(str(error))}", file=sys.stderr)
        return 2
    finally:
        if arguments.queued:
            call_for_the_next(arguments.runs_dir)


def call_for_the_next(runs_dir: Path) -> None:
    """A supervisor that was killed meanwhile is replaced by the first of its runs that ends."""
    with suppress(InputError, OSError):  # the run is over: whoever opens the queue next does the same
        ensure_supervisor_if_needed(runs_dir)


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clarinet-worker", description=__doc__)
    parser.add_argument("id")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--device", help="compute here, whatever the run's settings say")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="the run was made for this worker: wrong input removes it")
    parser.add_argument("--queued", action="store_true", help="nobody watches: wrong input is the run's failure")
    parser.add_argument("--on-alarm", action="append", default=[], metavar="WORD", help="a word of the command")
    return parser.parse_args(words)


@contextmanager
def discarded_if_refused(run: RunDirectory, fresh: bool) -> Iterator[None]:
    """Wrong input changes nothing: a run that never said a word leaves no directory behind."""
    try:
        yield
    except InputError:
        if fresh and not run.journal.exists():
            shutil.rmtree(run.path)
        raise


@contextmanager
def refusal_recorded(run: RunDirectory, queued: bool) -> Iterator[None]:
    """Wrong input is told to whoever gave it; a run that has begun to speak, or that nobody watches, keeps it too."""
    spoken = size_of(run.journal)
    try:
        yield
    except InputError as error:
        if queued or size_of(run.journal) > spoken:
            with JournalWriter(run.journal) as journal:
                journal.append(failure(error, None))
        raise


def work(run: RunDirectory, arguments: argparse.Namespace, signals: Signals, display: Display) -> int:
    set_up()
    config = run.read_config()
    if arguments.device:
        config = msgspec.structs.replace(config, device=arguments.device)
    recorder = Recorder(run, config, display.notice, signals.asked_to_stop)
    herald = Herald(run, config, arguments.on_alarm, display.notice)
    sitting = Sitting(run, config, recorder, display, signals, herald)
    try:
        sitting.train(arguments.data_dir, arguments.resume)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - failure is data: it is kept with the run, and told
        sitting.tell(failure(error, sitting.last))
    finally:
        recorder.close()
        herald.close()
        display.close()
    return exit_code(sitting.last, recorder.lost, signals)


def set_up() -> None:
    """For torch, before it is loaded."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic matrix products on GPUs
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve each other on a shared machine


def first_iterations(
    config: RunConfig, data_dir: Path, pseudo_labels: Sequence[int] | None, count: int
) -> Iterator[Event]:
    """The beginning of a run once more, kept nowhere and shared with nobody."""
    from core.training.train import prepare, train

    _, data = prepare(config, data_dir)
    asked = itertools.count()  # before each iteration
    yield from train(config, data=data, pseudo_labels=pseudo_labels, should_stop=lambda: next(asked) >= count)


class Sitting:
    """From where the run stands to its end, or to the next stop; every word is recorded and shown."""

    def __init__(
        self,
        run: RunDirectory,
        config: RunConfig,
        recorder: Recorder,
        display: Display,
        signals: Signals,
        herald: Herald,
    ) -> None:
        self.last: Event | None = None
        self._run, self._config = run, config
        self._recorder, self._display, self._signals, self._herald = recorder, display, signals, herald
        self._watch = Watch(iterations_planned(run))

    def tell(self, event: Event) -> None:
        self.last = event
        self._recorder.record(event)
        self._display.show(event)
        for alarm in self._watch.hear(event):
            self.tell(alarm)
            if not alarm.over:
                self._herald.announce(alarm)

    def train(self, data_dir: Path, resume: bool) -> None:
        from core.training.train import prepare, train

        asked_to_stop = self._signals.asked_to_stop
        device, data = prepare(self._config, data_dir, self._display.preparing)
        self._recorder.device = device
        with Sharing(self._run, self._config, data, device, self._notice) as stage1:
            if not resume and not stage1.settle(asked_to_stop):
                self.tell(Stopped(iteration=0))
                return
            for event in train(
                self._config,
                data=data,
                checkpoint_dir=self._run.path,
                resume=resume,
                pseudo_labels=stage1.labels,
                should_stop=asked_to_stop,
                before_checkpoint=self._recorder.sync,
            ):
                self.tell(stage1.pass_on(event))

    def _notice(self, sentence: str) -> None:
        last = self.last
        self.tell(
            Noticed(iteration=getattr(last, "iteration", 0), message=sentence, seconds=last.seconds if last else 0.0)
        )


def iterations_planned(run: RunDirectory) -> int:
    """As a sitting before said it, in the journal's first line; a new run says it itself."""
    first = next(read(run.journal), None)
    planned = first.fields.get("iterations_total") if isinstance(first, Record) else None
    return planned if isinstance(planned, int) else 0


def exit_code(last: Event | None, lost: int, signals: Signals) -> int:
    """`lost` are bytes that the journal could not take: then the run was not recorded as it ended."""
    if lost or isinstance(last, Failed):
        return 1
    if isinstance(last, Finished):
        return 0
    return 128 + signals.received


if __name__ == "__main__":
    sys.exit(main())
