"""The documentation site: its pages, the command reference, and no resource from another host."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from clarinet_tui.cli.main import GROUPS
from clarinet_tui.history.schema import TABLES

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it; a broken link between pages fails."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", "--site-dir", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def test_every_command_and_promise_has_a_place(site: Path) -> None:
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    names = [name for group in GROUPS.values() for name in group]
    assert [name for name in names if f'id="clarinet-{name}"' not in commands] == []
    assert (site / "decisions" / "0001-one-generator-two-stages.html").exists()
    assert "A killed worker loses no recorded number" in (site / "guarantees.html").read_text(encoding="utf-8")
    schema = (site / "reference" / "schema.html").read_text(encoding="utf-8")
    assert all(f'id="{table}"' in schema for table in TABLES)
    assert "<code>journal_state</code>" in schema
    assert 'id="clarinet_tui.api.History.runs"' in (site / "reference" / "python.html").read_text(encoding="utf-8")


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    loaded = re.compile(r'<(?:script|img|link rel="stylesheet"|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]+')
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 25
    assert {page.name: found for page in pages if (found := loaded.findall(page.read_text(encoding="utf-8")))} == {}


def test_every_link_and_picture_leads_to_a_file_of_the_site(site: Path) -> None:
    """Also to files that are no pages, which mkdocs does not check."""
    local = re.compile(r'<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="(?!https?:|data:|#)([^"#?]+)')
    missing = {
        f"{page.relative_to(site)}: {link}"
        for page in site.rglob("*.html")
        if page.name != "404.html"  # its links are absolute
        for link in local.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / unquote(link)).exists()
    }
    assert missing == set()


def test_every_guide_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = sorted((ROOT / "docs" / "guides").glob("*.md"))
    assert [page.name for page in pages if f"guides/{page.name}" not in navigation] == []
