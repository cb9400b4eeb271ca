"""The guides name commands, options, query fields and settings that exist."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from clarinet_tui.cli.main import app
from clarinet_tui.history.query_language import FIELDS, compile_query
from core.config import setting_specs

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
PAGES = ("first-week.md", "queries.md", "settings.md", "alarms.md", "use-a-model.md")
COMMANDS: dict[str, object] = get_command(app).commands  # type: ignore[attr-defined]


def read(page: str) -> str:
    return (GUIDES / page).read_text(encoding="utf-8")


def commands(page: str) -> list[list[str]]:
    """Return the words of every clarinet command in the code of a page."""
    code = "\n".join(re.findall(r"```\n(.*?)```", read(page), re.DOTALL))
    lines = [part.strip() for line in code.splitlines() for part in re.split(r"#|; ", line)]
    return [shlex.split(line) for line in lines if line.startswith("clarinet ")]


@cache
def help_of(*names: str) -> str:
    return CliRunner().invoke(app, [*names, "--help"]).output


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_exist(page: str) -> None:
    assert commands(page)
    for _, name, *words in commands(page):
        assert name in COMMANDS, (page, name)
        nested = [word for word in words[:1] if word in getattr(COMMANDS[name], "commands", {})]
        for option in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert re.search(rf"(^|\s){option}\b", help_of(name, *nested)), (page, name, option)


def test_query_guide_lists_every_field_and_its_queries_are_valid() -> None:
    page = read("queries.md")
    assert re.findall(r"^\| `(\w+)` \| (?!a word)", page.partition("## Fields")[2], re.MULTILINE) == list(FIELDS)
    rows = re.findall(r"^\| (`.*?`) \| ", page.partition("## Fields")[0], re.MULTILINE)
    queries = [query for row in rows for query in re.findall(r"`(.*?)`", row)]
    queries += [words[2] for words in commands("queries.md") if words[1] == "ls"]
    assert len(queries) > 12
    for query in queries:
        compile_query(query)


def test_settings_guide_names_settings_that_exist() -> None:
    names = {spec.name for spec in setting_specs()} | {"stage1"}
    page = read("settings.md")
    assert set(re.findall(r"^(\w+) = ", page, re.MULTILINE)) <= names | {"epochs"}
    assert set(re.findall(r"--(?:set|grid) ([a-z][\w.]*)=", page)) <= names
