"""A report as one self-contained HTML file without network access, scripts or fonts."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from clarinet_tui.analysis.report.board import board_section, comparison_section
from clarinet_tui.analysis.report.content import Report
from clarinet_tui.analysis.report.figures import figure_markup
from clarinet_tui.analysis.report.inspections import inspections_section
from clarinet_tui.analysis.report.markup import Content, Markup, tag
from clarinet_tui.analysis.report.runs import commands_section, environments_section, runs_section, settings_section
from clarinet_tui.analysis.report.style import POLICY, style
from clarinet_tui.text import format_count, is_valid_time

PAPER = (
    "Methods and tasks are those of Zhang, Liu, Fang, Yuan, Zhang and Lu: Clarinet: A One-step Approach Towards "
    "Budget-friendly Unsupervised Domain Adaptation, IJCAI 2020."
)


def to_html(report: Report) -> str:
    sections = [section for section in _sections(report) if section[2]]
    links = [tag("a", heading, href=f"#{name}") for name, heading, _ in sections]
    body = tag(
        "body",
        tag("header", tag("h1", report.title), *(tag("p", line) for line in _summary(report))),
        tag("nav", *links, aria_label="Contents"),
        tag("main", *(tag("section", tag("h2", heading), *content, id=name) for name, heading, content in sections)),
        tag("footer", tag("p", PAPER, class_="notes")),
    )
    return f"<!DOCTYPE html>\n{tag('html', _head(report), body, lang='en')}\n"


def _head(report: Report) -> Markup:
    """The content security policy comes first, before anything that it restricts."""
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", report.title),
        tag("style", Markup(style())),
    )


def _sections(report: Report) -> Iterable[tuple[str, str, list[Content]]]:
    yield "board", "Board", list(board_section(report.board))
    yield "comparison", "One step against two", list(comparison_section(report.comparison)) if report.comparison else []
    figures: list[Content] = [
        part for figure in report.figures for part in (tag("h3", figure.title), figure_markup(figure))
    ]
    yield "figures", "Figures", figures
    yield "models", "Inside the models", list(inspections_section(report))
    yield "runs", "Runs", list(runs_section(report.records))
    yield "settings", "Settings", list(settings_section(report.records))
    yield "environments", "Environments", list(environments_section(report))
    yield "commands", "Commands to repeat the runs", list(commands_section(report))


def _summary(report: Report) -> list[str]:
    rows = [record.row for record in report.records]
    states = ", ".join(f"{count} {state}" for state, count in Counter(row.state for row in rows).most_common())
    hosts = sorted({row.host for row in rows if row.host})
    matching = f" matching {report.query}" if report.query else ""
    days = sorted({_format_utc(row.created, "%Y-%m-%d") for row in rows})
    on = f" on {report.host}" if report.host else ""
    created = f"Created on {days[0]}" if len(days) == 1 else f"Created from {days[0]} to {days[-1]}"
    return [
        f"{format_count(len(rows), 'run')}{matching}: {states}.",
        created + (f" on {', '.join(hosts)}." if hosts else "."),
        f"Written {_format_utc(report.written, '%Y-%m-%d %H:%M UTC')}{on} by clarinet {report.version}.",
    ]


def _format_utc(timestamp: float, pattern: str) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime(pattern) if is_valid_time(timestamp) else "invalid time"
