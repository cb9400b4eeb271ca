"""Hooks of mkdocs: the references of commands and tables come from the program; all decisions are in the navigation."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlite_utils
from typer.main import get_command

from clarinet_tui.cli.main import GROUPS, app
from clarinet_tui.history.database import Database
from clarinet_tui.history.schema import TABLES

COMMANDS_PAGE, SCHEMA_PAGE = "reference/commands.md", "reference/schema.md"
TEST_NAME = re.compile(r"<code>(tests/[^<]+)</code>")


def on_config(config: Any) -> Any:
    """Add the decisions to the navigation, in the order of their numbers."""
    folder = Path(config["docs_dir"]) / "decisions"
    config["nav"].append({"Decisions": [f"decisions/{page.name}" for page in sorted(folder.glob("*.md"))]})
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Add the commands and the tables to their pages."""
    texts = {COMMANDS_PAGE: commands_text, SCHEMA_PAGE: schema_text}
    text = texts.get(page.file.src_uri)
    return markdown + text() if text else markdown


def on_page_content(html: str, **_: Any) -> str:
    """On narrow screens, let the long names of tests break at their parts, and no mean break before its deviation."""
    html = TEST_NAME.sub(lambda name: re.sub(r"(::|(?<!<)[/_])", r"\1<wbr>", name[0]), html)
    return html.replace(" ± ", "&nbsp;±&nbsp;")


def commands_text() -> str:
    """Return every command with its description, example, arguments and options."""
    root: Any = get_command(app)
    lines: list[str] = []
    for title, names in GROUPS.items():
        lines += ["", f"## {title}"]
        for name in names:
            command = root.get_command(None, name)
            lines += _describe(f"clarinet {name}", command)
            for nested, subcommand in getattr(command, "commands", {}).items():
                lines += _describe(f"clarinet {name} {nested}", subcommand)
    return "\n".join(lines) + "\n"


def schema_text() -> str:
    """Return every table of a new database with its columns; those of the primary key are in bold."""
    lines: list[str] = []
    with Database.in_memory() as history:
        database = sqlite_utils.Database(history.connection)
        for name, described in TABLES.items():
            lines += ["", f"### {name}", "", f"A row is {described.row}."]
            lines += ["", "| column | type | meaning |", "|---|---|---|"]
            for column in database.table(name).columns:
                title = f"**`{column.name}`**" if column.is_pk else f"`{column.name}`"
                lines.append(f"| {title} | {column.type} | {described.columns[column.name][1]} |")
    return "\n".join(lines) + "\n"


def _describe(name: str, command: Any) -> Iterator[str]:
    description, _, example = (command.help or "").partition("Example:")
    yield from ("", f"### {name}", "", description.strip())
    if example:
        yield from ("", "```", example.strip(), "```")
    rows = [row for parameter in command.params if (row := _parameter_row(parameter))]
    if rows:
        yield from ("", "| argument or option | meaning |", "|---|---|", *rows)


def _parameter_row(parameter: Any) -> str:
    """Return a row of the table; empty for --help and for hidden options."""
    if getattr(parameter, "hidden", False) or "--help" in parameter.opts:
        return ""
    is_option = parameter.param_type_name == "option"
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    name = names if is_option else f"`{parameter.metavar or parameter.name.upper()}`"
    default = parameter.default
    shown = default is not None and not callable(default) and not isinstance(default, bool) and default not in ("", ())
    text = (getattr(parameter, "help", None) or "").replace("|", "\\|")
    return f"| {name} | {text}{f' Default: `{default}`.' if is_option and shown else ''} |"
