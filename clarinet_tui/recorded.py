"""Train and record a run from Python: `clarinet run --headless` in a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clarinet_tui.runs.journal import parse_number
from core.errors import InputError
from core.resolve import minimal_settings, resolve


def record(
    settings: dict[str, Any] | None = None,
    *,
    runs_dir: str | Path | None = None,
    data_dir: str | Path | None = None,
    **overrides: Any,
) -> Iterator[dict[str, Any]]:
    """Train a run and record it like any other, and yield its events while it trains.

    The run trains in a process of its own, as with `clarinet run --headless`: `clarinet ls`, the app and `History` show
    it. Leaving the loop early saves a checkpoint and stops the run; `clarinet resume` continues it.

    Args:
        settings: Settings of the run, as in a TOML file; see `core.resolve`.
        runs_dir: The folder of the runs; by default the environment variable CLARINET_RUNS, or ./runs.
        data_dir: The folder of the data; by default the environment variable CLARINET_DATA, or ./data.
        **overrides: Settings that replace those of `settings`.

    Returns:
        An iterator of events as dictionaries, such as `{"event": "evaluation", "epoch": 1, "target_accuracy": 61.2}`.
        The first has the run's id as `id`; the last has the `event` "finished", "stopped" or "failed".

    Raises:
        InputError: A setting or the data cannot be used. Settings are checked at once, the data with the first event.

    Example:
        >>> from clarinet_tui import record
        >>> for event in record(method="clarinet", task="Y->D", preset="smoke", warmup_epochs=1, epochs=1):
        ...     if event["event"] == "evaluation":
        ...         accuracy = event["target_accuracy"]
        >>> event["event"]
        'finished'
        >>> 0 <= accuracy <= 100
        True
    """
    config = minimal_settings(resolve(settings, source="record", **overrides))
    runs_dir = runs_dir or os.environ.get("CLARINET_RUNS") or "runs"
    data_dir = data_dir or os.environ.get("CLARINET_DATA") or "data"
    return _train(config, str(runs_dir), str(data_dir))


def _train(config: dict[str, Any], runs_dir: str, data_dir: str) -> Iterator[dict[str, Any]]:
    import tomli_w

    with tempfile.NamedTemporaryFile("wb", suffix=".toml") as file, tempfile.TemporaryFile() as errors:
        tomli_w.dump(config, file)
        file.flush()
        directories = [f"--runs-dir={runs_dir}", f"--data-dir={data_dir}"]
        program = [sys.executable, "-P", "-c", "from clarinet_tui.cli.main import main; main()"]
        command = [*program, "run", file.name, "--headless", "--jsonl", *directories]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:  # values that are not finite are text in JSON
                    yield {name: parse_number(value) for name, value in json.loads(line).items()}
            finally:
                if process.poll() is None:
                    process.terminate()  # the worker saves a checkpoint
                for _ in process.stdout:  # a full pipe would stop it
                    pass
        if process.returncode == 2:
            errors.seek(0)
            raise InputError(errors.read().decode(errors="replace").strip().removeprefix("clarinet: "))
