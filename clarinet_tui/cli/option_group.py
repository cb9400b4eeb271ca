"""Options of a command as the fields of a dataclass, which several commands can share."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command for Typer: each field of its last parameter, if that is a dataclass, becomes an option.

    The command stays an ordinary function, so that types of calls are checked; Typer reads only signatures.
    """
    parameters = list(inspect.signature(command).parameters.values())
    group = parameters[-1].annotation if parameters else None
    if not (isinstance(group, type) and is_dataclass(group)):
        return command
    last = parameters.pop()
    types, keyword = get_type_hints(group, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    parameters = [parameter.replace(kind=keyword) for parameter in parameters]
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
