"""What a terminal shows of tables."""

import io
from typing import Any

from rich.console import Console


def printed(view: Any, width: int = 80) -> str:
    """Return what Rich prints, without colours."""
    page = io.StringIO()
    Console(file=page, width=width, highlight=False).print(view)
    return page.getvalue()
