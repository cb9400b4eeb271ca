"""`clarinet`: the commands, and the one place where wrong input becomes exit code 2."""

import sys

import typer

from clarinet_tui.cli import data, demo, devices, doctor, history, logs, metrics, run, table
from core.errors import InputError

app = typer.Typer(
    name="clarinet",
    help="Train, record and compare CLARINET and its two-step baselines.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("ls")(history.list_)
app.command("show")(history.show)
app.command("logs")(logs.logs)
app.command("metrics")(metrics.metrics)
app.command("compare")(history.compare)
app.command("table")(table.table)
app.command("reindex")(history.reindex)
app.command("devices")(devices.devices)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)
app.command("tui", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(run.tui)
app.add_typer(data.app, name="data")


def main() -> None:
    try:
        app()
    except InputError as error:
        print(f"clarinet: {error}", file=sys.stderr)
        sys.exit(2)
