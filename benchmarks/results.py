"""Trains the paper's methods on real digits and writes what was measured to docs/results.md.

python -m benchmarks.results --data-dir DATA --runs-dir runs/results --jobs 2 "M->U" "U->M"
Runs that are finished are not repeated; stopped ones go on. Only what is in the runs directory is reported.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.queries import RunRow, list_runs
from clarinet_tui.journal.directory import RunDirectory
from clarinet_tui.journal.environment import read_environment

PAPER = ("clarinet", "clarinet-no-t", "clarinet-ce", "gac", "gac+dan", "gac+dann", "gac+cdan-e")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
RESULTS = Path("docs/results.md")


def main() -> None:
    arguments = parse()
    jobs = [(method, task) for task in arguments.tasks for method in arguments.methods]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        codes = list(pool.map(lambda job: run(arguments, *job), jobs))
    write(arguments.runs_dir)
    sys.exit(max(codes, default=0))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--methods", nargs="+", default=PAPER)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/results"))
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="of each run")
    return parser.parse_args()


def run(arguments: argparse.Namespace, method: str, task: str) -> int:
    name = "".join(letter for letter in f"{method}{task}" if letter.isalnum())
    number = "".join("u" if letter.isupper() else "l" for letter in task if letter.isalpha())
    words = ["--method", method, "--task", task, "--seed", str(arguments.seed), "--preset", arguments.preset]
    words += ["--set", f"threads={arguments.threads}", "--run-id", f"{name.lower()}{number}{arguments.seed}"]
    words += ["--runs-dir", str(arguments.runs_dir), "--data-dir", str(arguments.data_dir)]
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from clarinet_tui.cli.main import main; main()", "run", "--headless", *words],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(f"{method} {task}: {(done.stdout.splitlines() or ['nothing said'])[-1]}", flush=True)
    return done.returncode


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
