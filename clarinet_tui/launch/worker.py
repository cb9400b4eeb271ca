"""The worker: one run, in its own process. Started by name, imported by nobody, the only one that loads torch."""

import argparse
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from clarinet_tui.journal.directory import RunDirectory
from clarinet_tui.launch.display import Display, choose_display
from clarinet_tui.launch.recorder import Recorder
from core.errors import InputError
from core.events import Event, Failed, Finished

FRAMES = 5
"""How many of an exception's last frames are kept with the run."""


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
    run = RunDirectory(arguments.runs_dir, arguments.id)
    try:
        with run.hold(), discarded_if_refused(run, arguments.fresh):
            return work(run, arguments, signals, display)
    except InputError as error:
        display.close()
        print(f"clarinet: {error}", file=sys.stderr)
        return 2


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clarinet-worker", description=__doc__)
    parser.add_argument("id")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="the run was made for this worker: wrong input removes it")
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


def work(run: RunDirectory, arguments: argparse.Namespace, signals: Signals, display: Display) -> int:
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic matrix products on GPUs
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve each other on a shared machine
    from core.train import train

    config = run.read_config()
    recorder = Recorder(run, config, say=display.notice)
    last: Event | None = None
    try:
        for event in train(
            config,
            data_dir=arguments.data_dir,
            checkpoint_dir=run.path,
            resume=arguments.resume,
            should_stop=signals.asked_to_stop,
            before_checkpoint=recorder.sync,
            progress=display.preparing,
        ):
            last = event
            recorder.record(event)
            display.show(event)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - failure is data: it is kept with the run, and told
        last = failure(error, last)
        recorder.record(last)
        display.show(last)
    finally:
        recorder.close()
        display.close()
    return exit_code(last, signals)


def failure(error: Exception, last: Event | None) -> Failed:
    """An exception as the run's last word, with the frames that led to it."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    places = "; ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    return Failed(
        iteration=getattr(last, "iteration", 0),
        message=f"{type(error).__name__}: {error} (at {places})",
        seconds=last.seconds if last else 0.0,
    )


def exit_code(last: Event | None, signals: Signals) -> int:
    if isinstance(last, Finished):
        return 0
    if isinstance(last, Failed):
        return 1
    return 128 + signals.received


if __name__ == "__main__":
    sys.exit(main())
