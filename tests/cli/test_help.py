"""`clarinet --help` in a terminal of 80 columns, and the help of every command."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from clarinet_tui.cli.main import GROUPS, app

ROOT: Any = get_command(app)
COMMANDS: dict[str, object] = {name: ROOT.get_command(None, name) for name in ROOT.list_commands(None)}


def help_text(*arguments: str) -> str:
    result = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).invoke(app, [*arguments, "--help"])
    assert result.exit_code == 0, result.output
    return result.output


def every_command() -> Iterator[tuple[str, ...]]:
    for name, command in COMMANDS.items():
        yield (name,)
        yield from ((name, sub) for sub in getattr(command, "commands", {}))


def first_sentence(command: object) -> str:
    text: str = getattr(command, "help", "")
    return text.partition("\n")[0]


def test_each_group_lists_its_commands_with_whole_sentences() -> None:
    text = help_text()
    for title, names in GROUPS.items():
        section = re.search(rf"^{title}:\n((?:  .*\n)+)", text, re.MULTILINE)
        assert section is not None, title
        lines = [re.split(r"  +", line.strip(), maxsplit=1) for line in section[1].splitlines()]
        assert lines == [[name, first_sentence(COMMANDS[name])] for name in names]


@pytest.mark.parametrize("group", [(), ("queue",), ("data",)])
def test_no_line_of_a_listing_is_wrapped_or_cut(group: tuple[str, ...]) -> None:
    text = help_text(*group)
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.replace("[ARGS]...", "")
    listing = text[text.index("Train:" if not group else "Commands:") :]
    assert all(re.match(r"(  [a-z]+ +[A-Z].*\.|[A-Z].*:|)$", line) for line in listing.splitlines())
    if not group:
        options = text[text.index("Options:") : text.index("Train:")].strip().splitlines()[1:]
        assert all(line.startswith(("  --", "  -h")) for line in options)
        assert any("--install-completion" in line for line in options)


@pytest.mark.parametrize("names", every_command())
def test_every_command_has_an_example(names: tuple[str, ...]) -> None:
    if names != ("data",):
        assert f"Example: clarinet {' '.join(names)}" in " ".join(help_text(*names).split())
