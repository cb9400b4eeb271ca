"""`clarinet diff`: what differs between two runs."""

from dataclasses import asdict
from itertools import groupby
from json import dumps as json_text
from operator import attrgetter
from typing import Annotated

from typer import Argument

from clarinet_tui.analysis.run_diff import diff_runs
from clarinet_tui.cli.completion import run_ids
from clarinet_tui.cli.options import RUNS, Json, RunsDir
from clarinet_tui.cli.output import make_console, print_json, quiet_pipe
from clarinet_tui.runs.directory import find_run
from clarinet_tui.text import printable, shorten

MAX_VALUE = 400


def diff(
    first: Annotated[str, Argument(metavar="A", help="Run id or unique prefix.", autocompletion=run_ids)],
    second: Annotated[str, Argument(metavar="B", help="The run to compare it with.", autocompletion=run_ids)],
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Show how settings, data, environment and code of two runs differ.

    Lines with - are those of A, lines with + those of B. Only what differs is printed.

    Example: clarinet diff 6e3 6f1
    """
    from rich.text import Text

    runs = find_run(runs_dir, first), find_run(runs_dir, second)
    differences, patch = diff_runs(*runs)
    with quiet_pipe():
        if json:
            objects = [asdict(difference) for difference in differences]
            print_json({"first": runs[0].id, "second": runs[1].id, "differences": objects, "patch": patch})
            return
        lines = [f"--- {runs[0].id}", f"+++ {runs[1].id}"]
        for group, same in groupby(differences, key=attrgetter("group")):
            lines.append(f"@@ {group} @@")
            for difference in same:
                for sign, value in (("-", difference.first), ("+", difference.second)):
                    if value is not None:
                        text = json_text(value, ensure_ascii=False, default=str)
                        lines.append(f"{sign}{difference.name} = {shorten(text, MAX_VALUE)}")
        if patch:
            lines += ["@@ uncommitted changes @@", *patch[2:]]
        if len(lines) == 2:
            lines = [f"{runs[0].id} and {runs[1].id} have the same settings, data, environment and code."]
        console, styles = make_console(), {"-": "red", "+": "green", "@": "cyan"}
        for line in lines:
            console.print(Text(printable(line), style=styles.get(line[:1], "")), soft_wrap=True)
