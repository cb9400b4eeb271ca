"""Which GPUs CUDA_VISIBLE_DEVICES leaves, by the rules of CUDA as torch applies them."""

import re
from collections.abc import Sequence

NAME = "CUDA_VISIBLE_DEVICES"
BEGINNINGS = ("GPU-", "MIG-")


def visible_indices(value: str | None, uuids: Sequence[str]) -> list[int]:
    """Indices into `uuids`, in the variable's order. It ends at the first invalid entry; a repeated one voids it."""
    if value is None:
        return list(range(len(uuids)))
    entries = value.split(",")
    by_uuid = value.startswith("GPU-")
    found: list[int] = []
    for entry in entries:
        index = _by_uuid(entry, uuids) if by_uuid else _by_number(entry.strip(), len(uuids))
        if index is None:
            break
        if index in found:
            return []
        found.append(index)
    return found


def _by_uuid(entry: str, uuids: Sequence[str]) -> int | None:
    """The one GPU whose UUID begins so."""
    matches = [index for index, uuid in enumerate(uuids) if entry.startswith("GPU-") and uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None


def _by_number(entry: str, count: int) -> int | None:
    """CUDA reads the digits that an entry begins with, and nothing after them."""
    digits = re.match(r"\+?([0-9]+)", entry)
    index = int(digits[1]) if digits else count
    return index if index < count else None
