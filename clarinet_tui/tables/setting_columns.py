"""Settings as columns: the same titles, cells and precedence in `clarinet ls`, the queue, Devices and History."""

from collections.abc import Mapping, Sequence
from typing import Any

from clarinet_tui.tables.table import Column
from clarinet_tui.text import format_setting

MAX_VARIED = 2
"""Settings that differ and are shown before other columns where there is little room."""
MAX_COLUMNS = 16
"""Settings that differ for which there could be room."""


def setting_column(name: str, drop: int = 0) -> Column:
    """Return the column of a setting, whose cells are those of `setting_text`."""
    return Column(name, right=True, drop=drop)


def varied_columns(names: Sequence[str]) -> list[Column]:
    """Return the columns of settings that differ: a narrow table drops the first ones late, and the rest early."""
    return [setting_column(name, 1 if at < MAX_VARIED else 10 + at) for at, name in enumerate(names[:MAX_COLUMNS])]


def setting_text(settings: Mapping[str, Any], name: str) -> str:
    """Format a setting of a run; empty if the run does not have it."""
    return format_setting(settings[name]) if name in settings else ""
