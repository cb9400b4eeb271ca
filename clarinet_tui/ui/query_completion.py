"""What can come next in a query: names of fields, and the values that they have in this history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clarinet_tui.history.query_fields import FIELDS, STATES, field_named

WORD = re.compile(r'(?:"(?:[^"\\]|\\.)*"?|[^\s()"])*$')
"""The word that ends at the caret, quotation marks and what they hold included."""
CONDITION = re.compile(r"([A-Za-z_]+)(:|>=|<=|!=|=|>|<)")
FIRST = ("method", "task", "state", "acc", "tag", "seed", "since", "preset")
"""The fields that are asked for most often; they are offered before any letter is typed."""
TIMES = ("today", "yesterday", "12h", "2d", "1w")
FIXED: Mapping[str, tuple[str, ...]] = {
    "state": STATES,
    "family": ("one-step", "two-step"),
    "since": TIMES,
    "until": TIMES,
}
ALIASED = {"tags": "tag", "before": "until"}


@dataclass(frozen=True)
class Completion:
    """Each candidate can stand in the place of the text from `start` to the caret."""

    start: int = 0
    candidates: tuple[str, ...] = ()


def complete(text: str, caret: int, known: Mapping[str, tuple[str, ...]]) -> Completion:
    """What the word before the caret may become; `known` are the values of fields, as the history has them."""
    found = WORD.search(text[:caret])
    start = found.start() if found else caret
    word = text[start:caret]
    while word.startswith("-"):
        start, word = start + 1, word[1:]
    condition = CONDITION.match(word)
    if condition:
        return _values(condition[1].lower(), start + condition.end(), word[condition.end() :], known)
    return Completion(start, tuple(_fields(word)))


def _fields(word: str) -> Iterable[str]:
    names = [name for name in FIELDS if name.startswith(word.lower())] if word else FIRST
    return (f"{name}{'>' if '>' in FIELDS[name].operators and name != 'seed' else ':'}" for name in names)


def _values(name: str, start: int, typed: str, known: Mapping[str, tuple[str, ...]]) -> Completion:
    """Values that begin so, then those that have it somewhere; after a comma comes another value."""
    if field_named(name) is None:
        return Completion()
    before, comma, last = typed.rpartition(",")
    start += len(before) + len(comma)
    name = ALIASED.get(name, name)
    values = dict.fromkeys((*FIXED.get(name, ()), *known.get(name, ())))
    part = last.strip('"').lower()
    begin = [value for value in values if value.lower().startswith(part)]
    inside = [value for value in values if part in value.lower() and value not in begin]
    offered = tuple(map(quoted, (*begin, *inside)))
    return Completion(start, () if offered == (last,) else offered)


def quoted(value: str) -> str:
    """A value as it must be written in a query."""
    if value and not re.search(r'[\s()",]', value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
