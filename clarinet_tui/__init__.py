"""The experiment manager. To read results from Python, and to train runs that are recorded:

from clarinet_tui import History, record
for event in record(method="clarinet", task="Y->D", preset="smoke"):
    print(event)
with History("runs") as history:
    print(history.runs("method:clarinet acc>80"))
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clarinet_tui.api import History
    from clarinet_tui.recorded import record

__all__ = ["History", "record"]


def __getattr__(name: str) -> Any:
    """Import these on first use: every command imports this package."""
    if name == "History":
        from clarinet_tui.api import History

        return History
    if name == "record":
        from clarinet_tui.recorded import record

        return record
    raise AttributeError(f"module 'clarinet_tui' has no attribute {name!r}")
