"""Options of a command as the fields of a dataclass, which several commands can share."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def with_option_group(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its last parameter, a dataclass, as options: Typer reads signatures."""
    *others, last = inspect.signature(command).parameters.values()
    group = last.annotation
    assert is_dataclass(group)
    assert isinstance(group, type)
    types, keyword = get_type_hints(group, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    parameters = [parameter.replace(kind=keyword) for parameter in others]
    parameters += [
        inspect.Parameter(field.name, keyword, default=field.default, annotation=types[field.name])
        for field in fields(group)
    ]

    @wraps(command)
    def grouped(**values: Any) -> None:
        options = {field.name: values.pop(field.name) for field in fields(group)}
        command(**values, **{last.name: group(**options)})

    grouped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    grouped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return grouped
