"""The query language: `method:clarinet task:U->M seed:1..5 acc>80 -state:failed (tag:a OR tag:"b c") since:2d`.

query       = conjunction {"OR" conjunction}
conjunction = part {["AND"] part}
part        = ("-" | "NOT") part | "(" query ")" | field operator value {"," value} | word

Operators may be in lower case; a quoted "or" is text. In quotes, `\\` escapes a quotation mark, a backslash or a star.
A query becomes an SQL condition. Values are always SQL parameters; conditions receive a value as a pattern: `*` matches
any text, `\\*` is a star and `\\\\` a backslash.
"""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from msgspec import inspect

from clarinet_tui.runs.state import RunState
from core.config import is_own_name, setting_specs, similar_names
from core.errors import InputError
from core.tasks import parse_task

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}
BYTES: dict[str, float] = {"": 1, "b": 1}
BYTES |= {f"{prefix}b": 1000.0**power for prefix, power in _POWERS.items()}
BYTES |= {f"{prefix}ib": 1024.0**power for prefix, power in _POWERS.items()}
JOULES = {"": 1.0, "j": 1.0, "kj": 1e3, "mj": 1e6, "wh": 3600.0, "kwh": 3.6e6}
SIZE = "a size such as 8GB, 512MiB or 1.5GiB"
_LIKE = {"*": "%", "\\*": "*", "%": "\\%", "_": "\\_"}
_GLOB = {"\\*": "[*]", "\\\\": "\\", "[": "[[]", "?": "[?]"}
MAX_CONDITIONS = 200
MAX_DEPTH = 50
MAX_LENGTH = 10_000
FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)(:|>=|<=|!=|=|>|<)")
"""A field and its operator."""
_BARE = re.compile(r'[^\s()",]+')
_SPACE = re.compile(r"\s*")
_OPERATORS = {name: re.compile(rf"{name}(?=[\s()]|$)", re.IGNORECASE) for name in ("AND", "OR", "NOT")}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


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


def matching_field(expects: str, match: Callable[[str], Condition]) -> QueryField:
    """Return a field whose values match or do not."""

    def condition(operator: str, value: str, now: float) -> Condition:
        matched = match(value)
        return Condition(f"(NOT {matched.sql})", matched.parameters) if operator == "!=" else matched

    return QueryField(expects, (":", "=", "!="), condition)


def text_field(column: str, *, before: str = "", after: str = "", expects: str = "a text") -> QueryField:
    """Return a field that matches a column, with wildcards `before` and `after` the value."""
    return matching_field(expects, lambda value: like(column, f"{before}{value}{after}"))


def choice_field(column: str, choices: Mapping[str, str]) -> QueryField:
    """Return a field with these values, each with the text that SQLite has for it."""
    expects = f"one of {', '.join(choices)}"

    def match(value: str) -> Condition:
        stored = choices.get(unescape(value).lower())
        if stored is None and not has_wildcard(value):
            raise InvalidValueError(expects)
        return like(column, stored or value)

    return matching_field(expects, match)


def _match_state(value: str) -> Condition:
    if value.lower() not in set(RunState):
        raise InvalidValueError(f"one of {', '.join(RunState)}")
    return like("runs.state", value)


def _match_task(value: str) -> Condition:
    """Match with regard to case, since M and m are two domains; "mnist->usps" is M->U."""
    try:
        value = value if has_wildcard(value) else escape(parse_task(unescape(value)).name)
    except InputError:
        value = value.replace("→", "->")
    pattern = re.sub(r"\\.|[\[?]", lambda match: _GLOB.get(match[0], match[0]), value, flags=re.DOTALL)
    return Condition("(ifnull(runs.task, '') GLOB ?)", [pattern])


def _exists(rows: str, column: str, pattern: str) -> Condition:
    condition = like(column, pattern)
    return Condition(f"(EXISTS (SELECT 1 FROM {rows} AND {condition.sql}))", condition.parameters)


def _match_tag(value: str) -> Condition:
    return _exists("tags WHERE tags.run = runs.id", "tags.tag", value)


def _match_note(value: str) -> Condition:
    return _exists("notes WHERE notes.run = runs.id", "notes.note", f"*{value}*")


def parse_number(text: str) -> float:
    if not re.fullmatch(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})(e[+-]?\d{1,3})?%?", text, re.ASCII | re.IGNORECASE):
        raise ValueError
    return float(text.rstrip("%"))


def number_field(column: str, parse: Callable[[str], float] = parse_number, expects: str = "a number") -> QueryField:
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
    parts += [_match_tag(f"*{word}*"), _match_note(word)]
    return _join(parts, " OR ")


