"""The query language: `method:clarinet task:U->M seed:1..5 acc>80 -state:failed (tag:a OR tag:"b c") since:2d`.

query       = conjunction {"OR" conjunction}
conjunction = part {["AND"] part}
part        = ("-" | "NOT") part | "(" query ")" | field operator value {"," value} | word

Operators may be in lower case; a quoted "or" is text. In quotes, `\\` escapes a quotation mark, a backslash or a star.
"""

import re
import time
from dataclasses import dataclass
from typing import Any

from clarinet_tui.history.query_fields import (
    FIELDS,
    Condition,
    InvalidValueError,
    QueryField,
    escape,
    match_text,
    unescape,
)
from clarinet_tui.history.setting_fields import find_field
from core.errors import InputError

MAX_CONDITIONS = 200
MAX_DEPTH = 50
MAX_LENGTH = 10_000
FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)(:|>=|<=|!=|=|>|<)")
"""A field and its operator."""
_BARE = re.compile(r'[^\s()",]+')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


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
                self._skip_space()
                raise self._missing_operand("AND")
            self._skip_space()
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
            raise QueryError(f"expected {fields}, got {match[1]}", self.position)
        if match[2] not in field.operators:
            raise QueryError(f"expected {match[1]} with one of {' '.join(field.operators)}", match.start(2))
        self.position = match.end()
        return _join(self._parse_values(field, match), " OR " if match[2] != "!=" else " AND ")

    def _parse_values(self, field: QueryField, match: "re.Match[str]") -> list[Condition]:
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
                return conditions
            self.position += 1

    def _parse_value(self, expected: str) -> str:
        """Return the next value as a pattern; in a bare one a backslash is literal."""
        match = _QUOTED.match(self.text, self.position)
        if match:
            self.position = match.end()
            return re.sub(
                r"\\(.)", lambda escaped: escaped[0] if escaped[1] in "\\*" else escaped[1], match[1], flags=re.DOTALL
            )
        if self._next_character == '"':
            raise QueryError("expected a second quotation mark for this one", self.position)
        match = _BARE.match(self.text, self.position)
        if not match:
            raise QueryError(f"expected {expected}", self.position)
        self.position = match.end()
        return match[0].replace("\\", "\\\\")

    @property
    def _next_character(self) -> str:
        return self.text[self.position : self.position + 1]

    def _is_at_end_of_conjunction(self) -> bool:
        self._skip_space()
        return self._next_character in ("", ")") or self._is_operator("OR")

    def _take_operator(self, name: str) -> bool:
        self._skip_space()
        if not self._is_operator(name):
            return False
        self.position += len(name)
        return True

    def _is_operator(self, name: str) -> bool:
        end = self.position + len(name)
        after = self.text[end : end + 1]
        return self.text[self.position : end].upper() == name and (not after or after.isspace() or after in "()")

    def _missing_operand(self, operator: str) -> QueryError:
        word = f'the word is "{operator.lower()}" in quotes'
        return QueryError(f"expected a condition on both sides of {operator}; {word}", self.position)

    def _skip_space(self) -> None:
        while self._next_character.isspace():
            self.position += 1


def _join(conditions: list[Condition], operator: str) -> Condition:
    if not conditions:
        return Condition("1", [])
    if len(conditions) == 1:
        return conditions[0]
    sql = operator.join(condition.sql for condition in conditions)
    return Condition(f"({sql})", [value for condition in conditions for value in condition.parameters])
