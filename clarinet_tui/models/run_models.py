"""The weights of a run: its final ones, those of an epoch that it kept, or those of its newest checkpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from clarinet_tui.runs.directory import RunDirectory, find_run, list_run_ids
from clarinet_tui.runs.environment import describe_environment, read_environment
from clarinet_tui.runs.journal import read_first_event
from core.errors import InputError
from core.models.model import SUFFIX, Model, epoch_file, load_model, model_from_checkpoint


def find_model(
    name: str,
    runs_dir: Path,
    epoch: int | None = None,
    device: str = "cpu",
    *,
    find: Callable[[Path, str], RunDirectory] = find_run,
) -> Model:
    """Return the model of a run, which `find` finds by its name, or of a file."""
    path = Path(name)
    if path.suffix != SUFFIX:
        if not path.exists() or any(run_id.startswith(name) for run_id in list_run_ids(runs_dir)):
            return load_run_model(find(runs_dir, name), epoch, device)
        if path.is_file():
            raise InputError(f"{name}: expected the id of a run, or a {SUFFIX} file of `clarinet save`")
    if epoch is not None:
        raise InputError("--epoch: only for runs; a file has the weights of one epoch")
    return load_model(name, device)


def load_run_model(run: RunDirectory, epoch: int | None = None, device: str = "cpu") -> Model:
    """Return a run's model, described with its id and its code."""
    if epoch is not None:
        epochs = kept_epochs(run)
        if epoch not in epochs:
            kept = f"it kept {', '.join(map(str, epochs))}" if epochs else 'train with checkpoints = "all" to keep them'
            raise InputError(f"run {run.id}: has no weights of epoch {epoch}: {kept}")
        model = load_model(run.path / epoch_file(epoch), device)
    elif run.model.exists():
        model = load_model(run.model, device)
    else:
        run.check_weights()
        model = model_from_checkpoint(run.path, run.read_config(), read_started(run), device)
    environment = describe_environment(read_environment(run))
    version = dict(environment.versions).get("clarinet-tui", "")[:100]
    commit = f"{environment.commit[:40]}{'+' if environment.patch else ''}" if environment.commit else ""
    model.info = msgspec.structs.replace(model.info, run=run.id, version=version, commit=commit)
    return model


def kept_epochs(run: RunDirectory) -> list[int]:
    """Return the epochs whose weights were kept, in order."""
    numbers = (path.stem.removeprefix("model-") for path in run.path.glob(f"model-*{SUFFIX}"))
    return sorted(int(number) for number in numbers if number.isdecimal())


def read_started(run: RunDirectory) -> dict[str, Any]:
    """Return the fields of the first event, which has classes, shape and sizes."""
    first = read_first_event(run.journal)
    if first is None or first["event"] != "started":
        raise InputError(f"{run.journal}: does not begin with the start of a run")
    return first
