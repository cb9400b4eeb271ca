"""Each promise of docs/guarantees.md names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
PROMISES = re.findall(r"^\*\*.+?(?=^\*\*|^## )", PAGE, re.MULTILINE | re.DOTALL)


def test_each_promise_names_a_test() -> None:
    assert len(PROMISES) == len(re.findall(r"^\*\*", PAGE, re.MULTILINE)) > 20
    assert [promise for promise in PROMISES if not re.search(r"^Tests: `tests/", promise, re.MULTILINE)] == []


def test_each_named_test_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) == PAGE.count("`tests/")
    missing = [f"{path}::{name}" for path, name in named if not defines_test(ROOT / path, name)]
    assert missing == []


def defines_test(path: Path, name: str) -> bool:
    pattern = rf"^(?:async )?def {name}\("
    return path.exists() and re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE) is not None
