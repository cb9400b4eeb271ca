"""`clarinet tui` and `clarinet serve`: the app in this terminal, or in a browser."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Annotated, NoReturn

from typer import Argument, Option

from clarinet_tui.cli.completion import run_ids
from clarinet_tui.cli.options import DATA, RUNS, DataDir, RunsDir
from core.errors import InputError


def tui(
    ids: Annotated[
        list[str] | None, Argument(metavar="RUN", help="Show this run, or overlay several.", autocompletion=run_ids)
    ] = None,
    fps: Annotated[str | None, Option(metavar="N", help="Updates per second; fewer over a slow connection.")] = None,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> NoReturn:
    """Open the terminal app; the same as clarinet-tui.

    Closing it does not stop any run.

    Example: clarinet tui 6e3
    """
    options = [f"--runs-dir={runs_dir}", f"--data-dir={data_dir}", *([] if fps is None else [f"--fps={fps}"])]
    replace_process(["-m", "clarinet_tui.ui.main", *options, *(ids or [])])


def serve(
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8000,
    host: Annotated[str, Option(help="Loopback address to listen on: 127.0.0.1 or ::1.")] = "127.0.0.1",
    no_token: Annotated[
        bool, Option("--no-token", help="Require no token: every user of this machine can control your runs.")
    ] = False,
    read_only: Annotated[
        bool, Option("--read-only", help="Only show runs: the browser can start, stop and change nothing.")
    ] = False,
    sessions: Annotated[int, Option(min=1, max=100, help="Largest number of open tabs, each with an app.")] = 8,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Serve the terminal app to a browser on this machine.

    It listens on the loopback address only; from another machine, use the printed ssh -L command. The address contains
    a token: without --read-only, its holder can start programs as you. Runs continue when the server stops.

    Example: clarinet serve --port 8000 --read-only
    """
    require_serve()
    arguments = [f"--host={host}", f"--port={port}", f"--runs-dir={runs_dir}", f"--data-dir={data_dir}"]
    flags = {"--no-token": no_token, "--read-only": read_only}
    arguments += [f"--sessions={sessions}", *(flag for flag, is_set in flags.items() if is_set)]
    replace_process(["-m", "clarinet_tui.ui.serve.server", *arguments])


def require_serve() -> None:
    """Raise InputError if the extra [serve] is not installed."""
    if find_spec("textual_serve") is None or find_spec("aiohttp") is None:
        raise InputError("textual-serve is not installed: pip install 'clarinet-tui[serve]'")


def replace_process(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> NoReturn:
    """Replace this process with Python; -P ignores a package named `core` in the working directory."""
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-P", *arguments], dict(environment or os.environ))
