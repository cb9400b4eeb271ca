"""Completion of queries: names of fields, and their values in this history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from clarinet_tui.history.query_language import FIELD, FIELDS, find_field, quote_value, setting_fields
from clarinet_tui.runs.state import RunState
from clarinet_tui.ui.launch_form import allowed_values
from core.config import is_own_name
from core.methods import FAMILIES, all_setting_specs

WORD = re.compile(r'(?:"(?:[^"\\]|\\.)*"?|[^\s()"])*$')
"""The word that ends at the cursor, including quoted text."""
FIRST_FIELDS = ("method", "task", "state", "acc", "tag", "seed", "since", "preset")
"""The most useful fields, candidates before any letter is typed."""
MEASURED = frozenset(name for name, field in FIELDS.items() if ">" in field.operators) - {"seed"}
"""Fields that are usually compared with a number."""
TIMES = ("today", "yesterday", "12h", "2d", "1w")
FIXED_VALUES: Mapping[str, tuple[str, ...]] = {
    "state": tuple(RunState),
    "family": FAMILIES,
    "since": TIMES,
    "until": TIMES,
}
ALIASES = {"tags": "tag", "before": "until"}


Completions = tuple[int, tuple[str, ...]]
"""Each candidate replaces the text from this position to the cursor."""


def complete(text: str, cursor: int, known: Mapping[str, tuple[str, ...]]) -> Completions:
    """Complete the word before the cursor; `known` holds the values of each field in the history."""
    match = WORD.search(text[:cursor])
    start = match.start() if match else cursor
    word = text[start:cursor]
    while word.startswith("-"):
        start, word = start + 1, word[1:]
    condition = FIELD.match(word)
    if condition:
        return _complete_value(condition[1].lower(), start + condition.end(), word[condition.end() :], known)
    names = [name for name in _field_names() if name.startswith(word.lower())] if word else FIRST_FIELDS
    return start, tuple(f"{name}{'>' if name in MEASURED else ':'}" for name in names)


def _field_names() -> Iterator[str]:
    yield from (*FIELDS, *setting_fields())
    yield from (spec.name for spec in all_setting_specs() if is_own_name(spec.name))


def _complete_value(name: str, start: int, text: str, known: Mapping[str, tuple[str, ...]]) -> Completions:
    """Return values that start with the text, then those that contain it; a comma starts another value."""
    if find_field(name) is None:
        return 0, ()
    before, comma, last = text.rpartition(",")
    start += len(before) + len(comma)
    name = ALIASES.get(name, name)
    of_setting = [value for spec in all_setting_specs() if spec.name == name for value in allowed_values(spec)]
    values = dict.fromkeys((*FIXED_VALUES.get(name, ()), *of_setting, *known.get(name, ())))
    part = last.strip('"').lower()
    starting = [value for value in values if value.lower().startswith(part)]
    containing = [value for value in values if part in value.lower() and value not in starting]
    candidates = tuple(map(quote_value, (*starting, *containing)))
    return start, () if candidates == (last,) else candidates
