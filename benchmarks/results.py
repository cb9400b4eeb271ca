"""Write the results on real digits to docs/results: board, figures, comparison, report and a table of all runs.

clarinet sweep --methods basset,fwd+basset,gac+cdan-e --tasks "M->U" --seeds 6..10 --preset quick --runs-dir RUNS
python -m benchmarks.results RUNS
"""

import argparse
import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

from benchmarks.results_page import fill_page
from clarinet_tui.cli.main import app
from clarinet_tui.runs.lock import host_name
from core.errors import InputError

FOLDER = Path("docs/results")
COMPARISON = "comparison.txt"
FIGURE_QUERY = "task:U->M,M->U method!=clarinet-ce"
"""The tasks with several seeds; the accuracy of clarinet-ce is near zero and would compress the axis."""
MAX_SIZE = 1_500_000
"""Bytes of one file, to keep the repository small."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs_dir", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds that complete a cell of the board")
    parser.add_argument("--query", default="", help="only runs that match")
    parser.add_argument("--out", type=Path, default=FOLDER, help="a folder; the page is beside it, with suffix .md")
    arguments = parser.parse_args()
    write_results(arguments.runs_dir, arguments.out, seeds=arguments.seeds, query=arguments.query)


def write_results(runs_dir: Path, folder: Path = FOLDER, *, seeds: int = 3, query: str = "") -> None:
    """Run the commands that the page lists, fill the page, and refuse files that name this machine."""
    commands, page = [], folder.with_suffix(".md")
    for arguments, file in result_commands(folder, seeds, query):
        output = io.StringIO()
        with redirect_stdout(output):
            app([*arguments, "--runs-dir", str(runs_dir)], standalone_mode=False)
        redirection = f" > {file}" if file.name == COMPARISON else ""
        if redirection:
            file.write_text(output.getvalue())
        command = f"clarinet {shlex.join(arguments)} --runs-dir RUNS{redirection}"
        commands.append(command.replace(f"{folder}/", "docs/results/"))
    fill_page(page, runs_dir, query, commands)
    for file in (page, *sorted(folder.iterdir())):
        check_file(file, runs_dir)
        print(f"{file} {file.stat().st_size / 1000:.0f} kB")


def result_commands(folder: Path, seeds: int, query: str) -> list[tuple[list[str], Path]]:
    """Return the arguments of each command and the file that it writes."""
    queries = [query] if query else []
    board = ["table", *queries, "--seeds", str(seeds), "--format"]
    outputs = [
        ([*board, "markdown"], "board.md"),
        ([*board, "latex", "--standalone"], "board.tex"),
        ([*board, "csv"], "board.csv"),
        (["plot", "accuracy", f"{query} {FIGURE_QUERY}".strip(), "--x", "samples"], "accuracy.svg"),
        (["report", *queries, "--seeds", str(seeds), "--without-hosts"], "report.html"),
    ]
    commands = [([*arguments, "--out", str(folder / name)], folder / name) for arguments, name in outputs]
    one, two = (f"{query} family:{family}".strip() for family in ("one-step", "two-step"))
    return [*commands, (["compare", "--one-step", one, "--two-step", two], folder / COMPARISON)]


def check_file(file: Path, runs_dir: Path) -> None:
    """Refuse a published file that is large or contains the host name or a path of this machine."""
    if file.stat().st_size > MAX_SIZE:
        raise InputError(f"{file}: is larger than {MAX_SIZE / 1e6} MB")
    paths = {str(Path.home()), str(Path.cwd()), str(runs_dir.absolute().parent)} - {"/"}
    text = file.read_text(encoding="utf-8")
    for name in (re.escape(name) for name in (*sorted(paths), host_name())):
        if match := re.search(rf"(?<![\w-]){name}(?![\w-])", text):
            excerpt = text[max(0, match.start() - 40) : match.end() + 40]
            raise InputError(f"{file}: contains a name of this machine: {excerpt!a}")


if __name__ == "__main__":
    main()
