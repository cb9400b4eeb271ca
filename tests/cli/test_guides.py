"""Every command in the documentation can be typed as it is written; query fields and settings exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from clarinet_tui.cli.main import app
from clarinet_tui.history.query_language import FIELDS, compile_query
from core.config import setting_specs

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of every clarinet command in the code of a page."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    code = "".join(block for language, block in blocks if language in ("", "sh"))
    text = ""
    for line in code.replace("\\\n", " ").replace("; clarinet", "\nclarinet").splitlines():
        text += f"{line}\n"
        try:
            words = shlex.split(text, comments=True)
        except ValueError:  # a quotation continues on the next line
            continue
        text = ""
        if words[:1] == ["clarinet"]:
            yield [word for word in words[1:] if word != "…"]


PAGES = [page for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")) if any(commands(page))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_can_be_parsed(page: Path) -> None:
    for words in commands(page):
        command: Any = get_command(app)
        while words and words[0] in getattr(command, "commands", {}):
            command, words = command.get_command(None, words[0]), words[1:]
        assert command.name != "clarinet", words
        command.make_context(command.name, words)


def test_query_guide_lists_every_field_and_its_queries_are_valid() -> None:
    start, _, fields = (GUIDES / "queries.md").read_text(encoding="utf-8").partition("## Fields")
    assert re.findall(r"^\| `(\w+)` \| (?!a word)", fields, re.MULTILINE) == list(FIELDS)
    queries = [
        query for row in re.findall(r"^\| (`.*?`) \| ", start, re.MULTILINE) for query in row[1:-1].split("`, `")
    ]
    queries += [words[1] for words in commands(GUIDES / "queries.md") if words[0] == "ls"]
    assert len(queries) > 12
    for query in queries:
        compile_query(query)


def test_settings_guide_names_settings_that_exist() -> None:
    names = {spec.name for spec in setting_specs()} | {"stage1"}
    page = (GUIDES / "settings.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^(\w+) = ", page, re.MULTILINE)) <= names
    assert set(re.findall(r"--(?:set|grid) ([a-z][\w.]*)=", page)) <= names
