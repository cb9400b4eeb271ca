"""The worker process that trains one run; started with python -m, and imported only by verify/replay."""

import argparse
import itertools
import os
import shutil
import signal
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TextIO, cast

import msgspec

from clarinet_tui.devices.gpu_lock import GpuInUseError
from clarinet_tui.devices.local import describe_unused_gpus, torch_backend
from clarinet_tui.queue.local import ensure_supervisor_if_needed
from clarinet_tui.queue.supervisor import GPU_IN_USE
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import file_size
from clarinet_tui.runs.journal import read_first_event
from clarinet_tui.runs.journal_writer import append_failure
from clarinet_tui.runs.lock import is_batch_job
from clarinet_tui.runs.worker_command import ALARM_VARIABLE, END_VARIABLE, take_hook_command
from clarinet_tui.runs.worker_log import TimestampedStream
from clarinet_tui.slurm.attempts import SlurmJob, check_lease
from clarinet_tui.streams import drop_failed_writes
from clarinet_tui.text import printable
from clarinet_tui.worker.alarms import AlarmMonitor
from clarinet_tui.worker.display import choose_display
from clarinet_tui.worker.failure import make_failed
from clarinet_tui.worker.hardware import hardware_kind, hold_first_gpu
from clarinet_tui.worker.notifications import ON_ALARM, ON_END, EventHook, read_targets
from clarinet_tui.worker.recorder import Recorder
from clarinet_tui.worker.shared_stage1 import Stage1Sharing
from core.config import RunConfig
from core.errors import InputError
from core.events import Checkpointed, Event, Failed, FailureKind, Finished, Noticed, Resumed, Started, Stopped
from core.resolve import changed_settings

STDERR = 2
FEW_ITERATIONS, FEW_BATCHES = 100, 10
"""Below these, a notice says that the data has few images."""


class CheckpointAbandoned(BaseException):
    """The user pressed Ctrl+C a second time: end without a checkpoint."""


class StopSignals:
    """The first signal requests a stop with a checkpoint.

    A second Ctrl+C abandons the checkpoint, and a second SIGTERM ends the process. A second SIGHUP is ignored, because
    a terminal that closes sends several; and so are the warnings of batch systems, SIGUSR1 and SIGUSR2.
    """

    def __init__(self) -> None:
        self.received = 0
        self.time_is_over = False
        """Whether the time limit has requested the stop."""
        self._deadline: float | None = None
        self._pid = os.getpid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, self._receive)

    def stop_after(self, seconds: float) -> None:
        """Request a stop, as SIGTERM does, after this time; 0 is no limit."""
        self._deadline = time.monotonic() + seconds if seconds else None

    def is_stop_requested(self) -> bool:
        if self._deadline is not None and not self.received and time.monotonic() >= self._deadline:
            self.received = signal.SIGTERM
            self.time_is_over = True
        return self.received != 0

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._pid:  # a process that reads data: Ctrl+C reaches it as well
            return
        self.received = number
        if number == signal.SIGINT:
            signal.signal(number, self._abandon)
            # A signal may have interrupted a write to the buffered stream, and the terminal may be gone.
            with suppress(OSError):
                erase_line = "\r\x1b[2K" if os.isatty(STDERR) else ""  # of the progress bar
                os.write(STDERR, f"{erase_line}Saving a checkpoint; press Ctrl+C again to abandon it\n".encode())
        else:
            signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)

    def _abandon(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() == self._pid:
            signal.signal(number, signal.SIG_DFL)
            raise CheckpointAbandoned


def main() -> int:
    arguments = parse_arguments(sys.argv[1:])
    signals = StopSignals()
    drop_failed_writes()
    if arguments.queued:  # the output goes to worker.log
        sys.stdout = sys.stderr = cast(TextIO, TimestampedStream(sys.stdout))
    try:
        run = RunDirectory(arguments.runs_dir, arguments.id)
        run.check_own("train")
        check_lease(run, SlurmJob.current().owner)
        gpu = hold_first_gpu(run, arguments.gpu, queued=arguments.queued, share=arguments.share_gpu)
        with run.hold_lock(), record_wrong_input(run, arguments), gpu:
            configure_torch()
            return TrainingAttempt(run, arguments, signals).run()
    except InputError as error:
        print(f"clarinet: {printable(str(error))}", file=sys.stderr)
        return GPU_IN_USE if arguments.queued and isinstance(error, GpuInUseError) else 2
    except CheckpointAbandoned:  # while the journal was closed, on a full disk
        print("clarinet: abandoned: the last events may be lost", file=sys.stderr)
        return 128 + signals.received
    finally:
        if arguments.queued and not is_batch_job():  # the supervisor may have been killed while this run was training
            with suppress(InputError, OSError):  # the next command that uses the queue starts it as well
                ensure_supervisor_if_needed(arguments.runs_dir)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clarinet-worker", description=__doc__)
    parser.add_argument("id")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--device", help="overrides the run's setting")
    parser.add_argument("--gpu", action="append", default=[], help="a GPU to use if no other run has locked it")
    parser.add_argument("--share-gpu", action="store_true", help="use the GPU although another run has locked it")
    parser.add_argument("--json", choices=("lines", "array"), help="print events as JSON lines, or as one array")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="remove the run's directory on wrong input")
    parser.add_argument("--time-limit", type=float, default=0.0, help="save and stop after this many seconds")
    parser.add_argument("--queued", action="store_true", help="write to worker.log; record wrong input as a failure")
    return parser.parse_args(arguments)


