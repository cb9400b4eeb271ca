"""`clarinet run`: one run, here and now."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from clarinet_tui.cli.completion import method_names, preset_names, run_ids, task_names
from clarinet_tui.cli.options import DataDir, Json, OnAlarm, RunsDir, Settings, alarm_words
from clarinet_tui.cli.places import DATA, RUNS
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.devices.local import Device
    from clarinet_tui.queue.requests import Wishes
    from clarinet_tui.runs.directory import RunDirectory
    from core.config import RunConfig


def run(
    file: Annotated[Path | None, typer.Argument(help="A TOML file of settings.")] = None,
    method: Annotated[str | None, typer.Option(help="clarinet, gac+cdan-e, …", autocompletion=method_names)] = None,
    task: Annotated[
        str | None, typer.Option(help='"M->U", or "path/to/source->path/to/target".', autocompletion=task_names)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random stream.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda:0 or a GPU's UUID.")] = None,
    preset: Annotated[
        str | None, typer.Option(help="paper, literal, quick or smoke.", autocompletion=preset_names)
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Adaptation epochs.")] = None,
    set_: Settings = None,
    headless: Annotated[bool, typer.Option("--headless", help="Train in this terminal or batch job.")] = False,
    resume: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on with a stopped run.", autocompletion=run_ids)
    ] = None,
    run_id: Annotated[str | None, typer.Option(metavar="ID", help="Use this id; go on if the run is there.")] = None,
    on_alarm: OnAlarm = None,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Train one run. Without --headless it is queued, and the app opens on it: closing that is harmless.

    With --headless it ends with exit code 0 (done), 1 (failed), 2 (wrong use), 130 or 143 (stopped).

    Example: clarinet run --headless --method clarinet --task "M->U" --preset quick --seed 1
    """
    from clarinet_tui.queue.requests import Wishes, cores_for, enqueue, refuse_absent
    from clarinet_tui.runs.directory import RunDirectory, find_run

    flags = {"method": method, "task": task, "seed": seed, "device": device, "preset": preset, "epochs": epochs}
    given = {name: value for name, value in flags.items() if value is not None}
    if not headless and not sys.stdout.isatty():
        raise InputError("run: there is no terminal to open the app in; say --headless")
    wishes = Wishes(data_dir, Path.cwd(), on_alarm=alarm_words(on_alarm))
    if resume:
        if given or set_ or file or run_id:
            raise InputError("--resume: goes on with the run's own settings, so that no others can be given")
        go_on(find_run(runs_dir, resume), wishes, headless, json)
    known = find_known(runs_dir, run_id)
    if known:  # on a machine that may have more cores than the one before, or fewer
        if known.read_config() != configure(file, given, set_ or [], known.read_config().threads):
            raise InputError(f"--run-id: run {known.id} has other settings than those given here")
        go_on(known, wishes, headless, json)
    config = configure(file, given, set_ or [], None if headless else cores_for(runs_dir, device or "auto"))
    if headless:
        chosen = claim_device(config.device)
        become_worker(RunDirectory.create(runs_dir, config, id=run_id), wishes, json, chosen)
    refuse_absent([config.device])
    made = RunDirectory.create(runs_dir, config, id=run_id)
    enqueue([made], wishes)
    open_app(made, data_dir)


def go_on(run: "RunDirectory", wishes: "Wishes", headless: bool, json: bool) -> NoReturn:
    """With a run that is there: in this process, or from the queue."""
    from clarinet_tui.queue.requests import resume

    if headless:
        become_worker(run, wishes, json, claim_device(run.read_config().device))
    resume([run], wishes)
    open_app(run, wishes.data_dir)


def tui(context: typer.Context) -> None:
    """Open the terminal app; the same as clarinet-tui.

    Example: clarinet tui
    """
    become(["-m", "clarinet_tui.ui.main", *context.args])


def configure(file: Path | None, flags: dict[str, Any], pairs: list[str], cores: int | None = None) -> "RunConfig":
    """The file's settings, then flags, then --set, each checked under its own name."""
    from core.config import merge
    from core.resolve import resolve

    settings = read_toml(file) if file else {}
    if file:
        resolve(settings, place=str(file))
    for pair in pairs:
        flags = merge(flags, parse_pair(pair))
    return resolve(merge(settings, flags), place="command line", cores=cores)


def read_toml(file: Path) -> dict[str, Any]:
    import tomli

    from clarinet_tui.runs.directory import LARGEST_CONFIG

    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST_CONFIG + 1)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    if len(content) > LARGEST_CONFIG:
        raise InputError(f"{file}: larger than 1 MB, which no settings are")
    try:
        return tomli.loads(content.decode())
    except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}") from None
    except RecursionError:
        raise InputError(f"{file}: its tables are nested too deep") from None


def parse_pair(pair: str) -> dict[str, Any]:
    """`stage1.epochs=3` as a table."""
    from clarinet_tui.queue.sweep import nested

    key, equals, text = pair.partition("=")
    if not equals or not key.strip():
        raise InputError(f'--set: expected KEY=VALUE, got "{pair}"')
    return nested(key.strip(), read_value(text))


def read_value(text: str) -> Any:
    """A value as TOML has it; what is no TOML is text."""
    import tomli

    try:
        return tomli.loads(f"value = {text}")["value"]
    except tomli.TOMLDecodeError:
        return text


def find_known(runs_dir: Path, run_id: str | None) -> "RunDirectory | None":
    """For a job that was requeued under the same id: the run that is there."""
    from clarinet_tui.runs.directory import RunDirectory

    if not run_id:
        return None
    run = RunDirectory(runs_dir, run_id)
    return run if run.config.exists() else None


def claim_device(request: str) -> "Device | None":
    """Where a run of this terminal or batch job computes; None leaves it to torch."""
    from clarinet_tui.devices.local import candidates, list_devices, why_not_free

    devices = list_devices(seconds=0)
    if request == "cpu" or (request == "auto" and len(devices) == 1):
        return None
    reasons = []
    possible = candidates(request, devices)
    for device in possible:
        if (why := why_not_free(device)) is None:
            return device
        reasons.append(why)
    if request == "auto":
        raise InputError(f"device: none is free ({'; '.join(reasons)}): wait, or say --device {possible[0].label}")
    return possible[0]  # named by the user, who knows that others are there


def become_worker(run: "RunDirectory", wishes: "Wishes", json: bool, device: "Device | None" = None) -> NoReturn:
    """The same process: same pid, signals and exit code."""
    from clarinet_tui.devices.local import worker_device, worker_environment
    from clarinet_tui.queue.executor import worker_words

    fresh = not run.journal.exists()
    words = worker_words(run, wishes.data_dir, json=json, fresh=fresh, on_alarm=wishes.on_alarm)
    if device is None:
        become(words)
    become([*words, "--device", worker_device(device)], worker_environment(device))


def open_app(run: "RunDirectory", data_dir: Path) -> NoReturn:
    places = ["--runs-dir", str(run.runs_dir), "--data-dir", str(data_dir)]
    become(["-m", "clarinet_tui.ui.main", *places, run.id])


def become(words: Sequence[str], environment: Mapping[str, str] | None = None) -> NoReturn:
    """Replace this process; -P keeps a folder called `core` where the user stands from being imported."""
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-P", *words], dict(environment or os.environ))
