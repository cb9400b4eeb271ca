"""The settings of a run as fields of a query."""

from collections.abc import Mapping
from functools import cache

from msgspec import inspect

from clarinet_tui.history.query_fields import (
    ALIASES,
    EQUALITY,
    FIELDS,
    Condition,
    InvalidValueError,
    QueryField,
    has_wildcard,
    like,
    negate_if,
    number_field,
    parse_number,
    text_field,
    unescape,
)
from core.config import SettingSpec, setting_specs


def find_field(name: str) -> QueryField | None:
    """Return the field with this name or alias, or that of a setting."""
    name = name.lower()
    return FIELDS.get(ALIASES.get(name, name)) or setting_fields().get(name)


@cache
def setting_fields() -> Mapping[str, QueryField]:
    """Return a field for each setting whose name is not already that of a field."""
    return {spec.name: _make_field(spec) for spec in setting_specs() if spec.name not in FIELDS}


def _make_field(spec: SettingSpec) -> QueryField:
    column = f"(SELECT config ->> '$.{spec.name}' FROM configs WHERE configs.run = runs.id)"
    match spec.plain_type:
        case inspect.IntType() | inspect.FloatType():
            return number_field(column, parse_number, "a number")
        case inspect.BoolType():
            return _choice_field(column, {"true": "1", "false": "0"})
        case inspect.LiteralType(values):
            return _choice_field(column, {str(value): str(value) for value in values})
    return text_field(column)


def _choice_field(column: str, choices: Mapping[str, str]) -> QueryField:
    """Return a field with these values, each with the text that SQLite has for it."""
    expects = f"one of {', '.join(choices)}"

    def condition(operator: str, value: str, now: float) -> Condition:
        stored = choices.get(unescape(value).lower())
        if stored is None and not has_wildcard(value):
            raise InvalidValueError(expects)
        return negate_if(operator, like(column, stored or value))

    return QueryField(expects, EQUALITY, condition)