@contextmanager
def record_wrong_input(run: RunDirectory, arguments: argparse.Namespace) -> Iterator[None]:
    """Record wrong input as a failure if the run is queued or has recorded events in this attempt.

    The directory of a new run that is refused before its first event is removed. A GPU in use is no failure.
    """
    size = file_size(run.journal)
    try:
        yield
    except InputError as error:
        is_failure = arguments.queued and not isinstance(error, GpuInUseError)
        if is_failure or file_size(run.journal) > size:
            append_failure(run.journal, make_failed(error, None))
        if arguments.fresh and not run.journal.exists():
            shutil.rmtree(run.path)
        raise


def configure_torch() -> None:
    """Set environment variables that torch reads when it is imported."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads slow each other down on a shared machine


def train_first_iterations(
    config: RunConfig, data_dir: Path, pseudo_labels: Sequence[int] | None, count: int
) -> Iterator[Event]:
    """Train the first `count` iterations of a run without recording them or sharing stage 1."""
    from core.training.train import prepare, train

    _, data = prepare(config, data_dir)
    calls = itertools.count()  # should_stop is called before each iteration
    yield from train(config, data=data, pseudo_labels=pseudo_labels, should_stop=lambda: next(calls) >= count)


class TrainingAttempt:
    """One process's work on a run, from start or resume to its end; every event is recorded and shown."""

    def __init__(self, run: RunDirectory, arguments: argparse.Namespace, signals: StopSignals) -> None:
        self._run, self._arguments, self._signals = run, arguments, signals
        self._config = run.read_config()
        if arguments.device:
            self._config = msgspec.structs.replace(self._config, device=arguments.device)
        planned = (read_first_event(run.journal) or {}).get("iterations_total") or 0
        self._display = choose_display(run, planned, json=arguments.json, queued=arguments.queued)
        self._recorder = Recorder(run, self._config, self._display.notice, signals.is_stop_requested)
        self._monitor = AlarmMonitor(planned)
        try:
            targets = read_targets()
        except InputError as error:  # a wrong choice does not end the run
            targets = ()
            self._display.notice(str(error))
        self._on_alarm, self._on_end = (
            EventHook(run, self._config, take_hook_command(name), self._display.notice, option=option, targets=targets)
            for option, name in ((ON_ALARM, ALARM_VARIABLE), (ON_END, END_VARIABLE))
        )
        self._last: Event | None = None
        self._saved = 0
        """The iteration of the last checkpoint."""
        self._is_saving = False
        """Whether the last checkpoint was begun and not completed."""

    def run(self) -> int:
        """Train, and return the exit code of the process."""
        self._signals.stop_after(self._arguments.time_limit)
        try:
            self._train()
        except InputError:
            raise
        except CheckpointAbandoned:
            iteration, seconds = self._position()
            if iteration > self._saved:
                lost = f"iterations {self._saved + 1} to {iteration} are lost and trained again when the run is resumed"
                self._notice(f"no checkpoint was saved: {lost}")
            self._emit(Stopped(iteration=iteration, seconds=seconds))
        except Exception as error:  # noqa: BLE001 - any failure is recorded as an event
            self._emit(make_failed(error, self._last))
        finally:
            self._recorder.close()
            self._on_alarm.close()
            if isinstance(self._last, Finished | Failed | Stopped):
                self._on_end.submit(self._last)
            self._on_end.close(timeout=35.0)
            self._display.close()
        if not self._recorder.is_durable or isinstance(self._last, Failed):
            return 1
        return 0 if isinstance(self._last, Finished) else 128 + self._signals.received

    def _emit(self, event: Event) -> None:
        self._last = event
        if isinstance(event, Resumed | Checkpointed):
            self._saved = event.from_iteration if isinstance(event, Resumed) else event.iteration
            self._is_saving = False
        self._recorder.record(event)
        self._display.show(event)
        if isinstance(event, Started) and (notice := describe_small_data(self._config, event)):
            self._notice(notice)
        for alarm in self._monitor.observe(event):
            self._emit(alarm)
            if not alarm.over:
                self._on_alarm.submit(alarm)

    def _train(self) -> None:
        from core.training.train import prepare, train

        device, data = prepare(self._config, self._arguments.data_dir, self._display.show_preparation)
        self._recorder.device = device
        is_chosen_here = device == "cpu" and self._run.read_config().device == "auto"
        if is_chosen_here and (unused := describe_unused_gpus(torch_backend())):
            self._display.notice(unused)
        with closing(Stage1Sharing(self._run, self._config, data, hardware_kind(device), self._notice)) as stage1:
            if not self._arguments.resume and not stage1.prepare(self._signals.is_stop_requested):
                self._emit(Stopped(iteration=0))
                return
            events = train(
                self._config,
                data=data,
                checkpoint_dir=self._run.path,
                resume=self._arguments.resume,
                pseudo_labels=stage1.labels,
                should_stop=self._signals.is_stop_requested,
                before_checkpoint=self._before_checkpoint,
            )
            try:
                for event in events:
                    if isinstance(event, Stopped) and self._signals.time_is_over:
                        self._notice("the time limit is reached")
                    self._emit(self._check_saved(stage1.process_event(event)))
            except CheckpointAbandoned as abandoned:
                with suppress(CheckpointAbandoned):  # otherwise the generator is closed, and saves a checkpoint
                    cast("Generator[Event]", events).throw(abandoned)
                raise

    def _before_checkpoint(self) -> None:
        self._is_saving = True
        self._recorder.sync()

    def _check_saved(self, event: Event) -> Event:
        """Return a failure instead of the end of a run whose weights could not be saved."""
        if not isinstance(event, Finished) or not self._is_saving:
            return event
        message = "the training is complete, but its weights could not be saved: free some space and resume the run"
        return Failed(iteration=event.iteration, message=message, kind=FailureKind.DISK_FULL, seconds=event.seconds)

    def _notice(self, message: str) -> None:
        iteration, seconds = self._position()
        self._emit(Noticed(iteration=iteration, message=message, seconds=seconds))

    def _position(self) -> tuple[int, float]:
        """Return the iteration and the training time of the last event."""
        return getattr(self._last, "iteration", self._saved), self._last.seconds if self._last else 0.0


def describe_small_data(config: RunConfig, started: Started) -> str | None:
    """Return a notice about the batch size or the length of the training; None if both are usual."""
    if config.preset == "smoke":  # short by definition
        return None
    images = max(started.source_size, started.target_size)
    usual, size = 0, 0
    with suppress(InputError):
        usual, size = changed_settings(config).get("batch_size", (0, 0))
    if size < usual and images // usual < FEW_BATCHES:
        return f"batch_size is {size} instead of the preset's {usual}: the data has only {images} images"
    if started.iterations_total < FEW_ITERATIONS:
        total = started.iterations_total
        return f"the training has only {total} iterations for {images} images: lower batch_size or raise epochs"
    return None


if __name__ == "__main__":
    sys.exit(main())
