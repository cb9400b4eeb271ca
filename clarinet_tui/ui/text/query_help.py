"""The query language, explained in the help of views with a filter."""

from __future__ import annotations

from textual.content import Content

from clarinet_tui.history.query_fields import FIELDS
from clarinet_tui.ui.text.styled import styled

EXAMPLES = (
    ("method:clarinet task:U->M", "both conditions"),
    ("state:failed,stopped", "one of these values"),
    ("tag:icml OR tag:draft", "either condition; parentheses group"),
    ("-preset:smoke", "not; also NOT preset:smoke"),
    ("acc>80 seed:1..5 time<2h", "numbers, ranges and durations"),
    ("epochs>10 flip:true", "settings; clarinet settings lists them"),
    ("since:2d until:today", "created between two times"),
    ("alarm:*", "any open alarm; * matches any text"),
    ('name:"two words"', "quotes keep blanks"),
    ("usps", "a word: in id, name, method, task, state, host, tags or note"),
)
"""Queries, and what they mean."""
NAME, EXAMPLE = 12, 28
"""Column widths."""


def format_query_help() -> Content:
    """Format examples, then every field with the values that it takes."""
    lines = [styled(("Queries", "strong"))]
    lines += [styled((f"  {query:<{EXAMPLE}}", "live"), (meaning, "")) for query, meaning in EXAMPLES]
    lines += [styled(), styled(("Fields of a query", "strong"))]
    for name, field in FIELDS.items():
        comparable = ", also > < >= <=" if ">" in field.operators else ""
        lines.append(styled((f"  {name:<{NAME}}", "live"), (f"{field.expects}{comparable}", "")))
    return Content("\n").join(lines)
