"""`--on-end` for a run whose worker could not run it: it was killed, or ended before it wrote to its journal."""

import os
from pathlib import Path

from clarinet_tui.queue.executor import start_detached
from clarinet_tui.queue.queue_file import QueueEntry
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import read_last_event
from clarinet_tui.runs.state import FINAL_EVENTS, RunState


def is_lost(run: RunDirectory) -> bool:
    """Return whether the journal has no end of its last attempt."""
    event = read_last_event(run.journal)
    return event is None or event["event"] not in FINAL_EVENTS


def start_end_command(run: RunDirectory, entry: QueueEntry, state: RunState) -> None:
    """Start the user's command, with its output in worker.log; nothing waits for it."""
    folder = Path(entry.working_directory) if Path(entry.working_directory).is_dir() else run.path
    variables = {
        "CLARINET_RUN": run.id,
        "CLARINET_RUNS": str(run.runs_dir.absolute()),
        "CLARINET_STATE": state,
        "CLARINET_MESSAGE": "its worker died" if state is RunState.LOST else "its worker did not start",
    }
    start_detached(entry.on_end, run.log, cwd=folder, env={**os.environ, **variables})
