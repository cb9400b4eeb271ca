"""`clarinet tui`: the app in this terminal."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, NoReturn

from typer import Argument, Option

from clarinet_tui.cli.completion import run_ids
from clarinet_tui.cli.options import DATA, RUNS, DataDir, RunsDir


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


def replace_process(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> NoReturn:
    """Replace this process with Python; -P ignores a package named `core` in the working directory."""
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-P", *arguments], dict(environment or os.environ))
