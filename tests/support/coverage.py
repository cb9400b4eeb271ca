"""Processes without coverage.py, which imports sqlite3 and prints: for tests of what a process imports or prints."""

import os


def unmeasured_environment() -> dict[str, str]:
    """Return the environment without the variables that start coverage.py in every Python process."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
