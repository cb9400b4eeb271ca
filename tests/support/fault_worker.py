"""A worker that trains nothing: it locks its run, records events with the real recorder, and saves checkpoints.

The run's name sets its behaviour: steps=100 pause=0.01 saves=0.5 end=finished. It takes the real worker's arguments.
"""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from clarinet_tui.devices.gpu_lock import GpuInUseError
from clarinet_tui.queue.supervisor import GPU_IN_USE
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.worker.hardware import hold_first_gpu
from clarinet_tui.worker.recorder import Recorder
from core.events import Checkpointed, Failed, Finished, Stopped
from tests.support.events import evaluation, resumed, started, step

STARTS_FILE = "begun"
"""One line for each worker that locked the run: its pid, its visible GPUs and its device."""


def main() -> int:
    arguments = sys.argv[1:]
    run = RunDirectory(Path(arguments[arguments.index("--runs-dir") + 1]), arguments[0])
    behaviour = dict(pair.split("=") for pair in run.read_config().name.split())
    signals: list[int] = []

    def request_stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        signals.append(number)

    time.sleep(float(behaviour.get("late", 0)))
    if "dies" in behaviour:
        return int(behaviour["dies"])
    signal.signal(signal.SIGTERM, request_stop)
    keys = [argument.removeprefix("--gpu=") for argument in arguments if argument.startswith("--gpu=")]
    gpu = hold_first_gpu(run, keys, queued="--queued" in arguments, share="--share-gpu" in arguments)
    try:
        with run.hold_lock(), gpu:
            with (run.path / STARTS_FILE).open("a") as file:
                device = arguments[arguments.index("--device") + 1]
                file.write(f"{os.getpid()} {os.environ.get('CUDA_VISIBLE_DEVICES')} {device}\n")
            return write_journal(run, behaviour, signals, "--resume" in arguments)
    except GpuInUseError as error:
        print(error)
        return GPU_IN_USE


def write_journal(run: RunDirectory, behaviour: dict[str, str], signals: list[int], resume: bool) -> int:
    recorder = Recorder(run, run.read_config(), print)
    try:
        iteration = int(run.checkpoint.read_text()) if resume else 0
        total = int(behaviour.get("steps", 100))
        recorder.record(resumed(iteration) if resume else started(iterations_total=total))
        while iteration < total and not signals:
            iteration += 1
            recorder.record(step(iteration))
            if iteration % 10 == 0:
                recorder.record(evaluation(iteration, float(iteration)))
                save_checkpoint(run, recorder, iteration)
            time.sleep(float(behaviour.get("pause", 0.01)))
        if signals:
            time.sleep(float(behaviour.get("saves", 0)))
            save_checkpoint(run, recorder, iteration)
            recorder.record(Stopped(iteration=iteration))
            return 128 + signals[0]
        if behaviour.get("end") == "failed":
            recorder.record(Failed(iteration=iteration, message="requested failure", kind="RuntimeError"))
            return 1
        recorder.record(Finished(iteration=iteration, epoch=1, target_accuracy=None, source_accuracy=None))
        return 0
    finally:
        recorder.close()


def save_checkpoint(run: RunDirectory, recorder: Recorder, iteration: int) -> None:
    recorder.sync()
    temporary = run.path / ".saving"
    temporary.write_text(str(iteration))
    temporary.replace(run.checkpoint)
    recorder.record(Checkpointed(iteration=iteration, path=run.checkpoint.name))


if __name__ == "__main__":
    sys.exit(main())
