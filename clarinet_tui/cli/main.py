"""The `clarinet` program: its commands, and the exit code for invalid input."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main
from typer import Option
from typer.core import TyperGroup

from clarinet_tui.cli.options import with_options
from clarinet_tui.cli.output import warn
from clarinet_tui.streams import replace_unencodable
from core.errors import InputError

MAX_MESSAGE = 2000
"""Characters of an error message, which may quote long input."""
ADVISED = re.compile(r"`(clarinet (?!data\b)[a-z]+[^`]*)`")
"""A command in an error message that takes a runs directory."""

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Train": {
        "run": ("launch.run", "Train one run, from the queue or in this terminal."),
        "sweep": ("launch.sweep", "Queue all combinations of methods, tasks, seeds and settings."),
        "demo": ("demo.demo", "Train and compare three methods offline in about two minutes."),
    },
    "Runs and queue": {
        "queue": ("queue.app", "Show and change the queue."),
        "stop": ("launch.stop", "Stop runs after saving a checkpoint."),
        "resume": ("launch.resume", "Queue stopped, failed, lost or cancelled runs again."),
        "clone": ("launch.clone", "Queue a new run with the settings of another."),
        "rm": ("tag.remove", "Move runs to the trash, restore them, or empty the trash."),
        "tag": ("tag.tag", "Add or remove tags of runs."),
        "note": ("tag.note", "Set the note of a run."),
        "tui": ("tui.tui", "Open the terminal app; the same as clarinet-tui."),
        "serve": ("tui.serve", "Serve the terminal app to a browser on this machine."),
    },
    "History": {
        "ls": ("ls.list_", "List runs, newest first."),
        "show": ("show.show", "Show one run: progress, results, settings and failure."),
        "logs": ("logs.logs", "Print or follow the log of a run."),
        "metrics": ("metrics.metrics", "Print the metrics of a run as a table, CSV or JSON."),
        "sql": ("metrics.sql", "Query the history with SQL, read-only."),
        "export": ("export.export", "Export runs as CSV, for TensorBoard, or for another machine."),
        "import": ("export.import_", "Import an archive of runs from another machine."),
        "reindex": ("reindex.reindex", "Rebuild the history from the run directories."),
        "check": ("reindex.check", "Compare every row of the history with the journals."),
        "backup": ("export.backup", "Write a consistent copy of all runs, also while they train."),
        "restore": ("export.restore", "Restore a backup; runs that exist with the same content are kept."),
    },
    "Models": {
        "predict": ("model.predict", "Predict the classes of pictures with a trained run."),
        "inspect": ("model.inspect", "Show samples, mistakes and uncertain pictures of a run."),
        "save": ("model.save", "Save a run's model for other programs, with a model card."),
    },
    "Analysis": {
        "compare": ("compare.compare", "Compare runs or methods over paired seeds."),
        "diff": ("compare.diff", "Show how settings, data, environment and code of two runs differ."),
        "table": ("table.table", "Print the paper's tables with your results."),
        "plot": ("plot.plot", "Plot curves, settings, confusion, features or calibration."),
        "report": ("table.report", "Write an HTML report with tables, figures and settings."),
        "verify": ("verify.verify", "Retrain the first iterations of a run and compare them."),
    },
    "Reference": {
        "settings": ("settings.settings", "List every setting with its meaning, type and defaults."),
        "methods": ("settings.methods", "List the methods, also those of plug-ins."),
        "tasks": ("settings.tasks", "List the paper's tasks and the offline task, and what they need."),
        "presets": ("settings.presets", "List the presets and what each is for."),
    },
    "Machine and data": {
        "devices": ("devices.devices", "List GPUs and CPU with their load and processes."),
        "doctor": ("devices.doctor", "Check Python, torch, devices, data, disk and history."),
        "data": ("data.app", "List, fetch, generate and verify data sets."),
        "label": ("label.label", "Label your own pictures by answering yes or no."),
    },
}
"""Each command under its heading in `clarinet --help`: where it is in this package, and the first line of its help."""
PLACES = {name: place for group in GROUPS.values() for name, (place, _) in group.items()}


class GroupedCommands(TyperGroup):
    """Imports a command when it is asked for, so that it starts without the modules of the others.

    Lists the commands under headings in plain text: importing Rich for its panels nearly doubles the time.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = dict.fromkeys(PLACES)  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in PLACES:
            return None
        module, _, attribute = PLACES[cmd_name].partition(".")
        command = getattr(import_module(f"clarinet_tui.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            return typer.main.get_group(command)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(cmd_name)(with_options(command))
        return typer.main.get_command(alone)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", sentence) for name, (_, sentence) in group.items()])

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
