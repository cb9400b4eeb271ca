"""The generated part of docs/results.md: origin, commands, a table of all runs, and paired differences."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from clarinet_tui.analysis.comparison import PairedDifference, compare_queries
from clarinet_tui.analysis.comparison_table import INTERIM, format_correction, format_difference
from clarinet_tui.analysis.published import ABLATIONS, CONTROLS, MAIN_METHODS
from clarinet_tui.analysis.run_records import RunRecord, RunRecords
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.text import format_task
from core.resolve import changed_settings
from core.tasks import PAPER_TASKS

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
METHODS = ("basset", *CONTROLS["basset"], *MAIN_METHODS, *ABLATIONS)
COMPARISONS = (
    ("method:basset", "method:fwd+*"),
    ("method:basset", "method:gac+*"),
    ("method:clarinet", "method:gac+*"),
)
"""One-step and two-step methods whose paired differences the page lists."""
COLUMNS = ("run", "task", "method", "seed", "target %", "source %", "pseudo-labels %", "minutes", "threads", "commit")


def fill_page(page: Path, runs_dir: Path, query: str, commands: list[str]) -> None:
    """Replace the text between the markers; the text around them is written by hand."""
    text = page.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    with Database.open(runs_dir) as database:
        ingest_all(database, runs_dir)
        archive = RunRecords(database, runs_dir)
        records = sorted(archive.search(query), key=_sort_key)
        parts = [_origin(records), _commands(records, commands), _table(records), _pairs(archive, query)]
    generated = "\n\n".join("\n".join(part) for part in parts)
    page.write_text(f"{before}{BEGIN}\n{generated}\n{END}{after}", encoding="utf-8")


def _sort_key(record: RunRecord) -> tuple[int, int, int]:
    tasks, methods = (*PAPER_TASKS, record.row.task), (*METHODS, record.row.method)
    return tasks.index(record.row.task), methods.index(record.row.method), record.row.seed or 0


def _origin(records: list[RunRecord]) -> list[str]:
    done = [record for record in records if record.is_finished]
    days = sorted({_day(record.row.ended) for record in done})
    commits = sorted({record.row.git_commit for record in done if record.row.git_commit})
    period = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "never"
    commit = ", ".join(commits) or "unknown"
    text = f"{len(done)} of {len(records)} runs are finished: {period}, commit {commit}."
    states = Counter(record.row.state for record in records if not record.is_finished)
    if states:
        text += f" The others are not counted: {', '.join(f'{count} {state}' for state, count in states.items())}."
    return ["## Origin", "", text]


def _commands(records: list[RunRecord], commands: list[str]) -> list[str]:
    """List the sweeps that repeat the finished runs, with their changes to the preset, and the given commands."""
    seeds: dict[tuple[str, str, str], set[int]] = {}
    for record in records:
        if record.is_finished and record.config:
            row, changed = record.row, changed_settings(record.config)
            relevant = {*(record.settings or changed), "device"}  # settings of stage 1 count in two-step runs only
            settings = {name: value for name, (_, value) in changed.items() if name in relevant}
            settings["threads"] = record.config.threads  # depends on the machine, but changes the numbers
            options = "".join(f" --set {name}={value}" for name, value in settings.items())
            key = (row.task or "?", f"--preset {row.preset}{options}", row.method or "?")
            seeds.setdefault(key, set()).add(row.seed or 0)
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for (task, preset, method), numbers in seeds.items():
        grouped.setdefault((task, preset, ",".join(map(str, sorted(numbers)))), []).append(method)
    sweeps = [
        f'clarinet sweep --methods {",".join(methods)} --tasks "{task}" --seeds {numbers} {preset} --runs-dir RUNS'
        for (task, preset, numbers), methods in grouped.items()
    ]
    text = "`python -m benchmarks.results RUNS` runs all commands after the sweeps."
    return ["```sh", *sweeps, "", *commands, "```", "", text]


def _table(records: list[RunRecord]) -> list[str]:
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    return ["## All runs", "", *lines, *(_row(record) for record in records if record.is_finished)]


def _row(record: RunRecord) -> str:
    row = record.row
    accuracies = (row.target_accuracy, row.source_accuracy, row.pseudo_label_accuracy)
    numbers = ["" if value is None else f"{value:.2f}" for value in accuracies]
    threads = record.config.threads if record.config else "?"
    minutes = f"{(record.seconds or 0) / 60:.1f}"
    cells = (
        row.id,
        row.task,
        f"`{row.method}`",
        row.seed,
        *numbers,
        minutes,
        threads,
        record.row.git_commit or "unknown",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _pairs(archive: RunRecords, query: str) -> list[str]:
    """List the paired differences of each comparison that has runs on both sides, and its correction."""
    lines = []
    for sides in COMPARISONS:
        one, two = (f"{query} {side}".strip() for side in sides)
        if archive.search(one) and archive.search(two):
            comparison = compare_queries(archive, one, two)
            lines += [
                "",
                " and ".join(f"`{side}`" for side in sides) + f". {format_correction(comparison)}".rstrip(),
                "",
            ]
            lines += [
                _format_pair(difference)
                for difference in comparison.differences
                if difference.left.accuracy.n and difference.right.accuracy.n
            ]
    return ["## Paired differences", *lines]


def _format_pair(difference: PairedDifference) -> str:
    left, right = difference.left.title, difference.right.title
    interim = f" ({INTERIM})" if difference.is_interim else ""
    text = "; ".join(format_difference(difference))
    return f"- {format_task(difference.left.task)}, {left} minus {right}{interim}: {text}."


def _day(when: float | None) -> str:
    return datetime.fromtimestamp(when or 0, UTC).date().isoformat()
