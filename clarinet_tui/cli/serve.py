"""`clarinet serve`: the app in a browser."""

from importlib.util import find_spec
from typing import Annotated

from typer import Option

from clarinet_tui.cli.options import DATA, RUNS, DataDir, RunsDir
from clarinet_tui.cli.tui import replace_process
from core.errors import InputError


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
