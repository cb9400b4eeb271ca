"""The `clarinet` program: its commands, and the exit code for invalid input."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from clarinet_tui.cli import (
    backup,
    check,
    compare,
    data,
    demo,
    devices,
    diff,
    doctor,
    export,
    inspect,
    label,
    logs,
    ls,
    metrics,
    plot,
    predict,
    queue,
    reindex,
    report,
    rm,
    run,
    save,
    serve,
    settings,
    show,
    sql,
    stop,
    sweep,
    table,
    tag,
    tui,
    verify,
)
from clarinet_tui.cli.options import with_options
from clarinet_tui.cli.output import warn
from clarinet_tui.streams import replace_unencodable
from core.errors import InputError

MAX_MESSAGE = 2000
"""Characters of an error message, which may quote long input."""
ADVISED = re.compile(r"`(clarinet (?!data\b)[a-z]+[^`]*)`")
"""A command in an error message that takes a runs directory."""

GROUPS: dict[str, dict[str, typer.Typer | Callable[..., None]]] = {
    "Train": {"run": run.run, "sweep": sweep.sweep, "demo": demo.demo},
    "Runs and queue": {
        "queue": queue.app,
        "stop": stop.stop,
        "resume": stop.resume,
        "clone": stop.clone,
        "rm": rm.remove,
        "tag": tag.tag,
        "note": tag.note,
        "tui": tui.tui,
        "serve": serve.serve,
    },
    "History": {
        "ls": ls.list_,
        "show": show.show,
        "logs": logs.logs,
        "metrics": metrics.metrics,
        "sql": sql.sql,
        "export": export.export,
        "import": export.import_,
        "reindex": reindex.reindex,
        "check": check.check,
        "backup": backup.backup,
        "restore": backup.restore,
    },
    "Models": {"predict": predict.predict, "inspect": inspect.inspect, "save": save.save},
    "Evidence": {
        "compare": compare.compare,
        "diff": diff.diff,
        "table": table.table,
        "plot": plot.plot,
        "report": report.report,
        "verify": verify.verify,
    },
    "Reference": {
        "settings": settings.settings,
        "methods": settings.methods,
        "tasks": settings.tasks,
        "presets": settings.presets,
    },
    "Machine and data": {"devices": devices.devices, "doctor": doctor.doctor, "data": data.app, "label": label.label},
}
"""Every command, under its heading in `clarinet --help`."""


class GroupedCommands(TyperGroup):
    """Lists the commands under headings in plain text: importing Rich for its panels nearly doubles the time."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for title, names in GROUPS.items():
            rows = [(f"{name:<{width}}", self.commands[name].get_short_help_str(formatter.width)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)
        for parameter in parameters:
            if parameter.name == "show_completion":  # Typer's own sentence takes two lines
                parameter.help = "Print the completion script of the current shell."
        return parameters


app = typer.Typer(
    name="clarinet",
    cls=GroupedCommands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback(invoke_without_command=True)
def clarinet(
    context: typer.Context,
    db: Annotated[Path | None, Option("--db", metavar="FILE", help="Database of the history (CLARINET_DB).")] = None,
    version: Annotated[bool, Option("--version", help="Print the version; more with --verbose.")] = False,
    verbose: Annotated[bool, Option("--verbose", hidden=True)] = False,
) -> None:
    """Train, record and compare CLARINET and its two-step baselines."""
    if version:
        from clarinet_tui.version import version_text

        print(version_text(verbose))
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise InputError("expected a command: see clarinet --help")
    if db is not None:
        os.environ["CLARINET_DB"] = str(db.absolute())  # inherited by workers, supervisor and app


for commands in GROUPS.values():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(with_options(command))


def hoist_database(arguments: Sequence[str]) -> list[str]:
    """Move --db to the front, where it is an option of every command."""
    words = list(arguments)
    end = words.index("--") if "--" in words else len(words)
    for place, word in enumerate(words[:end]):
        if word == "--db" and place + 1 < end:
            return [*words[place : place + 2], *words[:place], *words[place + 2 :]]
        if word.startswith("--db="):
            return [word, *words[:place], *words[place + 1 :]]
    return words


def name_runs_dir(message: str, arguments: Sequence[str]) -> str:
    """Add the --runs-dir of this command to the commands that an error message advises."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    if "--runs-dir" not in words[:-1]:
        return message
    option = shlex.join(("--runs-dir", words[words.index("--runs-dir") + 1]))
    return ADVISED.sub(lambda match: f"`{match[1]} {option}`", message)


def main() -> None:
    replace_unencodable()
    try:
        app(hoist_database(sys.argv[1:]))
    except InputError as error:
        message = str(error)
    except OSError as error:
        if error.filename is None:
            raise
        message = f"{os.fsdecode(error.filename)}: {error.strerror}"
    else:
        return
    warn(name_runs_dir(message[:MAX_MESSAGE], sys.argv))
    sys.exit(2)
