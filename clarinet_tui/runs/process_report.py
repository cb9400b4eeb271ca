"""What a process that works for the app reports to it: a line of JSON for each step, the last one with the result."""

from msgspec import Struct

from clarinet_tui.runs.inspection_file import Picture

PROCESS = "clarinet_tui.models.app_process"
"""The module of that process; the app starts it and never imports it."""


class ProcessReport(Struct, frozen=True, omit_defaults=True):
    """Progress, an error that ended the process, or the result."""

    what: str = ""
    done: int = 0
    total: int = 0
    error: str = ""
    pictures: tuple[Picture, ...] = ()
    """Samples of both domains, if they were asked for."""
