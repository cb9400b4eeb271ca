"""`clarinet run`: one run, here and now."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clarinet_tui.cli.options import DATA, RUNS, DataDir, Json, RunsDir
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.journal.directory import RunDirectory
    from core.config import RunConfig


def run(
    file: Annotated[Path | None, typer.Argument(help="A TOML file of settings.")] = None,
    method: Annotated[str | None, typer.Option(help="clarinet, gac+cdan-e, …")] = None,
    task: Annotated[str | None, typer.Option(help='"M->U", or "path/to/source->path/to/target".')] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random stream.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda:0.")] = None,
    preset: Annotated[str | None, typer.Option(help="paper, literal, quick or smoke.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Adaptation epochs.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting.")] = None,
    headless: Annotated[bool, typer.Option("--headless", help="Train in this terminal or batch job.")] = False,
    resume: Annotated[str | None, typer.Option(metavar="ID", help="Go on with a stopped run.")] = None,
    run_id: Annotated[str | None, typer.Option(metavar="ID", help="Use this id; go on if the run is there.")] = None,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Train one run, record it, and exit with 0 (done), 1 (failed), 2 (wrong use), 130 or 143 (stopped).

    Example: clarinet run --headless --method clarinet --task "M->U" --preset quick --seed 1
    """
    from clarinet_tui.journal.directory import find_run

    flags = {"method": method, "task": task, "seed": seed, "device": device, "preset": preset, "epochs": epochs}
    given = {name: value for name, value in flags.items() if value is not None}
    if not headless and not sys.stdout.isatty():
        raise InputError("run: there is no terminal to open the app in; say --headless")
    if resume:
        if given or set_ or file or run_id:
            raise InputError("--resume: goes on with the run's own settings, so that no others can be given")
        found = find_run(runs_dir, resume)
        start_worker(found, data_dir, headless, json, resume=found.has_checkpoint)  # without one, from the beginning
        return
    config = configure(file, given, set_ or [])
    made, resuming = make_or_find(runs_dir, config, run_id)
    start_worker(made, data_dir, headless, json, resume=resuming)


def tui(context: typer.Context) -> None:
    """Open the terminal app; the same as clarinet-tui.

    Example: clarinet tui
    """
    become("-m", "clarinet_tui.ui.main", *context.args)


def configure(file: Path | None, flags: dict[str, Any], pairs: list[str]) -> "RunConfig":
    """The file's settings, then flags, then --set, each checked under its own name."""
    from core.config import merge
    from core.resolve import resolve

    settings = read_toml(file) if file else {}
    if file:
        resolve(settings, place=str(file))
    for pair in pairs:
        flags = merge(flags, parse_pair(pair))
    return resolve(merge(settings, flags), place="command line")


def read_toml(file: Path) -> dict[str, Any]:
    import tomli

    try:
        with file.open("rb") as opened:
            return tomli.load(opened)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}") from None


def parse_pair(pair: str) -> dict[str, Any]:
    """`stage1.epochs=3` as a table; a value that is no TOML is text."""
    import tomli

    key, equals, text = pair.partition("=")
    if not equals or not key.strip():
        raise InputError(f'--set: expected KEY=VALUE, got "{pair}"')
    try:
        value = tomli.loads(f"value = {text}")["value"]
    except tomli.TOMLDecodeError:
        value = text
    for part in reversed(key.strip().split(".")):
        value = {part: value}
    settings: dict[str, Any] = value
    return settings


def make_or_find(runs_dir: Path, config: "RunConfig", run_id: str | None) -> "tuple[RunDirectory, bool]":
    """A new run; or, for a job that was requeued under the same id, the one that is there."""
    from clarinet_tui.journal.directory import RunDirectory

    if run_id and RunDirectory(runs_dir, run_id).config.exists():
        found = RunDirectory(runs_dir, run_id)
        if found.read_config() != config:
            raise InputError(f"--run-id: run {run_id} has other settings than those given here")
        return found, found.has_checkpoint
    return RunDirectory.create(runs_dir, config, id=run_id), False


def start_worker(run: "RunDirectory", data_dir: Path, headless: bool, json: bool, resume: bool) -> None:
    """Become the worker: same pid, signals and exit code. Without --headless, start it apart and open the app on it."""
    words = worker_words(run, data_dir, json=json, resume=resume)
    if headless:
        become(*words)
    with run.log.open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-P", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    become("-m", "clarinet_tui.ui.main", "--runs-dir", str(run.runs_dir), run.id)


def worker_words(run: "RunDirectory", data_dir: Path, *, json: bool, resume: bool) -> list[str]:
    """The worker of a run, as words for Python."""
    words = ["-m", "clarinet_tui.launch.worker", run.id]
    words += ["--runs-dir", str(run.runs_dir), "--data-dir", str(data_dir)]
    flags = {"--json": json, "--resume": resume, "--fresh": not run.journal.exists()}
    return words + [flag for flag, given in flags.items() if given]


def become(*words: str) -> None:
    """Replace this process; -P keeps a folder called `core` where the user stands from being imported."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", *words])
