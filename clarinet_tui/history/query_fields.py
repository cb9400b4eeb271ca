"""The fields of a query and their SQL conditions. Values are always SQL parameters.

Conditions receive a value as a pattern: `*` matches any text, `\\*` is a star and `\\\\` a backslash.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from clarinet_tui.runs.state import RunState
from core.errors import InputError
from core.tasks import parse_task

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}
BYTES: dict[str, float] = {"": 1, "b": 1}
BYTES |= {f"{prefix}b": 1000.0**power for prefix, power in _POWERS.items()}
BYTES |= {f"{prefix}ib": 1024.0**power for prefix, power in _POWERS.items()}
JOULES = {"": 1.0, "j": 1.0, "kj": 1e3, "mj": 1e6, "wh": 3600.0, "kwh": 3.6e6}
SIZE = "a size such as 8GB, 512MiB or 1.5GiB"
EQUALITY = (":", "=", "!=")
_LIKE = {"*": "%", "\\*": "*", "%": "\\%", "_": "\\_"}
_GLOB = {"\\*": "[*]", "\\\\": "\\", "[": "[[]", "?": "[?]"}


class Condition(NamedTuple):
    """An SQL expression that is 0 or 1 and never NULL, so that NOT inverts it."""

    sql: str
    parameters: list[Any]


class InvalidValueError(Exception):
    """A value that the field cannot use; the message is what was expected."""


@dataclass(frozen=True)
class QueryField:
    expects: str
    """What a value is, for messages."""
    operators: tuple[str, ...]
    condition: Callable[[str, str, float], Condition]
    """Returns the condition for an operator, a value and the current time."""


def escape(text: str) -> str:
    """Return the pattern that matches exactly `text`."""
    return re.sub(r"[\\*]", r"\\\g<0>", text)


def has_wildcard(pattern: str) -> bool:
    return "*" in re.sub(r"\\.", "", pattern, flags=re.DOTALL)


def unescape(pattern: str) -> str:
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)


def like(column: str, pattern: str) -> Condition:
    """Match without regard to the case of ASCII letters."""
    pattern = re.sub(r"\\.|[%_*]", lambda match: _LIKE.get(match[0], match[0]), pattern, flags=re.DOTALL)
    return Condition(f"(ifnull({column}, '') LIKE ? ESCAPE '\\')", [pattern])


def negate_if(operator: str, condition: Condition) -> Condition:
    return Condition(f"(NOT {condition.sql})", condition.parameters) if operator == "!=" else condition


def text_field(column: str, *, before: str = "", after: str = "", expects: str = "a text") -> QueryField:
    """Return a field that matches a column, with wildcards `before` and `after` the value."""

    def condition(operator: str, value: str, now: float) -> Condition:
        return negate_if(operator, like(column, f"{before}{value}{after}"))

    return QueryField(expects, EQUALITY, condition)


def _state_condition(operator: str, value: str, now: float) -> Condition:
    if value.lower() not in set(RunState):
        raise InvalidValueError(f"one of {', '.join(RunState)}")
    return negate_if(operator, like("runs.state", value))


def _task_condition(operator: str, value: str, now: float) -> Condition:
    """Match with regard to case, since M and m are two domains; "mnist->usps" is M->U."""
    try:
        value = value if has_wildcard(value) else escape(parse_task(unescape(value)).name)
    except InputError:
        value = value.replace("→", "->")
    pattern = re.sub(r"\\.|[\[?]", lambda match: _GLOB.get(match[0], match[0]), value, flags=re.DOTALL)
    return negate_if(operator, Condition("(ifnull(runs.task, '') GLOB ?)", [pattern]))


def _exists(table: str, column: str, pattern: str) -> Condition:
    condition = like(column, pattern)
    return Condition(f"(EXISTS (SELECT 1 FROM {table} AND {condition.sql}))", condition.parameters)


def _tag_condition(operator: str, value: str, now: float) -> Condition:
    return negate_if(operator, _exists("tags WHERE tags.run = runs.id", "tags.tag", value))


def _note_condition(operator: str, value: str, now: float) -> Condition:
    return negate_if(operator, _exists("notes WHERE notes.run = runs.id", "notes.note", f"*{value}*"))


def _alarm_condition(operator: str, value: str, now: float) -> Condition:
    """Match open alarms; alarm:* is any."""
    return negate_if(operator, _exists("json_each(ifnull(runs.alarms, '[]')) WHERE 1", "json_each.value", value))


def number_field(column: str, parse: Callable[[str], float], expects: str) -> QueryField:
    def condition(operator: str, value: str, now: float) -> Condition:
        if operator in (":", "="):
            if ".." in value:
                return _range_condition(column, value, parse, expects)
            operator = "="
        if operator == "!=":
            return Condition(f"({column} IS NOT ?)", [_convert(parse, value, expects)])
        return Condition(f"(ifnull({column} {operator} ?, 0))", [_convert(parse, value, expects)])

    return QueryField(expects, (":", "=", "!=", ">", "<", ">=", "<="), condition)


def _range_condition(column: str, value: str, parse: Callable[[str], float], expects: str) -> Condition:
    low, _, high = value.partition("..")
    if not low and not high:
        raise InvalidValueError(f"{expects} on a side of ..")
    sql, parameters = [f"{column} IS NOT NULL"], []
    for text, operator in ((low, ">="), (high, "<=")):
        if text:
            sql.append(f"{column} {operator} ?")
            parameters.append(_convert(parse, text, expects))
    if len(parameters) == 2 and parameters[0] > parameters[1]:
        raise InvalidValueError("the smaller side of .. first")
    return Condition(f"({' AND '.join(sql)})", parameters)


def _convert(parse: Callable[[str], float], text: str, expects: str) -> float:
    try:
        return parse(text)
    except (ValueError, OverflowError):
        raise InvalidValueError(expects) from None


def parse_number(text: str) -> float:
    if not re.fullmatch(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})(e[+-]?\d{1,3})?%?", text, re.ASCII | re.IGNORECASE):
        raise ValueError
    return float(text.rstrip("%"))


def _parse_duration(text: str) -> float:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhdw]?)", text, re.ASCII)
    if not match:
        raise ValueError
    return float(match[1]) * SECONDS[match[2] or "s"]


def _parse_with_unit(units: Mapping[str, float]) -> Callable[[str], float]:
    """Return a parser of a number with one of the units, in any case; without a unit it is in that of factor 1."""

    def parse(text: str) -> float:
        match = re.fullmatch(r"(\d{1,18}(?:\.\d{1,9})?) ?([a-z]*)", text.lower(), re.ASCII)
        if not match or match[2] not in units:
            raise ValueError
        return float(match[1]) * units[match[2]]

    return parse


def _parse_time(text: str, now: float) -> float:
    """Return the Unix time of a duration before now, a day, or a day and time, in local time."""
    if text in ("today", "yesterday"):
        day = date.fromtimestamp(now) - timedelta(days=text == "yesterday")
        return datetime(day.year, day.month, day.day).timestamp()
    try:
        return now - _parse_duration(text)
    except ValueError:
        return datetime.fromisoformat(text).timestamp()


def _time_field(comparison: str) -> QueryField:
    expects = "a time such as 2d, 12h, today or 2026-01-31"

    def condition(operator: str, value: str, now: float) -> Condition:
        time = _convert(lambda text: _parse_time(text, now), value, expects)
        return Condition(f"(runs.created {comparison} ?)", [time])

    return QueryField(expects, (":", "="), condition)


def match_text(word: str) -> Condition:
    """Match a word without a field: the start of an id, or a part of the text of a run."""
    columns = ("runs.name", "runs.method", "runs.task", "runs.state", "runs.host")
    parts = [like("runs.id", word + "*"), *(like(column, f"*{word}*") for column in columns)]
    parts += [_tag_condition(":", f"*{word}*", 0.0), _note_condition(":", word, 0.0)]
    sql = " OR ".join(part.sql for part in parts)
    return Condition(f"({sql})", [value for part in parts for value in part.parameters])


FIELDS = {
    "id": text_field("runs.id", after="*", expects="the start of an id"),
    "state": QueryField("a state", EQUALITY, _state_condition),
    "method": text_field("runs.method"),
    "family": text_field("runs.family"),
    "task": QueryField("a task", EQUALITY, _task_condition),
    "seed": number_field("runs.seed", parse_number, "a number"),
    "preset": text_field("runs.preset"),
    "name": text_field("runs.name", before="*", after="*"),
    "tag": QueryField("a tag", EQUALITY, _tag_condition),
    "note": QueryField("a text", EQUALITY, _note_condition),
    "alarm": QueryField("a kind of alarm", EQUALITY, _alarm_condition),
    "device": text_field("runs.device"),
    "host": text_field("runs.host"),
    "stage": text_field("runs.stage"),
    "labels": text_field("runs.label_hash", after="*", expects="the start of a hash"),
    "acc": number_field("runs.target_accuracy", parse_number, "a number"),
    "source": number_field("runs.source_accuracy", parse_number, "a number"),
    "pseudo": number_field("runs.pseudo_label_accuracy", parse_number, "a number"),
    "epoch": number_field("runs.epoch", parse_number, "a number"),
    "iteration": number_field("runs.iteration", parse_number, "a number"),
    "time": number_field("runs.seconds", _parse_duration, "a duration such as 90s, 5m or 2h"),
    "hardware": text_field("runs.hardware", before="*", after="*"),
    "gpu_memory": number_field("runs.gpu_memory", _parse_with_unit(BYTES), SIZE),
    "gpu_use": number_field("runs.gpu_use", parse_number, "a number"),
    "memory": number_field("runs.memory", _parse_with_unit(BYTES), SIZE),
    "energy": number_field("runs.energy", _parse_with_unit(JOULES), "an energy such as 500kJ, 90Wh or 1.5kWh"),
    "error": text_field("runs.error", before="*", after="*"),
    "since": _time_field(">="),
    "until": _time_field("<="),
}
ALIASES = {
    "accuracy": "acc",
    "target_accuracy": "acc",
    "source_accuracy": "source",
    "pseudo_label_accuracy": "pseudo",
    "seconds": "time",
    "label_hash": "labels",
    "tags": "tag",
    "alarms": "alarm",
    "before": "until",
}
