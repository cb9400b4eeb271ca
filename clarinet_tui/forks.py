"""What a forked child must not keep of its parent."""

import os
from collections.abc import MutableMapping, MutableSet
from typing import Any


def close_in_children(files: MutableSet[int] | MutableMapping[int, Any]) -> None:
    """Close these descriptors in every forked child, so that a lock does not outlive the process that holds it."""

    def close() -> None:
        for file in files:
            os.close(file)
        files.clear()

    os.register_at_fork(after_in_child=close)
