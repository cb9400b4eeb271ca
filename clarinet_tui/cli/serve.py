"""`clarinet serve`: the terminal app in a browser."""

from typing import Annotated

import typer

from clarinet_tui.cli.options import DataDir, RunsDir
from clarinet_tui.cli.places import DATA, RUNS
from clarinet_tui.cli.run import become


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any that is free.")] = 8000,
    host: Annotated[str, typer.Option(help="127.0.0.1 or ::1; no other machine can reach the page.")] = "127.0.0.1",
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let other users of this machine in, too: they can do all that you can.")
    ] = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Show the terminal app in a browser. From another machine, reach it with ssh -L, as it says. Runs outlive it.

    Example: clarinet serve --port 8000
    """
    words = [f"--host={host}", f"--port={port}", f"--runs-dir={runs_dir}", f"--data-dir={data_dir}"]
    become(["-m", "clarinet_tui.ui.serve.server", *words, *(["--no-token"] if no_token else [])])
