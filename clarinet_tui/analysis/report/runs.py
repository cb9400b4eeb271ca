"""The sections on runs, settings, environments and commands of a report, as HTML."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from clarinet_tui.analysis.choices import RULES, Rule
from clarinet_tui.analysis.comparison import make_sides
from clarinet_tui.analysis.comparison_table import format_setting
from clarinet_tui.analysis.report.content import Report
from clarinet_tui.analysis.report.markup import Content, Markup, bullet_list, collapsible, join, row, table, tag
from clarinet_tui.analysis.run_records import RunRecord
from clarinet_tui.analysis.selection import ORACLE, RULE_DESCRIPTIONS, SelectedEpoch
from clarinet_tui.text import JOULES_PER_KWH, format_count, format_duration, format_seed, format_task
from core.config import Tag, setting_specs, settings_tagged

HEADERS: dict[Rule, str] = {
    "last": "last %",
    "best": "best % (oracle)",
    "risk": "risk %",
    "information": "information %",
}


def runs_section(records: Sequence[RunRecord]) -> Iterator[Markup | None]:
    header = ["Run", "state", "method", "task", "seed", "preset", *(HEADERS[rule] for rule in RULES)]
    header += ["source %", "pseudo-labels %", "epoch", "time", "kWh", "device and host", "notes"]
    yield table(header, [_run(record) for record in records], class_="numbers")
    notes = [f"{HEADERS[rule]}: {RULE_DESCRIPTIONS[rule]}" for rule in RULES]
    notes.append("Below each: the epoch and its difference from the oracle in points.")
    yield bullet_list([*notes, *_energy_note(records)], class_="notes")


def _energy_note(records: Sequence[RunRecord]) -> list[str]:
    """Return the energy of all runs that recorded it; a GPU that runs share is divided among them."""
    known = [record.row.energy for record in records if record.row.energy is not None]
    if not known:
        return []
    total = f"kWh: energy of the GPUs, {sum(known) / JOULES_PER_KWH:.3f} in all"
    return [f"{total}, for {len(known)} of {format_count(len(records), 'run')}."]


def _run(record: RunRecord) -> Markup:
    run = record.row
    accuracies = (run.source_accuracy, run.pseudo_label_accuracy)
    cells: list[Content] = [
        run.id,
        tag("span", run.state, class_=f"state {run.state}"),
        run.method or "?",
        format_task(run.task or "?"),
        format_seed(run.seed),
        run.preset or "?",
        *(_selected(record.selected.get(rule)) for rule in RULES),
        *("–" if value is None else f"{value:.2f}" for value in accuracies),
        f"{run.epoch or 0}/{run.epochs_total or '?'}",
        "–" if record.seconds is None else format_duration(record.seconds),
        "–" if run.energy is None else f"{run.energy / JOULES_PER_KWH:.3f}",
        " on ".join(filter(None, (run.hardware or run.device, run.host))),
        _notes(record),
    ]
    return row(cells, id=f"run-{run.id}")


def _selected(selected: SelectedEpoch | None) -> Content:
    if selected is None:
        return "–"
    difference = "" if selected.rule == ORACLE else f" · {0.0 - selected.regret:.2f}"
    return join([tag("span", f"{selected.accuracy:.2f}"), tag("small", f"epoch {selected.epoch}{difference}")])


def _notes(record: RunRecord) -> Markup:
    run, shared = record.row, record.shared
    notes: list[tuple[str, str | None]] = [
        ("error", run.error),
        ("name", run.name),
        ("tags", ", ".join(run.tags)),
        ("note", run.note),
        *(("data", note) for note in run.notes),
        ("stage 1 of", shared.origin or "unknown" if shared else None),
    ]
    return join([tag("span", f"{name}: {value}", class_=f"detail {name}") for name, value in notes if value])


def settings_section(records: Sequence[RunRecord]) -> Iterator[Markup | None]:
    """Settings that differ, by protocol; then the equal ones, folded."""
    read = {record.row.id: record for record in records if record.config}
    if read:
        names = [field.name for field in setting_specs() if field.name not in settings_tagged(Tag.IDENTITY)]
        values = {name: {run: _value(record, name) for run, record in read.items()} for name in names}
        differing = [name for name in names if len({*values[name].values()} - {None}) > 1]
        yield _differing(records, {name: values[name] for name in differing})
        same = [(name, {*values[name].values()} - {None}) for name in names if name not in differing]
        rows = [row([name, format_setting(*value)]) for name, value in same if value]
        yield collapsible(f"{len(rows)} settings are equal in all runs", table(["Setting", "value"], rows))
    unread = [record.row.id for record in records if record.row.id not in read]
    yield tag("p", f"Settings that cannot be read: {' '.join(unread)}.", class_="notes") if unread else None


def _value(record: RunRecord, name: str) -> Any:
    """Return None for a setting that the method does not use."""
    if name in settings_tagged(Tag.NO_EFFECT, Tag.ROUNDING):
        return attrgetter(name)(record.config)
    return (record.settings or {}).get(name)


def _differing(records: Sequence[RunRecord], values: Mapping[str, Mapping[str, Any]]) -> Markup:
    if not values:
        return tag("p", "All runs have the same settings except method, task and seed.")
    sides = [side for side in make_sides(records, every_group=True) if side.settings is not None]
    header = ["Setting", *(f"{format_task(side.task)} {side.title} ({side.preset})" for side in sides)]
    rows = [
        row([name, *(_values([by_run[run.run] for run in side.runs]) for side in sides)])
        for name, by_run in values.items()
    ]
    return table(header, rows, caption="Settings that differ between runs")


def _values(values: Sequence[Any]) -> str:
    return ", ".join(dict.fromkeys(map(format_setting, values)))


def environments_section(report: Report) -> Iterator[Markup | None]:
    rows = []
    for environment, runs in report.environments.items():
        versions = ", ".join(f"{name} {version}" for name, version in environment.versions)
        machine = (environment.host, environment.device, environment.hardware or "–", environment.platform)
        ids = tag("span", f"{len(runs)}: {' '.join(runs)}", class_="detail")
        rows.append(row([*machine, versions, environment.commit or "–", ids]))
    yield table(["Host", "device", "hardware", "platform", "versions", "git commit", "runs"], rows) if rows else None
    if any("+" in environment.commit for environment in report.environments):
        yield tag("p", "After a +: a hash of uncommitted changes.", class_="notes")
    for patch, runs in report.patches.items():
        ids = tag("p", " ".join(runs), class_="notes")
        subject = f"run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs"
        yield collapsible(f"Uncommitted changes at the start of {subject}", ids, tag("pre", patch, tabindex="0"))


def commands_section(report: Report) -> Iterator[Markup | None]:
    if report.commands:
        yield _command_list(report.commands)
    absent = [record.row.id for record in report.records if record.row.id not in report.commands]
    if absent:
        reason = "Not available because the settings cannot be read or the method is not installed"
        yield tag("p", f"{reason}: {' '.join(absent)}.", class_="notes")
    if report.typed:
        yield collapsible("Original command lines", _command_list(report.typed))


def _command_list(commands: Mapping[str, str]) -> Markup:
    return tag("pre", "\n".join(f"{command}  # {run}" for run, command in commands.items()), tabindex="0")
