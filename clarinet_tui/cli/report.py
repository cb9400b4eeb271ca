"""`clarinet report`: one HTML file with everything in the history."""

import time
from pathlib import Path
from typing import Annotated

from typer import Option

from clarinet_tui.cli.lookup import open_records
from clarinet_tui.cli.options import RUNS, PresetFilter, QueryWords, RunsDir, Select
from clarinet_tui.cli.output import quiet_pipe, write_file
from clarinet_tui.queue.sweep import run_command
from clarinet_tui.runs.files import as_input_error
from clarinet_tui.runs.lock import host_name
from core.resolve import minimal_settings


def report(
    out: Annotated[Path, Option(metavar="FILE.html", help="File to write.")],
    words: QueryWords = None,
    title: Annotated[str, Option(help="Heading of the report.")] = "CLARINET and its baselines",
    select: Select = "last",
    preset: PresetFilter = None,
    seeds: Annotated[int, Option(min=1, help="Seeds that make a cell of the board complete.")] = 5,
    runs_dir: RunsDir = RUNS,
    without_hosts: Annotated[bool, Option("--without-hosts", help="Leave out host names, for a public page.")] = False,
    patches: Annotated[bool, Option("--with-patches", help="Include uncommitted changes of your code.")] = False,
    typed: Annotated[
        bool, Option("--with-commands-as-typed", help="Include command lines as typed; they may hold secrets.")
    ] = False,
) -> None:
    """Write an HTML report with tables, figures and settings.

    The file needs no network: board, comparisons, figures, runs, settings and commands are all in it.

    Example: clarinet report "tag:icml" --out report.html
    """
    from clarinet_tui.analysis.report import make_report

    with as_input_error(out.parent):  # before the work
        out.parent.stat()
    page = make_report(
        open_records(runs_dir),
        " ".join(words or ()),
        title=title,
        written=time.time(),
        host=host_name(),
        command_of=lambda config: run_command(minimal_settings(config)),
        rule=select,
        preset=preset,
        typed=typed,
        patches=patches,
        seeds=seeds,
        hosts=not without_hosts,
    )
    with quiet_pipe():
        write_file(out, page.encode())
