"""The manager of runs. From Python, read what they recorded:

from clarinet_tui import History
with History("runs") as history:
    print(history.runs("method:clarinet acc>80"))
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clarinet_tui.api import History

__all__ = ["History"]


def __getattr__(name: str) -> Any:
    """Load what reads only when it is asked for: every command imports this package."""
    if name == "History":
        from clarinet_tui.api import History

        return History
    raise AttributeError(f"module 'clarinet_tui' has no attribute {name!r}")
