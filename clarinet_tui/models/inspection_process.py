"""The process that the app starts to inspect a run, or to read samples of a task: the app itself loads no model."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from clarinet_tui.models.picture_choice import SAMPLES, choose_samples
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.inspection_file import InspectionReport, Picture, write_inspection
from core.config import RunConfig
from core.data.digit_domains import find_domain_files
from core.data.images import ProgressCallback
from core.data.load import load_task
from core.errors import InputError
from core.tasks import parse_task

SECONDS = 0.1
"""Between two reports of progress."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Report on standard output; exit with 2 after an error in what was given."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=("inspect", "samples"))
    parser.add_argument("--run", default="")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"))
    parser.add_argument("--data-dir", type=Path, required=True)
    options = parser.parse_args(arguments)
    try:
        if options.work == "inspect":
            run, progress = RunDirectory(options.runs_dir, options.run), _progress()
            progress("Loading the model", 0, 1)
            run.check_weights()
            from clarinet_tui.models.inspection import Inspector  # imports torch

            write_inspection(run, Inspector(run, options.data_dir, progress).inspect())
        else:
            config = msgspec.json.decode(sys.stdin.buffer.read(), type=RunConfig)
            _send(InspectionReport(pictures=read_samples(config, options.data_dir)))
    except InputError as error:
        _send(InspectionReport(error=str(error)))
        sys.exit(2)


def read_samples(config: RunConfig, data_dir: Path) -> tuple[Picture, ...]:
    """Return source images with the labels that training would use, and target images; generates no data."""
    task = parse_task(config.task)
    for domain in (task.source, task.target):
        if not domain.is_custom and find_domain_files(domain.name, data_dir) is None:
            raise InputError(f"{domain.title} is missing")
    sizes = dict.fromkeys(("source_size", "target_size", "test_size"), SAMPLES)
    data = load_task(msgspec.structs.replace(config, source_fraction=1.0, **sizes), data_dir)
    source = choose_samples(data.source_train, "source", data.classes)
    return (*source, *choose_samples(data.target_train, "target", data.classes))


def _progress() -> ProgressCallback:
    last = ("", 0.0)

    def report(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if what != last[0] or now - last[1] >= SECONDS:
            last = what, now
            _send(InspectionReport(what, done, total))

    return report


def _send(report: InspectionReport) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
