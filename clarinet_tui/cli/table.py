"""`clarinet table` and `clarinet report`: the paper's tables with the results in the history, alone or in a report."""

import io
import time
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from clarinet_tui.analysis.board import make_board
from clarinet_tui.analysis.board_table import board_view, to_csv, to_json, to_latex, to_markdown
from clarinet_tui.cli.lookup import open_records
from clarinet_tui.cli.options import RUNS, PresetFilter, QueryWords, RunsDir, Select
from clarinet_tui.cli.output import make_console, quiet_pipe, write_file
from clarinet_tui.queue.sweep import run_command
from clarinet_tui.runs.files import as_input_error
from clarinet_tui.runs.lock import host_name
from core.errors import InputError
from core.resolve import minimal_settings

Format = Literal["terminal", "markdown", "latex", "csv", "json"]
WIDTH = 100


def table(
    words: QueryWords = None,
    format: Annotated[Format, Option(help="Output format.")] = "terminal",  # noqa: A002
    select: Select = "last",
    preset: PresetFilter = None,
    seeds: Annotated[int, Option(min=1, help="Seeds that make a cell complete.")] = 5,
    out: Annotated[Path | None, Option(metavar="FILE", help="Write to this file.")] = None,
    by_commit: Annotated[
        bool, Option("--by-commit", help="Do not average runs that were started at different git commits.")
    ] = False,
    standalone: Annotated[
        bool, Option("--standalone", help="Write a LaTeX document instead of a table to include.")
    ] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Print the paper's tables with your results.

    Each cell is the mean ± standard deviation over seeds.

    Example: clarinet table --preset paper --format latex --out board.tex
    """
    if standalone and format != "latex":
        raise InputError("--standalone: needs --format latex")
    records, query = open_records(runs_dir), " ".join(words or ())
    board = make_board(records, query, rule=select, preset=preset, seeds=seeds, by_commit=by_commit)
    with quiet_pipe():
        if format == "terminal":
            from rich.console import Console

            console = make_console(WIDTH) if out is None else Console(record=True, file=io.StringIO(), width=WIDTH)
            console.print(board_view(board, console.width))
            text = console.export_text() if out is not None else ""
        elif format == "latex":
            text = to_latex(board, standalone=standalone)
        else:
            text = {"markdown": to_markdown, "csv": to_csv, "json": to_json}[format](board)
        if out is not None:
            write_file(out, text.encode())
        else:
            print(text, end="")


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
