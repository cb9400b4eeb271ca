"""`clarinet`: the commands, and the one place where wrong input becomes exit code 2."""

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from clarinet_tui.cli import (
    compare,
    data,
    demo,
    devices,
    doctor,
    export,
    history,
    logs,
    manage,
    metrics,
    plot,
    queue,
    report,
    run,
    serve,
    sweep,
    table,
    verify,
)
from clarinet_tui.text import printable
from core.errors import InputError

LONGEST = 2000
"""Signs of a sentence that quotes what was given."""

app = typer.Typer(
    name="clarinet",
    help="Train, record and compare CLARINET and its two-step baselines.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def clarinet(
    db: Annotated[
        Path | None, typer.Option("--db", metavar="FILE", help="Keep the history's database elsewhere (CLARINET_DB).")
    ] = None,
) -> None:
    """Train, record and compare CLARINET and its two-step baselines."""
    if db is not None:
        os.environ["CLARINET_DB"] = str(db.absolute())  # workers, supervisor and app inherit it


app.command("run")(run.run)
app.command("sweep")(sweep.sweep)
app.add_typer(queue.app, name="queue")
app.command("stop")(manage.stop)
app.command("resume")(manage.resume)
app.command("clone")(manage.clone)
app.command("rm")(manage.remove)
app.command("tag")(manage.tag)
app.command("note")(manage.note)
app.command("ls")(history.list_)
app.command("show")(history.show)
app.command("logs")(logs.logs)
app.command("metrics")(metrics.metrics)
app.command("compare")(compare.compare)
app.command("table")(table.table)
app.command("plot")(plot.plot)
app.command("report")(report.report)
app.command("export")(export.export)
app.command("import")(export.import_)
app.command("verify")(verify.verify)
app.command("reindex")(history.reindex)
app.command("devices")(devices.devices)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)
app.command("tui", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(run.tui)
app.command("serve")(serve.serve)
app.add_typer(data.app, name="data")


def main() -> None:
    try:
        app()
    except InputError as error:
        refuse(str(error))
    except OSError as error:
        if error.filename is None:
            raise
        refuse(f"{os.fsdecode(error.filename)}: {error.strerror}")  # such as a runs directory that is a file


def refuse(sentence: str) -> NoReturn:
    print(f"clarinet: {printable(sentence)[:LONGEST]}", file=sys.stderr)
    sys.exit(2)
