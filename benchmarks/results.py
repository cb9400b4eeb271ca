"""Writes what was measured on real digits to docs/results.md: the finished runs of a runs directory, as a table.

clarinet sweep --methods clarinet,gac --tasks "M->U,U->M" --preset quick --runs-dir runs/results --data-dir DATA
python -m benchmarks.results runs/results
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.queries import RunRow, list_runs
from clarinet_tui.journal.directory import RunDirectory
from clarinet_tui.journal.environment import read_environment

PAPER = ("gac", "gac+dan", "gac+dann", "gac+cdan-e", "clarinet", "clarinet-no-t", "clarinet-ce")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
RESULTS = Path("docs/results.md")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs_dir", type=Path)
    write(parser.parse_args().runs_dir)


def write(runs_dir: Path) -> None:
    """Put the table between the markers of docs/results.md; the words around it are written by hand."""
    with Database.open(runs_dir) as database:
        ingest_all(database, runs_dir)
        rows = list_runs(database, "state:finished", limit=1000)
    rows.sort(key=lambda row: (row.task or "", PAPER.index(row.method) if row.method in PAPER else 99, row.seed or 0))
    lines = ["| task | method | seed | target % | source % | pseudo-labels % | minutes | threads | date | commit |"]
    lines.append("|---" * 10 + "|")
    lines += [line(runs_dir, row) for row in rows]
    text = RESULTS.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    RESULTS.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}")


def line(runs_dir: Path, row: RunRow) -> str:
    directory = RunDirectory(runs_dir, row.id)
    environment = read_environment(directory)
    commit = ((environment.get("git") or {}).get("commit") or "unknown")[:9]
    day = datetime.fromtimestamp(row.ended or 0, UTC).date()
    cells = (row.task, f"`{row.method}`", row.seed, percent(row.target_accuracy), percent(row.source_accuracy))
    more = (percent(row.pseudo_label_accuracy), f"{(row.seconds or 0) / 60:.1f}", directory.read_config().threads)
    return "| " + " | ".join(map(str, (*cells, *more, day, commit))) + " |"


def percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
