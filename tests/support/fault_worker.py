"""A worker that trains nothing: it holds its run, says what runs say through the real recorder, and saves itself.

What it does is written in its run's name: steps=100 pause=0.01 saves=0.5 end=finished. Started as the real worker is.
"""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.worker.recorder import Recorder
from core.events import Checkpointed, Failed, Finished, Stopped
from tests.support.events import evaluation, resumed, started, step

STARTS_FILE = "begun"
"""One line for each worker that held the run: its pid and the GPUs that it saw."""


def main() -> int:
    words = sys.argv[1:]
    run = RunDirectory(Path(words[words.index("--runs-dir") + 1]), words[0])
    wishes = dict(word.split("=") for word in run.read_config().name.split())
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        asked.append(number)

    time.sleep(float(wishes.get("late", 0)))
    if "dies" in wishes:
        return int(wishes["dies"])
    signal.signal(signal.SIGTERM, ask)
    with run.hold_lock():
        with (run.path / STARTS_FILE).open("a") as file:
            file.write(f"{os.getpid()} {os.environ.get('CUDA_VISIBLE_DEVICES')} {words[words.index('--device') + 1]}\n")
        return write_journal(run, wishes, asked, "--resume" in words)


def write_journal(run: RunDirectory, wishes: dict[str, str], asked: list[int], resume: bool) -> int:
    recorder = Recorder(run, run.read_config(), print)
    try:
        at = int(run.checkpoint.read_text()) if resume else 0
        total = int(wishes.get("steps", 100))
        recorder.record(resumed(at) if resume else started(iterations_total=total))
        while at < total and not asked:
            at += 1
            recorder.record(step(at))
            if at % 10 == 0:
                recorder.record(evaluation(at, float(at)))
                save_checkpoint(run, recorder, at)
            time.sleep(float(wishes.get("pause", 0.01)))
        if asked:
            time.sleep(float(wishes.get("saves", 0)))
            save_checkpoint(run, recorder, at)
            recorder.record(Stopped(iteration=at))
            return 128 + asked[0]
        if wishes.get("end") == "failed":
            recorder.record(Failed(iteration=at, message="as it was told to", kind="RuntimeError"))
            return 1
        recorder.record(Finished(iteration=at, epoch=1, target_accuracy=None, source_accuracy=None))
        return 0
    finally:
        recorder.close()


def save_checkpoint(run: RunDirectory, recorder: Recorder, at: int) -> None:
    recorder.sync()
    beside = run.path / ".saving"
    beside.write_text(str(at))
    beside.replace(run.checkpoint)
    recorder.record(Checkpointed(iteration=at, path=run.checkpoint.name))


if __name__ == "__main__":
    sys.exit(main())
