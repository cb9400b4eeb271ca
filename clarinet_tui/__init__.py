"""The experiment manager. To read results from Python, and to train runs that are recorded:

from clarinet_tui import History, record
for event in record(method="clarinet", task="Y->D", preset="smoke"):
    print(event)
with History("runs") as history:
    print(history.runs("method:clarinet acc>80"))
"""

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clarinet_tui.api import History
    from clarinet_tui.recorded import record

__all__ = ["History", "record"]


def _check_core() -> None:
    """Raise ImportError if another `core` hides ours, such as a core.py in the folder of a user's script."""
    spec = find_spec("core")
    if spec is None:
        return  # the import of its modules fails with Python's own message
    own = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "core", "__init__.py")  # noqa: PTH100, PTH118, PTH120
    if spec.origin is None or os.path.realpath(spec.origin) != os.path.realpath(own):
        found = spec.origin or "a folder without __init__.py"
        raise ImportError(
            f"Clarinet has a package named core, and Python finds another one: {found}. Rename that one, or start "
            "Python with -P, which does not search the folder of the script"
        )


_check_core()


def __getattr__(name: str) -> Any:
    """Import these on first use: every command imports this package."""
    if name == "History":
        from clarinet_tui.api import History

        return History
    if name == "record":
        from clarinet_tui.recorded import record

        return record
    raise AttributeError(f"module 'clarinet_tui' has no attribute {name!r}")
