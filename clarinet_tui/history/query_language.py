"""The one query language: `method:clarinet task:U->M seed:1..5 acc>80 -state:failed (tag:a OR tag:"b c") since:2d`.

query  = either {"OR" either}
either = part {["AND"] part}
part   = "-" part | "(" query ")" | field operator value {"," value} | word
"""

import re
import time
from dataclasses import dataclass
from typing import Any

from clarinet_tui.history.query_fields import FIELDS, Condition, Wrong, any_text, field_named
from core.errors import InputError

MOST_CONDITIONS = 200
DEEPEST = 50
LONGEST = 10_000
_FIELD = re.compile(r"([A-Za-z_]+)(:|>=|<=|!=|=|>|<)")
_BARE = re.compile(r'[^\s()",]+')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


class QueryError(InputError):
    """What is wrong with a query, and at which character, counted from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"query, character {position + 1}: {message}")
        self.message = message
        self.position = position


def compile_query(text: str, now: float | None = None) -> tuple[str, list[Any]]:
    """A condition on the table `runs`, and its parameters; an empty query is true of every run."""
    if len(text) > LONGEST:
        raise QueryError(f"expected at most {LONGEST} characters", LONGEST)
    text = text.encode(errors="replace").decode()
    parser = _Parser(text, time.time() if now is None else now)
    condition = parser.query(0)
    if parser.at < len(text):
        raise QueryError('expected no ")" without its "("', parser.at)
    return condition.sql, condition.parameters


@dataclass
class _Parser:
    text: str
    now: float
    at: int = 0
    conditions: int = 0

    def query(self, depth: int) -> Condition:
        if depth > DEEPEST:
            raise QueryError(f"expected at most {DEEPEST} parentheses inside each other", self.at)
        choices = [self._all(depth)]
        while self._word("OR"):
            choices.append(self._all(depth))
        if len(choices) > 1 and not all(choice.sql != "1" for choice in choices):
            raise QueryError("expected a condition on both sides of OR", self.at)
        return _joined(choices, " OR ")

    def _all(self, depth: int) -> Condition:
        parts: list[Condition] = []
        while True:
            self._skip_space()
            if self.at >= len(self.text) or self.text[self.at] == ")" or self._ahead("OR"):
                return _joined(parts, " AND ")
            if self._word("AND"):
                self._skip_space()
                if not parts or self.at >= len(self.text):
                    raise QueryError("expected a condition on both sides of AND", self.at)
            parts.append(self._part(depth))

    def _part(self, depth: int) -> Condition:
        negated = False
        while self.text[self.at : self.at + 1] == "-":
            negated, self.at = not negated, self.at + 1
        positive = self._parenthesis(depth) if self.text[self.at : self.at + 1] == "(" else self._condition()
        return Condition(f"NOT {positive.sql}", positive.parameters) if negated else positive

    def _parenthesis(self, depth: int) -> Condition:
        opened = self.at
        self.at += 1
        inner = self.query(depth + 1)
        if self.text[self.at : self.at + 1] != ")":
            raise QueryError('expected a ")" for this "("', opened)
        if inner.sql == "1":
            raise QueryError("expected a condition between the parentheses", opened)
        self.at += 1
        return Condition(f"({inner.sql})", inner.parameters)

    def _condition(self) -> Condition:
        self.conditions += 1
        if self.conditions > MOST_CONDITIONS:
            raise QueryError(f"expected at most {MOST_CONDITIONS} conditions", self.at)
        match = _FIELD.match(self.text, self.at)
        if not match:
            return any_text(self._value("a word, or a condition such as seed:1"))
        field = field_named(match[1])
        if field is None:
            raise QueryError(f"expected one of {', '.join(FIELDS)}, got {match[1]}", self.at)
        if match[2] not in field.operators:
            raise QueryError(f"expected {match[1]} with one of {' '.join(field.operators)}", match.start(2))
        self.at = match.end()
        return _joined(self._values(field, match), " OR " if match[2] != "!=" else " AND ")

    def _values(self, field: Any, match: "re.Match[str]") -> list[Condition]:
        conditions = []
        while True:
            began = self.at
            value = self._value(f"{field.wants} after {match[0]}")
            try:
                conditions.append(field.condition(match[2], value, self.now))
            except Wrong as wrong:
                raise QueryError(f"expected {wrong} after {match[0]}, got {value[:40]!a}", began) from None
            if self.text[self.at : self.at + 1] != ",":
                return conditions
            self.at += 1

    def _value(self, expected: str) -> str:
        match = _QUOTED.match(self.text, self.at)
        if match:
            self.at = match.end()
            return re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL)
        if self.text[self.at : self.at + 1] == '"':
            raise QueryError("expected a second quotation mark for this one", self.at)
        match = _BARE.match(self.text, self.at)
        if not match:
            raise QueryError(f"expected {expected}", self.at)
        self.at = match.end()
        return match[0]

    def _word(self, word: str) -> bool:
        self._skip_space()
        if not self._ahead(word):
            return False
        self.at += len(word)
        return True

    def _ahead(self, word: str) -> bool:
        end = self.at + len(word)
        return self.text[self.at : end] == word and (end >= len(self.text) or self.text[end] in " \t\n()")

    def _skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1


def _joined(conditions: list[Condition], word: str) -> Condition:
    if not conditions:
        return Condition("1", [])
    if len(conditions) == 1:
        return conditions[0]
    sql = word.join(condition.sql for condition in conditions)
    return Condition(f"({sql})", [value for condition in conditions for value in condition.parameters])
