"""The worker process that trains one run; started with python -m, and imported only by verify/replay."""

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
from typing import TextIO, cast

import msgspec

from clarinet_tui.queue.requests import ensure_supervisor_if_needed
from clarinet_tui.runs.atomic_files import file_size
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import JournalEvent, read_journal
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.worker_log import TimestampedStream
from clarinet_tui.text import printable
from clarinet_tui.worker.alarm_hook import AlarmHook
from clarinet_tui.worker.alarms import AlarmMonitor
from clarinet_tui.worker.display import Display, choose_display
from clarinet_tui.worker.failure import make_failed
from clarinet_tui.worker.recorder import Recorder
from clarinet_tui.worker.shared_stage1 import SharedStage1
from core.config import RunConfig
from core.errors import InputError
from core.events import Event, Failed, Finished, Noticed, Stopped


class StopSignals:
    """The first signal requests a stop with a checkpoint; a second one of the same kind ends the process."""

    def __init__(self) -> None:
        self.received = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, self._receive)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        signal.signal(number, signal.SIG_DFL)

    def is_stop_requested(self) -> bool:
        return self.received != 0


def main() -> int:
    arguments = parse_arguments(sys.argv[1:])
    signals = StopSignals()
    if arguments.queued:  # the output goes to worker.log
        sys.stdout = sys.stderr = cast(TextIO, TimestampedStream(sys.stdout))
    display = choose_display(arguments.id, json=arguments.json, queued=arguments.queued)
    try:
        run = RunDirectory(arguments.runs_dir, arguments.id)
        with run.hold_lock(), remove_on_input_error(run, arguments.fresh), record_input_error(run, arguments.queued):
            return run_attempt(run, arguments, signals, display)
    except InputError as error:
        display.close()
        print(f"clarinet: {printable(str(error))}", file=sys.stderr)
        return 2
    finally:
        if arguments.queued:  # the supervisor may have been killed while this run was training
            with suppress(InputError, OSError):  # the next command that uses the queue starts it as well
                ensure_supervisor_if_needed(arguments.runs_dir)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clarinet-worker", description=__doc__)
    parser.add_argument("id")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--device", help="overrides the run's setting")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="remove the run's directory on wrong input")
    parser.add_argument("--queued", action="store_true", help="write to worker.log; record wrong input as a failure")
    parser.add_argument("--on-alarm", action="append", default=[], metavar="WORD", help="an argument of the command")
    return parser.parse_args(arguments)


@contextmanager
def remove_on_input_error(run: RunDirectory, fresh: bool) -> Iterator[None]:
    """Remove the directory of a new run that is refused before its first event."""
    try:
        yield
    except InputError:
        if fresh and not run.journal.exists():
            shutil.rmtree(run.path)
        raise


@contextmanager
def record_input_error(run: RunDirectory, queued: bool) -> Iterator[None]:
    """Record wrong input as a failure if the run is queued or has recorded events in this attempt."""
    size = file_size(run.journal)
    try:
        yield
    except InputError as error:
        if queued or file_size(run.journal) > size:
            with JournalWriter(run.journal) as journal:
                journal.append(make_failed(error, None))
        raise


def run_attempt(run: RunDirectory, arguments: argparse.Namespace, signals: StopSignals, display: Display) -> int:
    configure_torch()
    config = run.read_config()
    if arguments.device:
        config = msgspec.structs.replace(config, device=arguments.device)
    recorder = Recorder(run, config, display.notice, signals.is_stop_requested)
    hook = AlarmHook(run, config, arguments.on_alarm, display.notice)
    attempt = Attempt(run, config, recorder, display, signals, hook)
    try:
        attempt.train(arguments.data_dir, arguments.resume)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - any failure is recorded as an event
        attempt.emit(make_failed(error, attempt.last))
    finally:
        recorder.close()
        hook.close()
        display.close()
    return exit_code(attempt.last, recorder.lost_bytes, signals)


def configure_torch() -> None:
    """Set environment variables that torch reads when it is imported."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic matrix products on GPUs
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads slow each other down on a shared machine


def train_first_iterations(
    config: RunConfig, data_dir: Path, pseudo_labels: Sequence[int] | None, count: int
) -> Iterator[Event]:
    """Train the first `count` iterations of a run without recording them or sharing stage 1."""
    from core.training.train import prepare, train

    _, data = prepare(config, data_dir)
    calls = itertools.count()  # should_stop is called before each iteration
    yield from train(config, data=data, pseudo_labels=pseudo_labels, should_stop=lambda: next(calls) >= count)


class Attempt:
    """One process's work on a run, from start or resume to its end; every event is recorded and shown."""

    def __init__(
        self,
        run: RunDirectory,
        config: RunConfig,
        recorder: Recorder,
        display: Display,
        signals: StopSignals,
        hook: AlarmHook,
    ) -> None:
        self.last: Event | None = None
        self._run, self._config = run, config
        self._recorder, self._display, self._signals, self._hook = recorder, display, signals, hook
        self._monitor = AlarmMonitor(planned_iterations(run))

    def emit(self, event: Event) -> None:
        self.last = event
        self._recorder.record(event)
        self._display.show(event)
        for alarm in self._monitor.observe(event):
            self.emit(alarm)
            if not alarm.over:
                self._hook.submit(alarm)

    def train(self, data_dir: Path, resume: bool) -> None:
        from core.training.train import prepare, train

        device, data = prepare(self._config, data_dir, self._display.show_preparation)
        self._recorder.device = device
        with SharedStage1(self._run, self._config, data, device, self._notice) as stage1:
            if not resume and not stage1.prepare(self._signals.is_stop_requested):
                self.emit(Stopped(iteration=0))
                return
            for event in train(
                self._config,
                data=data,
                checkpoint_dir=self._run.path,
                resume=resume,
                pseudo_labels=stage1.labels,
                should_stop=self._signals.is_stop_requested,
                before_checkpoint=self._recorder.sync,
            ):
                self.emit(stage1.process_event(event))

    def _notice(self, message: str) -> None:
        iteration, seconds = getattr(self.last, "iteration", 0), self.last.seconds if self.last else 0.0
        self.emit(Noticed(iteration=iteration, message=message, seconds=seconds))


def planned_iterations(run: RunDirectory) -> int:
    """Return the number of iterations in the journal's first event; 0 for a new run."""
    first = next(read_journal(run.journal), None)
    planned = first.fields.get("iterations_total") if isinstance(first, JournalEvent) else None
    return planned if isinstance(planned, int) else 0


def exit_code(last: Event | None, lost_bytes: int, signals: StopSignals) -> int:
    """Return 1 if the run failed or its journal is incomplete."""
    if lost_bytes or isinstance(last, Failed):
        return 1
    if isinstance(last, Finished):
        return 0
    return 128 + signals.received


if __name__ == "__main__":
    sys.exit(main())
