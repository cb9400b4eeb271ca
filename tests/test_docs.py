"""The documentation site: its pages, the command reference, and no resource from another host."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

from clarinet_tui.cli.main import GROUPS
from clarinet_tui.history.schema import TABLES

ROOT = Path(__file__).parents[1]


def test_the_site_is_complete_and_loads_nothing_from_another_host(tmp_path: Path) -> None:
    """The site as `make docs` builds it: a broken link between pages fails. It takes seconds: one test builds it."""
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    check_reference(tmp_path)
    pages = {page: page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html")}
    assert len(pages) > 25
    loaded = re.compile(r'<(?:script|img|link rel="stylesheet"|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]+')
    assert {page.name: found for page, text in pages.items() if (found := loaded.findall(text))} == {}
    local = re.compile(r'<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="(?!https?:|data:|#)([^"#?]+)')
    missing = {  # also files that are no pages, which mkdocs does not check
        f"{page.relative_to(tmp_path)}: {link}"
        for page, text in pages.items()
        if page.name != "404.html"  # its links are absolute
        for link in local.findall(text)
        if not (page.parent / unquote(link)).exists()
    }
    assert missing == set()


def check_reference(site: Path) -> None:
    """Every command, promise, table and function has its place."""
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    names = [name for group in GROUPS.values() for name in group]
    assert [name for name in names if f'id="clarinet-{name}"' not in commands] == []
    assert (site / "decisions" / "0001-one-generator-two-stages.html").exists()
    assert "A killed worker loses no recorded number" in (site / "guarantees.html").read_text(encoding="utf-8")
    schema = (site / "reference" / "schema.html").read_text(encoding="utf-8")
    assert all(f'id="{table}"' in schema for table in TABLES)
    assert "<code>journal_state</code>" in schema
    assert 'id="clarinet_tui.api.History.runs"' in (site / "reference" / "python.html").read_text(encoding="utf-8")


def test_every_guide_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = sorted((ROOT / "docs" / "guides").glob("*.md"))
    assert [page.name for page in pages if f"guides/{page.name}" not in navigation] == []
