"""Runs, settings, surroundings and commands of a report, as HTML."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from clarinet_tui.evidence.board_rows import short_name
from clarinet_tui.evidence.report.board import shown
from clarinet_tui.evidence.report.content import Report
from clarinet_tui.evidence.report.markup import Content, Markup, folded, joined, listed, row, table, tag
from clarinet_tui.evidence.run_records import ROUNDING_ONLY, Record
from clarinet_tui.evidence.selection import ORACLE, RULES, SENTENCES, Choice, Rule
from clarinet_tui.evidence.sides import sides_of
from clarinet_tui.text import duration
from core.config import PROTOCOL_EXEMPT, fields

HEADERS: dict[Rule, str] = {
    "last": "last %",
    "best": "best % (oracle)",
    "risk": "risk %",
    "information": "information %",
}
WHO = frozenset({"method", "task", "seed", "preset", "name"})
"""Settings that say which run it is."""
NO_PROTOCOL = PROTOCOL_EXEMPT | ROUNDING_ONLY
"""Settings that do not keep runs apart."""


def runs_part(records: Sequence[Record]) -> Iterator[Markup | None]:
    header = ["Run", "state", "method", "task", "seed", "preset", *(HEADERS[rule] for rule in RULES)]
    header += ["source %", "pseudo-labels %", "epoch", "time", "where", "said of it"]
    yield table(header, [_run(record) for record in records], class_="numbers")
    told = [f"{HEADERS[rule]}: {SENTENCES[rule]}" for rule in RULES]
    yield listed([*told, "Below each: its epoch, and how many points it stays behind the oracle."], class_="notes")


def _run(record: Record) -> Markup:
    run = record.row
    accuracies = (run.source_accuracy, run.pseudo_label_accuracy)
    where = " on ".join(filter(None, (run.device, run.host)))
    cells: list[Content] = [
        run.id,
        tag("span", run.state, class_=f"state {run.state}"),
        run.method or "?",
        short_name(run.task or "?"),
        "?" if run.seed is None else str(run.seed),
        run.preset or "?",
        *(_choice(record.choices.get(rule)) for rule in RULES),
        *("–" if value is None else f"{value:.2f}" for value in accuracies),
        f"{run.epoch or 0}/{run.epochs_total or '?'}",
        "–" if record.seconds is None else duration(record.seconds),
        where,
        _said(record),
    ]
    return row(cells, id=f"run-{run.id}")


def _choice(choice: Choice | None) -> Content:
    if choice is None:
        return "–"
    behind = "" if choice.rule == ORACLE else f" · {0.0 - choice.regret:.2f}"
    return joined([tag("span", f"{choice.accuracy:.2f}"), tag("small", f"epoch {choice.epoch}{behind}")])


def _said(record: Record) -> Markup:
    run = record.row
    shared = record.shared
    said: list[tuple[str, str | None]] = [
        ("error", run.error),
        ("name", run.name),
        ("tags", ", ".join(run.tags)),
        ("note", run.note),
        *(("data", note) for note in run.notes),
        ("stage 1 of", shared.origin or "unknown" if shared else None),
    ]
    return joined([tag("span", f"{name}: {value}", class_=f"said {name}") for name, value in said if value])


def settings_part(records: Sequence[Record]) -> Iterator[Markup | None]:
    """Those that are not equal everywhere, by protocol; then the others, folded."""
    read = {record.row.id: record for record in records if record.config}
    if read:
        names = [field.name for field in fields() if field.name not in WHO]
        values = {name: {run: _value(record, name) for run, record in read.items()} for name in names}
        differing = [name for name in names if len({*values[name].values()} - {None}) > 1]
        yield _differing(records, {name: values[name] for name in differing})
        same = [(name, {*values[name].values()} - {None}) for name in names if name not in differing]
        rows = [row([name, shown(*found)]) for name, found in same if found]
        yield folded(f"{len(rows)} settings that are equal in all runs", table(["Setting", "value"], rows))
    unread = [record.row.id for record in records if record.row.id not in read]
    yield tag("p", f"Settings that cannot be read: {' '.join(unread)}.", class_="notes") if unread else None


def _value(record: Record, name: str) -> Any:
    """None for a setting that the method does not use; stage 1's seed in words where it is the run's own."""
    if name in NO_PROTOCOL:
        return attrgetter(name)(record.config)
    return (record.settings or {}).get(name)


def _differing(records: Sequence[Record], values: Mapping[str, Mapping[str, Any]]) -> Markup:
    if not values:
        return tag("p", "All runs have the same settings, but for method, task and seed.")
    sides = [side for side in sides_of(records, every_group=True) if side.settings is not None]
    header = ["Setting", *(f"{short_name(side.task)} {side.title} ({side.preset})" for side in sides)]
    rows = [
        row([name, *(_values([by_run[fact.run] for fact in side.runs]) for side in sides)])
        for name, by_run in values.items()
    ]
    return table(header, rows, caption="Settings that are not equal in all runs")


def _values(values: Sequence[Any]) -> str:
    return ", ".join(dict.fromkeys(map(shown, values)))


def surroundings_part(report: Report) -> Iterator[Markup | None]:
    rows = []
    for place, runs in report.surroundings.items():
        versions = ", ".join(f"{name} {version}" for name, version in place.versions)
        where = (place.host, place.device, place.platform, versions, place.commit or "–")
        rows.append(row([*where, tag("span", f"{len(runs)}: {' '.join(runs)}", class_="said")]))
    yield table(["Host", "device", "platform", "versions", "git commit", "runs"], rows) if rows else None
    if any("+" in place.commit for place in report.surroundings):
        yield tag("p", "After a +: a sign for changes that were not committed.", class_="notes")
    for patch, runs in report.patches.items():
        named = tag("p", " ".join(runs), class_="notes")
        yield folded(f"Uncommitted changes where {_runs(runs)} began", named, tag("pre", patch, tabindex="0"))


def commands_part(report: Report) -> Iterator[Markup | None]:
    if report.commands:
        written = "\n".join(f"{command}  # {run}" for run, command in report.commands.items())
        yield tag("pre", written, tabindex="0")
    absent = [record.row.id for record in report.records if record.row.id not in report.commands]
    if absent:
        yield tag("p", f"Cannot be told, for settings or method are not here: {' '.join(absent)}.", class_="notes")
    if report.typed:
        typed = "\n".join(f"{command}  # {run}" for run, command in report.typed.items())
        yield folded("As they were typed", tag("pre", typed, tabindex="0"))


def _runs(runs: Sequence[str]) -> str:
    return f"run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs"