FIELDS = {
    "id": text_field("runs.id", after="*", expects="the start of an id"),
    "state": matching_field("a state", _match_state),
    "method": text_field("runs.method"),
    "family": text_field("runs.family"),
    "task": matching_field("a task", _match_task),
    "seed": number_field("runs.seed"),
    "preset": text_field("runs.preset"),
    "name": text_field("runs.name", before="*", after="*"),
    "tag": matching_field("a tag", _match_tag),
    "note": matching_field("a text", _match_note),
    "alarm": matching_field(  # open ones
        "a kind of alarm",
        lambda value: _exists("json_each(ifnull(runs.alarms, '[]')) WHERE 1", "json_each.value", value),
    ),
    "device": text_field("runs.device"),
    "host": text_field("runs.host"),
    "stage": text_field("runs.stage"),
    "labels": text_field("runs.label_hash", after="*", expects="the start of a hash"),
    "acc": number_field("runs.target_accuracy"),
    "source": number_field("runs.source_accuracy"),
    "pseudo": number_field("runs.pseudo_label_accuracy"),
    "epoch": number_field("runs.epoch"),
    "iteration": number_field("runs.iteration"),
    "time": number_field("runs.seconds", _parse_duration, "a duration such as 90s, 5m or 2h"),
    "hardware": text_field("runs.hardware", before="*", after="*"),
    "gpu_memory": number_field("runs.gpu_memory", _parse_with_unit(BYTES), SIZE),
    "gpu_use": number_field("runs.gpu_use"),
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


def find_field(name: str) -> QueryField | None:
    """Return the field with this name or alias, or that of a setting."""
    name = name.lower()
    if is_own_name(name):
        return _own_field(setting_column(name))
    return FIELDS.get(ALIASES.get(name, name)) or setting_fields().get(name)


def _own_field(column: str) -> QueryField:
    """Return the field of a setting whose type only a plug-in knows, which need not be installed."""
    number = number_field(f"(SELECT value FROM (SELECT {column} AS value) WHERE typeof(value) != 'text')")

    def condition(operator: str, value: str, now: float) -> Condition:
        if operator not in (":", "=", "!="):
            return number.condition(operator, value, now)
        matches = [like(column, {"true": "1", "false": "0"}.get(value.lower(), value))]
        with suppress(InvalidValueError):
            matches.append(number.condition(":", value, now))
        matched = _join(matches, " OR ")
        return Condition(f"(NOT {matched.sql})", matched.parameters) if operator == "!=" else matched

    return QueryField("a number or a text", number.operators, condition)


def setting_column(name: str) -> str:
    """Return the SQL expression of a setting of the run in the row."""
    return f"(SELECT config ->> '$.{name}' FROM configs WHERE configs.run = runs.id)"


@cache
def setting_fields() -> Mapping[str, QueryField]:
    """Return a field for each setting whose name is not already that of a field."""
    fields = {}
    for spec in setting_specs():
        column = setting_column(spec.name)
        match spec.type:
            case inspect.IntType() | inspect.FloatType():
                fields[spec.name] = number_field(column)
            case inspect.BoolType():
                fields[spec.name] = choice_field(column, {"true": "1", "false": "0"})
            case inspect.LiteralType(values):
                fields[spec.name] = choice_field(column, {str(value): str(value) for value in values})
            case _:
                fields[spec.name] = text_field(column)
    return {name: field for name, field in fields.items() if name not in FIELDS}


@dataclass(frozen=True)
class QueryProblem:
    """What is wrong with a query, and at which character."""

    message: str
    position: int


class QueryError(InputError):
    """An invalid query: what was expected, and at which character, counted from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"query, character {position + 1}: {message}")
        self.message = message
        self.position = position


def quote_value(value: str) -> str:
    """Return a value of a field as it is written in a query that matches exactly this value."""
    if _BARE.fullmatch(value) and "\\" not in value and "*" not in value:
        return value
    return '"' + escape(value).replace('"', '\\"') + '"'


def compile_query(text: str, now: float | None = None) -> tuple[str, list[Any]]:
    """Return a condition on the table `runs` and its parameters; an empty query matches every run."""
    if len(text) > MAX_LENGTH:
        raise QueryError(f"expected at most {MAX_LENGTH} characters", MAX_LENGTH)
    text = text.encode(errors="replace").decode()
    parser = _Parser(text, time.time() if now is None else now)
    condition = parser.parse_query(0)
    if parser.position < len(text):
        raise QueryError('expected no ")" without its "("', parser.position)
    return condition.sql, condition.parameters


@dataclass
class _Parser:
    """A recursive-descent parser; each method consumes text from `position` on."""

    text: str
    now: float
    position: int = 0
    conditions: int = 0

    def parse_query(self, depth: int) -> Condition:
        if depth > MAX_DEPTH:
            raise QueryError(f"expected at most {MAX_DEPTH} parentheses inside each other", self.position)
        alternatives = [self._parse_conjunction(depth)]
        while self._take_operator("OR"):
            alternatives.append(self._parse_conjunction(depth))
        if len(alternatives) > 1 and any(alternative.sql == "1" for alternative in alternatives):
            raise self._missing_operand("OR")
        return _join(alternatives, " OR ")

    def _parse_conjunction(self, depth: int) -> Condition:
        parts: list[Condition] = []
        while not self._is_at_end_of_conjunction():
            if self._take_operator("AND") and (not parts or self._is_at_end_of_conjunction()):
                self._take(_SPACE)
                raise self._missing_operand("AND")
            self._take(_SPACE)
            parts.append(self._parse_part(depth))
        return _join(parts, " AND ")

    def _parse_part(self, depth: int) -> Condition:
        negated = False
        while self._next_character == "-" or self._is_operator("NOT"):
            negated = not negated
            if self._next_character == "-":
                self.position += 1
            elif self._take_operator("NOT") and self._is_at_end_of_conjunction():
                raise QueryError('expected a condition after NOT; the word is "not" in quotes', self.position)
        positive = self._parse_parentheses(depth) if self._next_character == "(" else self._parse_condition()
        return Condition(f"NOT {positive.sql}", positive.parameters) if negated else positive

    def _parse_parentheses(self, depth: int) -> Condition:
        start = self.position
        self.position += 1
        inner = self.parse_query(depth + 1)
        if self._next_character != ")":
            raise QueryError('expected a ")" for this "("', start)
        if inner.sql == "1":
            raise QueryError("expected a condition between the parentheses", start)
        self.position += 1
        return Condition(f"({inner.sql})", inner.parameters)

    def _parse_condition(self) -> Condition:
        self.conditions += 1
        if self.conditions > MAX_CONDITIONS:
            raise QueryError(f"expected at most {MAX_CONDITIONS} conditions", self.position)
        match = FIELD.match(self.text, self.position)
        for operator in ("AND", "OR"):
            if self._is_operator(operator):
                raise self._missing_operand(operator)
        if not match:
            return match_text(self._parse_value("a word, or a condition such as seed:1"))
        field = find_field(match[1])
        if field is None:
            fields = f"a setting that clarinet settings lists, or one of {', '.join(FIELDS)}"
            near = similar_names(match[1], [*FIELDS, *setting_fields()])
            hint = f"; did you mean {near}?" if near else ""
            raise QueryError(f"expected {fields}, got {match[1]}{hint}", self.position)
        if match[2] not in field.operators:
            raise QueryError(f"expected {match[1]} with one of {' '.join(field.operators)}", match.start(2))
        self.position = match.end()
        conditions = []
        while True:
            start = self.position
            value = self._parse_value(f"{field.expects} after {match[0]}")
            try:
                conditions.append(field.condition(match[2], value, self.now))
            except InvalidValueError as error:
                message = f"expected {error} after {match[0]}, got {unescape(value)[:40]!a}"
                raise QueryError(message, start) from None
            if self._next_character != ",":
                return _join(conditions, " OR " if match[2] != "!=" else " AND ")
            self.position += 1

    def _parse_value(self, expected: str) -> str:
        """Return the next value as a pattern; in a bare one a backslash is literal."""
        if match := self._take(_QUOTED):
            return re.sub(
                r"\\(.)", lambda escaped: escaped[0] if escaped[1] in "\\*" else escaped[1], match[1], flags=re.DOTALL
            )
        if self._next_character == '"':
            raise QueryError("expected a second quotation mark for this one", self.position)
        if match := self._take(_BARE):
            return match[0].replace("\\", "\\\\")
        raise QueryError(f"expected {expected}", self.position)

    @property
    def _next_character(self) -> str:
        return self.text[self.position : self.position + 1]

    def _is_at_end_of_conjunction(self) -> bool:
        self._take(_SPACE)
        return self._next_character in ("", ")") or self._is_operator("OR")

    def _is_operator(self, name: str) -> bool:
        return _OPERATORS[name].match(self.text, self.position) is not None

    def _take_operator(self, name: str) -> bool:
        self._take(_SPACE)
        return self._take(_OPERATORS[name]) is not None

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return match

    def _missing_operand(self, operator: str) -> QueryError:
        word = f'the word is "{operator.lower()}" in quotes'
        return QueryError(f"expected a condition on both sides of {operator}; {word}", self.position)


def _join(conditions: list[Condition], operator: str) -> Condition:
    if not conditions:
        return Condition("1", [])
    if len(conditions) == 1:
        return conditions[0]
    sql = operator.join(condition.sql for condition in conditions)
    return Condition(f"({sql})", [value for condition in conditions for value in condition.parameters])
