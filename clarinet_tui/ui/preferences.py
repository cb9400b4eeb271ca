"""Preferences that the app keeps between sessions: its appearance, and the last layout of each view."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue

import msgspec

MAX_BYTES = 1 << 16
CLOSE_TIMEOUT = 1.0
"""Seconds that closing waits for the writing thread."""


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """A view ignores a value that it does not know."""

    theme: str = "clarinet-dark"
    glyphs: str = ""
    """Glyph set of charts: braille, quadrants or halves; "" chooses by the terminal."""
    sort: str = "created"
    sort_order: str = ""
    """Whether the order of the runs is reversed: empty or reversed."""
    hidden_columns: str = ""
    """Columns that History hides, and settings that it hides although they differ, separated by commas."""
    shown_settings: str = ""
    """Settings that History shows although they do not differ, separated by commas."""
    pane: str = "charts"
    axis: str = "iteration"
    accuracy_scale: str = "data"
    """Whether accuracies are drawn in the range of the data or from 0 to 100: data or full."""
    compare_axis: str = "samples"
    compare_band: str = "std"
    compare_members: str = "shown"
    """Whether single runs are drawn behind the mean of their side: shown or hidden."""
    compare_layout: str = "beside"
    """Whether the two sides have a chart each or share one: beside or over."""
    compare_pane: str = "both"
    """Charts, numbers or both; a low screen shows the charts for both."""
    references: str = "both"
    """References behind the live accuracy: both, published, seeds or none."""


def preferences_path(environ: Mapping[str, str] = os.environ) -> Path:
    home = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".config")
    return Path(home) / "clarinet" / "tui.json"


def read_preferences(path: Path) -> tuple[Preferences, str]:
    """Return the preferences, and a message if the file cannot be read; never block on it."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return msgspec.json.decode(file.read(MAX_BYTES), type=Preferences), ""
    except FileNotFoundError:
        return Preferences(), ""
    except (OSError, msgspec.DecodeError) as error:
        return Preferences(), f"{path}: cannot be read ({error}); default preferences are used and not saved"


class PreferenceStore:
    """Writes changed values in a thread, and keeps what another app has written meanwhile."""

    def __init__(self, path: Path, on_error: Callable[[str, Exception], object]) -> None:
        """`on_error` is called by the writing thread."""
        self._path, self._on_error = path, on_error
        self.values, self.problem = read_preferences(path)
        self._changes: SimpleQueue[dict[str, str]] = SimpleQueue()
        """Changes to write; an empty one ends the thread."""
        self._writer: threading.Thread | None = None

    def save(self, **changes: str) -> None:
        """Write the values that differ; a damaged file is not overwritten, so that a user can repair it."""
        changed = {name: value for name, value in changes.items() if getattr(self.values, name) != value}
        if not changed:
            return
        self.values = msgspec.structs.replace(self.values, **changed)
        if self.problem:
            return
        self._changes.put(changed)
        if self._writer is None:
            self._writer = threading.Thread(target=self._write, name="preferences", daemon=True)
            self._writer.start()

    def close(self) -> None:
        if self._writer:
            self._changes.put({})
            self._writer.join(CLOSE_TIMEOUT)
            self._writer = None

    def _write(self) -> None:
        from core.files import replace_file

        while changes := self._changes.get():
            try:
                values = msgspec.structs.replace(read_preferences(self._path)[0], **changes)
                self._path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self._path, msgspec.json.format(msgspec.json.encode(values)) + b"\n")
            except Exception as error:  # noqa: BLE001  the error is shown, and later changes are written again
                reason = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
                self._on_error(f"{self._path}: preferences could not be saved ({reason})", error)
