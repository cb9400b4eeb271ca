"""The option --columns: the columns of a list of runs, by their titles or the names of settings."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from clarinet_tui.cli.completion import Items, setting_names_only
from clarinet_tui.history.queries import HasSettings, varied_settings
from clarinet_tui.tables.setting_columns import setting_column, setting_text, varied_columns
from clarinet_tui.tables.table import Column, Table, make_table
from core.config import similar_names
from core.errors import InputError
from core.methods import all_setting_specs

Row = TypeVar("Row", bound=HasSettings)
Described = tuple[Column, Callable[[Row], Any]]
"""A column, and what makes its cell from a row."""


def column_names(columns: Iterable[Column]) -> list[str]:
    """Return the titles of the columns, without spaces, and the names of all settings."""
    titles = [_name(column) for column in columns]
    return [*titles, *(spec.name for spec in all_setting_specs() if spec.name not in titles)]


def _name(column: Column) -> str:
    return (column.name or column.title).replace(" ", "-")


def complete_columns(incomplete: str, columns: Iterable[Column]) -> Items:
    """Complete the last name of a list of columns."""
    before, comma, last = incomplete.rpartition(",")
    settings = dict(setting_names_only(last))
    names = (name for name in column_names(columns) if name.startswith(last))
    return [(f"{before}{comma}{name}", settings.get(name, "")) for name in names]


def parse_columns(text: str, columns: Iterable[Column], rows: Iterable[HasSettings] = ()) -> tuple[str, ...]:
    """Return the names of columns and settings in a list, also those of `rows`; none for the default columns."""
    names = tuple(filter(None, (name.strip() for name in text.split(","))))
    known = [*column_names(columns), *(name for row in rows for name in row.settings)] if names else []
    for name in names:
        if name not in known:
            near = similar_names(name, known)
            hint = f"did you mean {near}?" if near else "choose from `clarinet settings` and the titles of columns"
            raise InputError(f"--columns: no column {name!a}: {hint}")
    return names


def runs_table(
    rows: Sequence[Row], columns: Sequence[Described[Row]], chosen: Sequence[str], *, after: str, on_request: int = 0
) -> Table:
    """Describe runs in the chosen columns, or in these and, after the one with this title, the settings that differ.

    The last `on_request` columns are shown only if they are chosen.
    """
    if chosen:
        by_name = {_name(column): (replace(column, drop=0, optional=False), make_cell) for column, make_cell in columns}
        columns = [by_name.get(name) or (setting_column(name), _cell_maker(name)) for name in chosen]
    else:
        place = [column.title for column, _ in columns].index(after) + 1
        varied = varied_columns(varied_settings(rows))
        settings = [(column, _cell_maker(column.title)) for column in varied]
        columns = [*columns[:place], *settings, *columns[place : len(columns) - on_request]]
    cells = ([make_cell(row) for _, make_cell in columns] for row in rows)
    return make_table((column for column, _ in columns), cells)


def _cell_maker(name: str) -> Callable[[HasSettings], str]:
    return lambda row: setting_text(row.settings, name)
