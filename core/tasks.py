"""Domains and tasks. A task is written "M->U", "mnist->usps" or "path/to/source->path/to/target"."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.errors import InputError


@dataclass(frozen=True)
class Domain:
    """One side of a task: a known set of digits, or a custom folder."""

    letter: str
    name: str
    title: str
    colour: bool = False
    folder: Path | None = None
    """The folder or .npz file of a custom domain."""

    @property
    def is_custom(self) -> bool:
        return self.folder is not None


DOMAINS = {
    domain.letter: domain
    for domain in (
        Domain("M", "mnist", "MNIST"),
        Domain("U", "usps", "USPS"),
        Domain("S", "svhn", "SVHN", colour=True),
        Domain("m", "mnistm", "MNIST-M", colour=True),
        Domain("Y", "synth", "SYN-DIGITS", colour=True),
        Domain("D", "digits", "UCI digits"),
    )
}
DOMAINS_BY_NAME = {domain.name: domain for domain in DOMAINS.values()}

PAPER_TASKS = ("U->M", "M->U", "S->M", "M->m", "Y->M", "Y->S")
OFFLINE_TASK = "Y->D"
Shape = tuple[int, int, int]
"""Height, width and channels of an image."""
GREY, COLOUR = (28, 28, 1), (32, 32, 3)


@dataclass(frozen=True)
class Task:
    source: Domain
    target: Domain

    @property
    def name(self) -> str:
        return f"{self.source.letter}->{self.target.letter}"

    @property
    def is_custom(self) -> bool:
        return self.source.is_custom or self.target.is_custom

    @property
    def preset_keys(self) -> tuple[str, ...]:
        """The keys by which presets adjust to the task: its source, "colour" and "custom"."""
        source = () if self.source.is_custom else (self.source.letter,)
        colour = ("colour",) if self.shape == COLOUR else ()
        return (*source, *colour, *(("custom",) if self.is_custom else ()))

    @property
    def shape(self) -> Shape | None:
        """Height, width and channels of a task between known digits; None for custom folders.

        The paper's grey tasks are 28×28×1, its colour tasks 32×32×3. Tasks with the UCI digits, which are
        8×8 and grey, are grey as well, so that the offline task is quick.
        """
        if self.is_custom:
            return None
        pair = (self.source, self.target)
        if any(domain.colour for domain in pair) and not any(domain.letter == "D" for domain in pair):
            return COLOUR
        return GREY


def parse_task(text: str) -> Task:
    parts = text.replace("→", "->").split("->")
    if len(parts) != 2 or not all(part.strip() for part in parts):
        raise InputError(f'task: expected SOURCE->TARGET such as "M->U", got "{text}"')
    return Task(parse_domain(parts[0].strip()), parse_domain(parts[1].strip()))


def parse_domain(text: str) -> Domain:
    known = DOMAINS.get(text) or DOMAINS_BY_NAME.get(text.lower() if len(text) > 1 else text)
    if known:
        return known
    with suppress(OSError, RuntimeError):  # the name is too long, the folder unreadable, or the user unknown
        path = Path(text).expanduser()
        if path.is_dir() or (path.suffix == ".npz" and path.is_file()):
            path = path.resolve()
            return Domain(letter=str(path), name=path.name, title=path.name, folder=path)
    letters = ", ".join(f"{domain.letter} ({domain.name})" for domain in DOMAINS.values())
    raise InputError(f'task: "{text}" is neither a folder, an .npz file nor one of {letters}')
