"""The experiment manager. To read results from Python:

from clarinet_tui import History
with History("runs") as history:
    print(history.runs("method:clarinet acc>80"))
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clarinet_tui.api import History

__all__ = ["History"]


def __getattr__(name: str) -> Any:
    """Import History on first use: every command imports this package."""
    if name == "History":
        from clarinet_tui.api import History

        return History
    raise AttributeError(f"module 'clarinet_tui' has no attribute {name!r}")
