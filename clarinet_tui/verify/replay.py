"""Train the first iterations of a recorded run again and print their metrics; started with python -m."""

import argparse
import platform
import sys
from pathlib import Path

import msgspec

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import versions
from clarinet_tui.runs.files import UnreadableFileError, read_file
from clarinet_tui.runs.journal import encode_non_finite
from clarinet_tui.runs.lock import host_name
from clarinet_tui.runs.stage1 import MAX_LABEL_BYTES, decode_labels
from clarinet_tui.verify.comparison import Replay
from clarinet_tui.worker.failure import make_failed
from clarinet_tui.worker.main import configure_torch, train_first_iterations
from core.errors import InputError
from core.events import PseudoLabelled, Started, Stepped


def main() -> int:
    parser = argparse.ArgumentParser(prog="clarinet-verify", description=__doc__)
    parser.add_argument("id")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--labels", action="store_true", help="use the run's stored pseudo-labels instead of stage 1")
    arguments = parser.parse_args()
    try:
        result = replay(arguments)
    except Exception as error:  # noqa: BLE001 - any error means that the run cannot be trained here
        print(make_failed(error, None).message, file=sys.stderr)
        return 2
    print(msgspec.json.encode(encode_non_finite(msgspec.to_builtins(result))).decode())
    return 0


def replay(arguments: argparse.Namespace) -> Replay:
    """Train the iterations and collect what is compared with the recorded run."""
    configure_torch()
    import torch

    run = RunDirectory(arguments.runs_dir, arguments.id)
    config = msgspec.structs.replace(run.read_config(), device=arguments.device)
    labels: list[int] | None = None
    if arguments.labels:
        try:
            labels = decode_labels(read_file(run.pseudo_labels, MAX_LABEL_BYTES), run.pseudo_labels).tolist()
        except UnreadableFileError as error:
            reason = "cannot be read, but another run made this run's stage 1"
            raise InputError(f"{run.pseudo_labels}: {reason}: {error.reason}") from None
    environment = {"host": host_name(), "python": platform.python_version(), **versions()}
    result = Replay(label_hash="", pseudo_label_hash="", iterations={}, environment=environment)
    for event in train_first_iterations(config, arguments.data_dir, labels, arguments.iterations):
        match event:
            case Started():
                result.label_hash = event.label_hash
                environment |= {"device": event.device, "threads": str(torch.get_num_threads())}
            case PseudoLabelled():
                result.pseudo_label_hash = event.label_hash
            case Stepped():
                result.iterations[event.iteration] = event.metrics
    return result


if __name__ == "__main__":
    sys.exit(main())
