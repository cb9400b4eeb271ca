"""What came of something that was asked of runs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """For people: what was done, and what could not be."""

    sentence: str = ""
    problems: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    """The runs that it was done to."""
    text: str = ""
    """What was asked for."""
