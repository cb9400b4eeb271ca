"""A report as one HTML file that needs nothing else: no network, no script, no font."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from clarinet_tui.evidence.report.board import board_part, comparison_part
from clarinet_tui.evidence.report.content import Report
from clarinet_tui.evidence.report.figures import figure
from clarinet_tui.evidence.report.markup import Content, Markup, tag
from clarinet_tui.evidence.report.runs import commands_part, runs_part, settings_part, surroundings_part
from clarinet_tui.evidence.report.style import POLICY, style

PAPER = (
    "Methods and tasks are those of Zhang, Liu, Fang, Yuan, Zhang and Lu: Clarinet: A One-step Approach Towards "
    "Budget-friendly Unsupervised Domain Adaptation, IJCAI 2020."
)


def to_html(report: Report) -> str:
    sections = [part for part in _sections(report) if part[2]]
    links = [tag("a", heading, href=f"#{name}") for name, heading, _ in sections]
    body = tag(
        "body",
        tag("header", tag("h1", report.title), *(tag("p", line) for line in _what(report))),
        tag("nav", *links, aria_label="Contents"),
        tag("main", *(_section(*part) for part in sections)),
        tag("footer", tag("p", PAPER, class_="notes")),
    )
    return f"<!DOCTYPE html>\n{tag('html', _head(report), body, lang='en')}\n"


def _head(report: Report) -> Markup:
    """The policy comes before anything that it forbids."""
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
    yield "board", "Board", list(board_part(report.board))
    yield "comparison", "One step against two", list(comparison_part(report.comparison)) if report.comparison else []
    yield (
        "figures",
        "Figures",
        [part for drawing in report.drawings for part in (_heading(drawing.title), figure(drawing))],
    )
    yield "runs", "Runs", list(runs_part(report.records))
    yield "settings", "Settings", list(settings_part(report.records))
    yield "surroundings", "Surroundings", list(surroundings_part(report))
    yield "commands", "Make them again", list(commands_part(report))


def _section(name: str, heading: str, content: list[Content]) -> Markup:
    return tag("section", tag("h2", heading), *content, id=name)


def _heading(words: str) -> Markup:
    return tag("h3", words)


def _what(report: Report) -> list[str]:
    """What, when and where."""
    rows = [record.row for record in report.records]
    states = ", ".join(f"{count} {state}" for state, count in Counter(row.state for row in rows).most_common())
    hosts = sorted({row.host for row in rows if row.host})
    asked = f" that match {report.query}" if report.query else ""
    days = sorted({_day(row.created) for row in rows})
    on = f" on {report.host}" if report.host else ""
    made = f"Made on {days[0]}" if len(days) == 1 else f"Made from {days[0]} to {days[-1]}"
    return [
        f"{len(rows)} {'run' if len(rows) == 1 else 'runs'}{asked}: {states}.",
        made + (f" on {', '.join(hosts)}." if hosts else "."),
        f"Written {_moment(report.written)}{on} by clarinet {report.version}.",
    ]


def _day(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d")


def _moment(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M UTC")
