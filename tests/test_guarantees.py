"""Each promise of docs/guarantees.md names tests that exist, and only what it names contacts a server."""

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


def test_only_downloads_and_notifications_contact_a_server() -> None:
    """The modules of `clarinet serve` and `clarinet label` listen on this machine; lock.py reads the machine's name."""
    modules = r"urllib\.request|urllib3|http|socket|ssl|aiohttp|httpx|requests|ftplib|smtplib|torch\.hub"
    client = re.compile(rf"^ *(?:import|from) (?:{modules})\b", re.MULTILINE)
    paths = [path for package in ("core", "clarinet_tui") for path in (ROOT / package).rglob("*.py")]
    importing = {str(path.relative_to(ROOT)) for path in paths if client.search(path.read_text(encoding="utf-8"))}
    assert importing == {
        "core/data/download.py",
        "clarinet_tui/worker/notifications.py",
        "clarinet_tui/ui/serve/server.py",
        "clarinet_tui/ui/serve/label_server.py",
        "clarinet_tui/runs/lock.py",
    }


def defines_test(path: Path, name: str) -> bool:
    pattern = rf"^(?:async )?def {name}\("
    return path.exists() and re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE) is not None
