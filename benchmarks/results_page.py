"""The measured part of docs/results.md: dates and commits, commands, a line a run, and what the pairs say."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from clarinet_tui.evidence.board_rows import short_name
from clarinet_tui.evidence.comparison import compare_queries, compare_runs
from clarinet_tui.evidence.difference_text import INTERIM, differences_in_words, names_of
from clarinet_tui.evidence.published import ABLATIONS, METHODS
from clarinet_tui.evidence.run_records import Archive, Record
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from core.errors import InputError
from core.resolve import changed_settings
from core.tasks import PAPER_TASKS

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
COLUMNS = ("run", "task", "method", "seed", "target %", "source %", "pseudo-labels %", "minutes", "threads", "commit")


def fill(page: Path, runs_dir: Path, query: str, commands: list[str]) -> None:
    """Between the markers; the words around them are written by hand."""
    text = page.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    with Database.open(runs_dir) as database:
        ingest_all(database, runs_dir)
        archive = Archive(database, runs_dir)
        records = sorted(archive.search(query), key=_place)
        parts = [_origin(records), _commands(records, commands), _table(records), _pairs(archive, query)]
    written = "\n\n".join("\n".join(part) for part in parts)
    page.write_text(f"{before}{BEGIN}\n{written}\n{END}{after}", encoding="utf-8")


def _place(record: Record) -> tuple[int, int, int]:
    tasks, methods = (*PAPER_TASKS, record.row.task), (*METHODS, *ABLATIONS, record.row.method)
    return tasks.index(record.row.task), methods.index(record.row.method), record.row.seed or 0


def _origin(records: list[Record]) -> list[str]:
    done = [record for record in records if record.finished]
    days = sorted({_day(record.row.ended) for record in done})
    commits = sorted({record.code.commit for record in done if record.code.commit})
    made = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "never"
    told = f"{len(done)} of {len(records)} runs are finished, made {made} at commit {', '.join(commits) or 'unknown'}."
    states = Counter(record.row.state for record in records if not record.finished)
    if states:
        told += f" The others count nowhere: {', '.join(f'{count} {state}' for state, count in states.items())}."
    return ["## Where they come from", "", told]


def _commands(records: list[Record], commands: list[str]) -> list[str]:
    """Sweeps that queue the finished runs, with what is not the preset's, and what was written from them."""
    seeds: dict[tuple[str, str, str], set[int]] = {}
    for record in records:
        if record.finished and record.config:
            row, changed = record.row, changed_settings(record.config)
            counts = {*(record.settings or changed), "device"}  # stage 1 has settings in every run, and a say in some
            said = {name: value for name, (_, value) in changed.items() if name in counts}
            said["threads"] = record.config.threads  # the machine's choice, but it decides the numbers
            others = "".join(f" --set {name}={value}" for name, value in said.items())
            key = (row.task or "?", f"--preset {row.preset}{others}", row.method or "?")
            seeds.setdefault(key, set()).add(row.seed or 0)
    together: dict[tuple[str, str, str], list[str]] = {}
    for (task, settings, method), found in seeds.items():
        together.setdefault((task, settings, ",".join(map(str, sorted(found)))), []).append(method)
    sweeps = [
        f'clarinet sweep --methods {",".join(methods)} --tasks "{task}" --seeds {those} {settings} --runs-dir RUNS'
        for (task, settings, those), methods in together.items()
    ]
    told = "All but the sweeps in one go: `python -m benchmarks.results RUNS`."
    return ["```sh", *sweeps, "", *commands, "```", "", told]


def _table(records: list[Record]) -> list[str]:
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    return ["## Every run", "", *lines, *(_line(record) for record in records if record.finished)]


def _line(record: Record) -> str:
    row = record.row
    accuracies = (row.target_accuracy, row.source_accuracy, row.pseudo_label_accuracy)
    numbers = ["" if value is None else f"{value:.2f}" for value in accuracies]
    threads = record.config.threads if record.config else "?"
    minutes = f"{(record.seconds or 0) / 60:.1f}"
    cells = (row.id, row.task, f"`{row.method}`", row.seed, *numbers, minutes, threads, record.code.commit or "unknown")
    return f"| {' | '.join(map(str, cells))} |"


def _pairs(archive: Archive, query: str) -> list[str]:
    """The comparisons in a line each: with GAC, which adapts nothing, then with the two-step methods."""
    one, two = (f"{query} {which}".strip() for which in ("method:clarinet", "method:gac+*"))
    unadapted = archive.search(f"{query} method:gac".strip())
    both = [*sorted(archive.search(one), key=_place), *sorted(unadapted, key=_place)]
    try:
        with_gac = compare_runs(archive, [record.row.id for record in both])
        found = [*with_gac.contrasts, *compare_queries(archive, one, two).contrasts]
    except InputError as error:
        return ["## What the pairs say", "", str(error)]
    lines = []
    for contrast in found:
        if not contrast.left.accuracy.n or not contrast.right.accuracy.n:
            continue
        left, right = names_of(contrast)
        interim = f" ({INTERIM})" if contrast.interim else ""
        told = "; ".join(differences_in_words(contrast))
        lines.append(f"- {short_name(contrast.left.task)}, {left} minus {right}{interim}: {told}.")
    return ["## What the pairs say", "", *lines]


def _day(when: float | None) -> str:
    return datetime.fromtimestamp(when or 0, UTC).date().isoformat()
