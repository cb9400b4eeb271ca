"""The `clarinet` program: its commands, and the exit code for invalid input."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from clarinet_tui.cli import (
    compare,
    data,
    demo,
    devices,
    doctor,
    export,
    logs,
    ls,
    metrics,
    plot,
    predict,
    queue,
    report,
    rm,
    run,
    save,
    show,
    stop,
    sweep,
    table,
    tag,
    tui,
    verify,
)
from clarinet_tui.cli.output import warn
from clarinet_tui.streams import replace_unencodable
from core.errors import InputError

MAX_MESSAGE = 2000
"""Characters of an error message, which may quote long input."""

GROUPS: dict[str, dict[str, Any]] = {
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
        "serve": tui.serve,
    },
    "History": {
        "ls": ls.list_,
        "show": show.show,
        "logs": logs.logs,
        "metrics": metrics.metrics,
        "export": export.export,
        "import": export.import_,
        "reindex": ls.reindex,
    },
    "Models": {"predict": predict.predict, "save": save.save},
    "Evidence": {
        "compare": compare.compare,
        "table": table.table,
        "plot": plot.plot,
        "report": report.report,
        "verify": verify.verify,
    },
    "Machine and data": {"devices": devices.devices, "doctor": doctor.doctor, "data": data.app},
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
    name="clarinet", cls=GroupedCommands, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
)


@app.callback()
def clarinet(
    db: Annotated[Path | None, Option("--db", metavar="FILE", help="Database of the history (CLARINET_DB).")] = None,
) -> None:
    """Train, record and compare CLARINET and its two-step baselines."""
    if db is not None:
        os.environ["CLARINET_DB"] = str(db.absolute())  # inherited by workers, supervisor and app


for commands in GROUPS.values():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            passes_arguments = {"allow_extra_args": True, "ignore_unknown_options": True} if name == "tui" else None
            app.command(name, context_settings=passes_arguments)(command)


def main() -> None:
    replace_unencodable()
    try:
        app()
    except InputError as error:
        message = str(error)
    except OSError as error:
        if error.filename is None:
            raise
        message = f"{os.fsdecode(error.filename)}: {error.strerror}"
    else:
        return
    warn(message[:MAX_MESSAGE])
    sys.exit(2)
