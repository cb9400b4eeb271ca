"""`clarinet report`: everything that was found, in one HTML file that can be sent to anybody."""

from pathlib import Path
from typing import Annotated

import typer

from clarinet_tui.cli.completion import preset_names, queries
from clarinet_tui.cli.options import RunsDir
from clarinet_tui.cli.output import quiet_pipe
from clarinet_tui.cli.places import RUNS
from clarinet_tui.cli.table import Select, archive


def report(
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="The file to write.")],
    query: Annotated[str, typer.Argument(help="Such as: tag:icml preset:quick", autocompletion=queries)] = "",
    title: Annotated[str, typer.Option(help="The report's heading.")] = "CLARINET and its baselines",
    select: Annotated[
        Select, typer.Option(help="Which epoch counts; best looks at target labels and is marked.")
    ] = Select.LAST,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Board and figures of this preset; otherwise that of most finished runs.", autocompletion=preset_names
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds make a cell of the board complete.")] = 5,
    without_hosts: Annotated[
        bool, typer.Option("--without-hosts", help="Name no machine: for a page that everybody may read.")
    ] = False,
    patches: Annotated[
        bool, typer.Option("--with-patches", help="Also uncommitted changes of the folders where runs were started.")
    ] = False,
    typed: Annotated[
        bool, typer.Option("--with-commands-as-typed", help="Also command lines as typed, which may hold secrets.")
    ] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Write board, comparisons, figures, runs, settings and commands as one HTML file that needs no network.

    Example: clarinet report "tag:icml" --out report.html
    """
    import time

    from clarinet_tui.evidence.report.content import make_report
    from clarinet_tui.evidence.report.html import to_html
    from clarinet_tui.queue.sweep import run_command
    from clarinet_tui.runs.atomic_files import replace_file, told
    from clarinet_tui.runs.process import host_name
    from core.resolve import settings_of

    with told(out.parent):
        out.parent.stat()  # before the work, not after it
    made = make_report(
        archive(runs_dir),
        query,
        title=title,
        written=time.time(),
        host=host_name(),
        command_of=lambda config: run_command(settings_of(config)),
        rule=select.value,
        preset=preset,
        typed=typed,
        patches=patches,
        seeds=seeds,
        hosts=not without_hosts,
    )
    page = to_html(made).encode()
    with told(out.parent):
        replace_file(out, page)
    with quiet_pipe():
        print(f"Written: {out}")
