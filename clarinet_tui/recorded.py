"""Train and record a run from Python: `clarinet run --headless` in a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from core.errors import InputError
from core.resolve import minimal_settings, resolve

PROGRAM = (sys.executable, "-P", "-c", "from clarinet_tui.cli.main import main; main()")
NON_FINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
WRONG_INPUT = 2


def record(
    settings: dict[str, Any] | None = None,
    *,
    runs_dir: str | Path | None = None,
    data_dir: str | Path | None = None,
    **overrides: Any,
) -> Iterator[dict[str, Any]]:
    """Train a run, record it like any other, and yield its events as dictionaries; the first one has the run's id.

    Settings are those of `resolve`, directories those of the command line (CLARINET_RUNS and CLARINET_DATA, or ./runs
    and ./data). Ending the loop early saves a checkpoint and stops the run. Wrong input raises InputError.
    """
    config = minimal_settings(resolve(settings, place="record", **overrides))
    runs_dir = runs_dir or os.environ.get("CLARINET_RUNS") or "runs"
    data_dir = data_dir or os.environ.get("CLARINET_DATA") or "data"
    return _train(config, str(runs_dir), str(data_dir))


def _train(config: dict[str, Any], runs_dir: str, data_dir: str) -> Iterator[dict[str, Any]]:
    import tomli_w

    with tempfile.NamedTemporaryFile("wb", suffix=".toml") as file, tempfile.TemporaryFile() as errors:
        tomli_w.dump(config, file)
        file.flush()
        directories = [f"--runs-dir={runs_dir}", f"--data-dir={data_dir}"]
        command = [*PROGRAM, "run", file.name, "--headless", "--jsonl", *directories]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as process:
            assert process.stdout is not None
            try:
                yield from map(_parse, process.stdout)
            finally:
                if process.poll() is None:
                    process.terminate()  # the worker saves a checkpoint
                for _ in process.stdout:  # a full pipe would stop it
                    pass
        if process.returncode == WRONG_INPUT:
            raise InputError(_read_message(errors))


def _parse(line: bytes) -> dict[str, Any]:
    """Return an event; values that are not finite are text in JSON."""
    fields: dict[str, Any] = json.loads(line)
    return {name: NON_FINITE.get(value, value) if isinstance(value, str) else value for name, value in fields.items()}


def _read_message(errors: IO[bytes]) -> str:
    errors.seek(0)
    return errors.read().decode(errors="replace").strip().removeprefix("clarinet: ")
