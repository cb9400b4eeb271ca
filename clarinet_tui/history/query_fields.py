"""What can be asked of a run, and how each question is put to SQLite. Values are always parameters."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from core.errors import InputError
from core.tasks import parse_task

STATES = ("queued", "starting", "running", "finished", "failed", "stopped", "lost", "silent")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Condition(NamedTuple):
    """An SQL expression that is 0 or 1, never NULL, so that NOT does what it says."""

    sql: str
    parameters: list[Any]


class Wrong(Exception):  # noqa: N818 - says what was expected
    """The value is not what the field needs."""


@dataclass(frozen=True)
class Field:
    wants: str
    operators: tuple[str, ...]
    condition: Callable[[str, str, float], Condition]


def _equal(column: str, value: str) -> Condition:
    """Whatever the case; * stands for anything."""
    return Condition(f"(ifnull({column}, '') LIKE ? ESCAPE '\\')", [_pattern(value)])


def _pattern(value: str) -> str:
    for sign in "\\%_":
        value = value.replace(sign, "\\" + sign)
    return value.replace("*", "%")


def _negated(operator: str, condition: Condition) -> Condition:
    return Condition(f"(NOT {condition.sql})", condition.parameters) if operator == "!=" else condition


def _text(column: str) -> Field:
    return Field("a text", (":", "=", "!="), lambda sign, value, now: _negated(sign, _equal(column, value)))


def _part(column: str) -> Field:
    return Field("a text", (":", "=", "!="), lambda sign, value, now: _negated(sign, _equal(column, f"*{value}*")))


def _beginning(column: str) -> Field:
    return Field(
        "an id's beginning", (":", "=", "!="), lambda sign, value, now: _negated(sign, _equal(column, value + "*"))
    )


def _state(sign: str, value: str, now: float) -> Condition:
    if value.lower() not in STATES:
        raise Wrong(f"one of {', '.join(STATES)}")
    return _negated(sign, _equal("runs.state", value))


def _task(sign: str, value: str, now: float) -> Condition:
    """M and m are two domains, so that the case counts; "mnist->usps" is M->U."""
    try:
        value = parse_task(value).name
    except InputError:
        value = value.replace("→", "->")
    value = re.sub(r"([\[?])", r"[\1]", value)
    return _negated(sign, Condition("(ifnull(runs.task, '') GLOB ?)", [value]))


def _tag(sign: str, value: str, now: float) -> Condition:
    sql = "EXISTS (SELECT 1 FROM tags WHERE tags.run = runs.id AND tags.tag LIKE ? ESCAPE '\\')"
    return _negated(sign, Condition(f"({sql})", [_pattern(value)]))


def _note(sign: str, value: str, now: float) -> Condition:
    sql = "EXISTS (SELECT 1 FROM notes WHERE notes.run = runs.id AND notes.note LIKE ? ESCAPE '\\')"
    return _negated(sign, Condition(f"({sql})", [_pattern(f"*{value}*")]))


def _alarm(sign: str, value: str, now: float) -> Condition:
    """One that is open; alarm:* is any."""
    sql = "EXISTS (SELECT 1 FROM json_each(ifnull(runs.alarms, '[]')) WHERE json_each.value LIKE ? ESCAPE '\\')"
    return _negated(sign, Condition(f"({sql})", [_pattern(value)]))


def _number(column: str, read: Callable[[str], float], wants: str) -> Field:
    def condition(sign: str, value: str, now: float) -> Condition:
        if sign in (":", "=") and ".." in value:
            return _range(column, value, read, wants)
        if sign in (":", "="):
            sign = "="
        if sign == "!=":
            return Condition(f"({column} IS NOT ?)", [_read(read, value, wants)])
        return Condition(f"(ifnull({column} {sign} ?, 0))", [_read(read, value, wants)])

    return Field(wants, (":", "=", "!=", ">", "<", ">=", "<="), condition)


def _range(column: str, value: str, read: Callable[[str], float], wants: str) -> Condition:
    low, _, high = value.partition("..")
    if not low and not high:
        raise Wrong(f"{wants} on a side of ..")
    sql, parameters = [f"{column} IS NOT NULL"], []
    for text, sign in ((low, ">="), (high, "<=")):
        if text:
            sql.append(f"{column} {sign} ?")
            parameters.append(_read(read, text, wants))
    if len(parameters) == 2 and parameters[0] > parameters[1]:
        raise Wrong("the smaller side of .. first")
    return Condition(f"({' AND '.join(sql)})", parameters)


def _read(read: Callable[[str], float], text: str, wants: str) -> float:
    try:
        return read(text)
    except (ValueError, OverflowError):
        raise Wrong(wants) from None


def _plain(text: str) -> float:
    if not re.fullmatch(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})%?", text, re.ASCII):
        raise ValueError
    return float(text.rstrip("%"))


def _duration(text: str) -> float:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhdw]?)", text, re.ASCII)
    if not match:
        raise ValueError
    return float(match[1]) * SECONDS[match[2] or "s"]


def _moment(text: str, now: float) -> float:
    """A duration before now, a day, or a day and time, in local time."""
    if text in ("today", "yesterday"):
        day = date.fromtimestamp(now) - timedelta(days=text == "yesterday")
        return datetime(day.year, day.month, day.day).timestamp()
    try:
        return now - _duration(text)
    except ValueError:
        return datetime.fromisoformat(text).timestamp()


def _when(operator: str) -> Field:
    wants = "a time such as 2d, 12h, today or 2026-01-31"

    def condition(sign: str, value: str, now: float) -> Condition:
        return Condition(f"(runs.created {operator} ?)", [_read(lambda text: _moment(text, now), value, wants)])

    return Field(wants, (":", "="), condition)


def any_text(word: str) -> Condition:
    """A word alone: the beginning of an id, or a part of what people read."""
    columns = ("runs.name", "runs.method", "runs.task", "runs.state", "runs.host")
    parts = [_equal("runs.id", word + "*"), *(_equal(column, f"*{word}*") for column in columns)]
    parts += [_tag(":", f"*{word}*", 0.0), _note(":", word, 0.0)]
    sql = " OR ".join(part.sql for part in parts)
    return Condition(f"({sql})", [value for part in parts for value in part.parameters])


FIELDS = {
    "id": _beginning("runs.id"),
    "state": Field("a state", (":", "=", "!="), _state),
    "method": _text("runs.method"),
    "family": _text("runs.family"),
    "task": Field("a task", (":", "=", "!="), _task),
    "seed": _number("runs.seed", _plain, "a number"),
    "preset": _text("runs.preset"),
    "name": _part("runs.name"),
    "tag": Field("a tag", (":", "=", "!="), _tag),
    "note": Field("a text", (":", "=", "!="), _note),
    "alarm": Field("a kind of alarm", (":", "=", "!="), _alarm),
    "device": _text("runs.device"),
    "host": _text("runs.host"),
    "stage": _text("runs.stage"),
    "labels": _beginning("runs.label_hash"),
    "acc": _number("runs.target_accuracy", _plain, "a number"),
    "source": _number("runs.source_accuracy", _plain, "a number"),
    "pseudo": _number("runs.pseudo_label_accuracy", _plain, "a number"),
    "epoch": _number("runs.epoch", _plain, "a number"),
    "iteration": _number("runs.iteration", _plain, "a number"),
    "time": _number("runs.seconds", _duration, "a duration such as 90s, 5m or 2h"),
    "error": _part("runs.error"),
    "since": _when(">="),
    "until": _when("<="),
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


def field_named(name: str) -> Field | None:
    name = name.lower()
    return FIELDS.get(ALIASES.get(name, name))
