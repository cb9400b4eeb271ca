"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

RunsDir = Annotated[Path, typer.Option("--runs-dir", envvar="CLARINET_RUNS", help="Where runs are kept.")]
DataDir = Annotated[Path, typer.Option("--data-dir", envvar="CLARINET_DATA", help="Where data sets are kept.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]

RUNS = Path("runs")
DATA = Path("data")
