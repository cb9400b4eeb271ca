"""Values that a test knows to be there."""

from typing import TypeVar

Value = TypeVar("Value")


def known(value: Value | None) -> Value:
    assert value is not None
    return value
