"""Trains the first iterations of a recorded run once more, and prints what they measured. Started by name."""

import argparse
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import versions
from clarinet_tui.runs.process import host_name
from clarinet_tui.verify.comparison import Repetition
from clarinet_tui.worker.display import jsonable
from clarinet_tui.worker.failure import failure
from clarinet_tui.worker.main import first_iterations, set_up
from core.errors import InputError
from core.events import Event, PseudoLabelled, Started, Stepped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def main() -> int:
    arguments = parse(sys.argv[1:])
    try:
        found = repeat(arguments)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001 - whatever it is, it cannot be trained here: that is the answer
        print(failure(error, None).message, file=sys.stderr)
        return 2
    print(msgspec.json.encode(jsonable(msgspec.to_builtins(found))).decode())
    return 0


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clarinet-verify", description=__doc__)
    parser.add_argument("id")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--labels", action="store_true", help="take the run's own pseudo-labels for stage 1")
    return parser.parse_args(words)


def repeat(arguments: argparse.Namespace) -> Repetition:
    set_up()
    run = RunDirectory(arguments.runs_dir, arguments.id)
    config = msgspec.structs.replace(run.read_config(), device=arguments.device)
    labels = own_labels(run).tolist() if arguments.labels else None
    return told(first_iterations(config, arguments.data_dir, labels, arguments.iterations))


def told(events: Iterable[Event]) -> Repetition:
    """What there is to compare with the record."""
    import torch

    surroundings = {"host": host_name(), "python": platform.python_version(), **versions()}
    label_hash = pseudo_label_hash = ""
    iterations: dict[int, Mapping[str, float | str]] = {}
    for event in events:
        match event:
            case Started():
                label_hash = event.label_hash
                surroundings |= {"device": event.device, "threads": str(torch.get_num_threads())}
            case PseudoLabelled():
                pseudo_label_hash = event.label_hash
            case Stepped():
                iterations[event.iteration] = event.measured
    return Repetition(
        label_hash=label_hash, pseudo_label_hash=pseudo_label_hash, iterations=iterations, surroundings=surroundings
    )


def own_labels(run: RunDirectory) -> "NDArray[np.int64]":
    """The file may be of anybody: it is read as numbers, and nothing else."""
    import numpy as np

    try:
        number = os.open(run.pseudo_labels, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            labels: NDArray[np.int64] = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{run.pseudo_labels}: its stage 1 was made elsewhere, and its labels are gone: {error}"
        ) from None
    if labels.dtype != np.int64 or labels.ndim != 1:
        raise InputError(f"{run.pseudo_labels}: is no list of labels")
    return labels


if __name__ == "__main__":
    sys.exit(main())
