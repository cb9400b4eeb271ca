"""Read settings from TOML files and from KEY=VALUE arguments."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import InputError

if TYPE_CHECKING:
    from core.config import RunConfig


@dataclass(frozen=True)
class ChosenSettings:
    """A settings file, flags and --set pairs, the last of which win."""

    file: Path | None
    flags: dict[str, Any]
    pairs: list[str]

    def __bool__(self) -> bool:
        return bool(self.file or self.flags or self.pairs)

    @property
    def has_preset(self) -> bool:
        """Whether the user has chosen a preset, or settings of their own in a file."""
        named = "preset" in self.flags or any(pair.startswith("preset=") for pair in self.pairs)
        return named or self.file is not None

    def make_config(self, cores: int | None = None) -> "RunConfig":
        from clarinet_tui.runs.directory import read_toml
        from core.resolve import resolve
        from core.validation import merge_settings

        settings = read_toml(self.file) if self.file else {}
        if self.file:
            resolve(settings, place=str(self.file))  # so that an error in the file names the file
        return resolve(merge_pairs(merge_settings(settings, self.flags), self.pairs), place="command line", cores=cores)


def merge_pairs(settings: dict[str, Any], pairs: list[str] | None) -> dict[str, Any]:
    """Return the settings with KEY=VALUE pairs merged in."""
    from core.validation import merge_settings

    for pair in pairs or []:
        settings = merge_settings(settings, parse_pair(pair))
    return settings


def parse_pair(pair: str) -> dict[str, Any]:
    """Parse `stage1.epochs=3` into a nested table."""
    from clarinet_tui.queue.sweep import nest, parse_value

    key, equals, text = pair.partition("=")
    if not equals or not key.strip():
        raise InputError(f'--set: expected KEY=VALUE, got "{pair}"')
    return nest(key.strip(), parse_value(text))
