"""Writes what was measured on real digits to docs/results: board, figures, comparison, report, and a table of the runs.

clarinet sweep --methods clarinet,gac+dan,gac+dann,gac+cdan-e --tasks "M->U" --seeds 3 --preset quick --runs-dir RUNS
python -m benchmarks.results RUNS
"""

import argparse
import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

from benchmarks.results_page import fill
from clarinet_tui.cli.main import app
from clarinet_tui.runs.process import host_name
from core.errors import InputError

FOLDER = Path("docs/results")
COMPARISON = "comparison.txt"
DRAWN = "method!=clarinet-ce"
"""Its accuracy is near zero, and would press all others together."""
LARGEST = 1_500_000
"""Bytes of one file: what goes into the repository stays small."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs_dir", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds make a cell of the board complete")
    parser.add_argument("--query", default="", help="only runs that match")
    parser.add_argument("--out", type=Path, default=FOLDER, help="a folder; beside it, its page with the two markers")
    given = parser.parse_args()
    write(given.runs_dir, given.out, seeds=given.seeds, query=given.query)


def write(runs_dir: Path, folder: Path = FOLDER, *, seeds: int = 3, query: str = "") -> None:
    """Runs the commands that the page lists, fills the page, and refuses what nobody else should read."""
    listed, page = [], folder.with_suffix(".md")
    for words, file in commands(folder, seeds, query):
        printed = io.StringIO()
        with redirect_stdout(printed):
            app([*words, "--runs-dir", str(runs_dir)], standalone_mode=False)
        to_file = f" > {file}" if file.name == COMPARISON else ""
        if to_file:
            file.write_text(printed.getvalue())
        listed.append(f"clarinet {shlex.join(words)} --runs-dir RUNS{to_file}".replace(f"{folder}/", "docs/results/"))
    fill(page, runs_dir, query, listed)
    for file in (page, *sorted(folder.iterdir())):
        check(file, runs_dir)
        print(f"{file} {file.stat().st_size / 1000:.0f} kB")


def commands(folder: Path, seeds: int, query: str) -> list[tuple[list[str], Path]]:
    """Each with the file that it writes."""
    asked = [query] if query else []
    board = ["table", *asked, "--seeds", str(seeds), "--format"]
    found = [
        ([*board, "markdown"], "board.md"),
        ([*board, "latex", "--standalone"], "board.tex"),
        ([*board, "csv"], "board.csv"),
        (["plot", "accuracy", f"{query} {DRAWN}".strip()], "accuracy.svg"),
        (["report", *asked, "--seeds", str(seeds), "--without-hosts"], "report.html"),
    ]
    written = [([*words, "--out", str(folder / name)], folder / name) for words, name in found]
    one, two = (f"{query} {which}".strip() for which in ("method:clarinet", "method:gac+*"))
    return [*written, (["compare", "--one-step", one, "--two-step", two], folder / COMPARISON)]


def check(file: Path, runs_dir: Path) -> None:
    """What is written here is for everybody: no names of machines, no paths of this one, nothing large."""
    if file.stat().st_size > LARGEST:
        raise InputError(f"{file}: is larger than {LARGEST / 1e6} MB")
    places = {str(Path.home()), str(Path.cwd()), str(runs_dir.absolute().parent)} - {"/"}
    text = file.read_text(encoding="utf-8")
    for name in (re.escape(place) for place in (*sorted(places), host_name())):
        if found := re.search(rf"(?<![\w-]){name}(?![\w-])", text):
            raise InputError(f"{file}: tells of this machine: {text[max(0, found.start() - 40) : found.end() + 40]!a}")


if __name__ == "__main__":
    main()
