"""`clarinet table`: the paper's board from history, for the terminal, a paper or another program."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clarinet_tui.cli.completion import preset_names, queries
from clarinet_tui.cli.open_history import open_history
from clarinet_tui.cli.options import RunsDir
from clarinet_tui.cli.output import quiet_pipe
from clarinet_tui.cli.places import RUNS

if TYPE_CHECKING:
    from clarinet_tui.evidence.board import Board
    from clarinet_tui.evidence.run_records import Archive

WIDE = 100
"""Columns of a file."""


class Format(StrEnum):
    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"
    JSON = "json"


class Select(StrEnum):
    """The names of `selection.RULES`, which takes longer to import."""

    LAST = "last"
    BEST = "best"
    RISK = "risk"
    INFORMATION = "information"


def table(
    query: Annotated[str, typer.Argument(help="Such as: tag:icml -seed:6..", autocompletion=queries)] = "",
    format: Annotated[Format, typer.Option(help="What to write.")] = Format.TERMINAL,  # noqa: A002
    select: Annotated[
        Select, typer.Option(help="Which epoch counts; best looks at target labels and is marked.")
    ] = Select.LAST,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Only runs of this preset; otherwise that of most finished runs.", autocompletion=preset_names
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds make a cell complete.")] = 5,
    out: Annotated[Path | None, typer.Option(help="A file to write to.")] = None,
    mix: Annotated[bool, typer.Option("--mix", help="Average runs of different protocols too, and mark them.")] = False,
    by_commit: Annotated[
        bool, typer.Option("--by-commit", help="Do not average runs that were started at different git commits.")
    ] = False,
    standalone: Annotated[bool, typer.Option("--standalone", help="LaTeX that compiles alone.")] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Show the paper's tables with what was measured here, mean ± std over seeds.

    Example: clarinet table --preset paper --format latex --out board.tex
    """
    from clarinet_tui.evidence.board import make_board
    from core.errors import InputError

    if standalone and format is not Format.LATEX:
        raise InputError("--standalone: only LaTeX can be a document; say --format latex too")
    board = make_board(
        archive(runs_dir), query, rule=select.value, preset=preset, seeds=seeds, mix=mix, by_commit=by_commit
    )
    with quiet_pipe():
        if format is Format.TERMINAL:
            _show(board, out)
        else:
            _write(_exported(board, format, standalone), out)


def archive(runs_dir: Path) -> "Archive":
    """All runs, with everything that the journals hold by now."""
    from clarinet_tui.evidence.run_records import Archive

    return Archive(open_history(runs_dir), runs_dir)


def _exported(board: "Board", format: Format, standalone: bool) -> str:  # noqa: A002
    if format is Format.LATEX:
        from clarinet_tui.evidence.board_latex import to_latex

        return to_latex(board, standalone=standalone)
    if format is Format.MARKDOWN:
        from clarinet_tui.evidence.board_markdown import to_markdown

        return to_markdown(board)
    from clarinet_tui.evidence.board_export import to_csv, to_json

    return to_json(board) if format is Format.JSON else to_csv(board)


def _show(board: "Board", out: Path | None) -> None:
    import io

    from rich.console import Console

    from clarinet_tui.evidence.terminal.board import board_view

    if out is None:
        console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
        console.print(board_view(board, console.width))
        return
    page = io.StringIO()
    Console(file=page, highlight=False, width=WIDE).print(board_view(board, WIDE))
    _write(page.getvalue(), out)


def _write(text: str, out: Path | None) -> None:
    if out is None:
        print(text, end="")
        return
    from clarinet_tui.runs.atomic_files import replace_file, told

    with told(out.parent):
        replace_file(out, text.encode())
    print(f"Written: {out}")
