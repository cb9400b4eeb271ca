"""What the app remembers from one sitting to the next: its look, and how its views were left."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

LARGEST = 1 << 16
PATIENCE = 1.0
"""Seconds that closing waits for what is still to be written."""


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """Small things; a value that a view does not know is as if it were not there."""

    theme: str = "clarinet-dark"
    glyphs: str = ""
    """Of charts: braille, quadrants or halves; "" guesses from the terminal."""
    sort: str = "created"
    pane: str = "charts"
    axis: str = "iteration"
    compare_axis: str = "epoch"
    compare_band: str = "std"
    compare_members: str = "shown"
    """Whether runs are shown behind the mean of their side: shown or hidden."""
    compare_layout: str = "beside"
    """Whether the families are beside each other or over each other: beside or over."""
    compare_pane: str = "both"
    """Charts, numbers or both; on a low screen both is charts."""
    ghosts: str = "both"
    """What stands behind the live accuracy: both, published, seeds or none."""


def place(environ: Mapping[str, str] = os.environ) -> Path:
    """Where they are kept: in the user's configuration."""
    home = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".config")
    return Path(home) / "clarinet" / "tui.json"


def read(path: Path) -> tuple[Preferences, str]:
    """What is remembered, and a sentence if there is something that cannot be read. It is never waited for."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return msgspec.json.decode(file.read(LARGEST), type=Preferences), ""
    except FileNotFoundError:
        return Preferences(), ""
    except (OSError, msgspec.DecodeError) as error:
        return Preferences(), f"{path}: cannot be read and is left alone ({error}); the app starts as it is made"


class Keeper:
    """Writes what has changed, in a thread of its own; what another app has changed meanwhile is kept."""

    def __init__(self, path: Path, complain: Callable[[str], object]) -> None:
        self._path, self._complain = path, complain
        self.preferences, self.problem = read(path)
        self._changes: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None

    def remember(self, **changes: str) -> None:
        """A damaged file is not overwritten: a person may want to mend it."""
        changed = {name: value for name, value in changes.items() if getattr(self.preferences, name) != value}
        if not changed:
            return
        self.preferences = msgspec.structs.replace(self.preferences, **changed)
        if self.problem:
            return
        with self._lock:
            self._changes |= changed
            if self._writer is None or not self._writer.is_alive():
                self._writer = threading.Thread(target=self._write, name="preferences", daemon=True)
                self._writer.start()

    def close(self) -> None:
        if self._writer:
            self._writer.join(PATIENCE)

    def _write(self) -> None:
        from clarinet_tui.runs.atomic_files import replace_file

        while True:
            with self._lock:
                changes, self._changes = self._changes, {}
                if not changes:
                    self._writer = None
                    return
            try:
                now = msgspec.structs.replace(read(self._path)[0], **changes)
                self._path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self._path, msgspec.json.format(msgspec.json.encode(now)) + b"\n")
            except OSError as error:
                self._complain(f"{self._path}: the layout cannot be remembered ({error.strerror})")
