"""`clarinet data`: what data there is, and how more of it comes."""

import json as json_
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clarinet_tui.cli.options import DataDir, Json
from clarinet_tui.cli.places import DATA
from clarinet_tui.text import counted

if TYPE_CHECKING:
    from core.data.catalogue import Entry

app = typer.Typer(
    help="See, fetch, make and check the data that runs learn from.", no_args_is_help=True, rich_markup_mode=None
)
Tell = Callable[[str, int, int], None]
SIGNS = {"good": "✓", "doubtful": "?", "bad": "✗"}


@app.command("list")
def list_(json: Json = False, data_dir: DataDir = DATA) -> None:
    """List the domains: which are there, in which form, and how to get the others.

    Example: clarinet data list
    """
    from core.data.catalogue import catalogue

    entries = catalogue(data_dir)
    if json:
        print(json_.dumps([asdict(entry) for entry in entries], indent=2))
        return
    _table(entries)


@app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="mnist, usps or svhn.")], data_dir: DataDir = DATA
) -> None:
    """Download domains from where torchvision has them, and check every file.

    Example: clarinet data fetch mnist usps
    """
    from core.data.download import fetch as fetch_domain

    for name in names:
        with _progress(in_bytes=True) as tell:
            brought = fetch_domain(name, data_dir, tell)
        print(
            f"{name}: {counted(len(brought), 'file')} downloaded to {data_dir / name}"
            if brought
            else f"{name}: already there"
        )


@app.command()
def make(
    name: Annotated[str, typer.Argument(metavar="synth|mnistm", help="What to make.")],
    train: Annotated[int, typer.Option(min=0, help="Training images; 0 is the usual number.")] = 0,
    test: Annotated[int, typer.Option(min=0, help="Test images; 0 is the usual number.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed makes the same images.")] = 0,
    photos: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Photographs for mnistm; scikit-learn's two without it.")
    ] = None,
    data_dir: DataDir = DATA,
) -> None:
    """Make SYN-DIGITS or MNIST-M by its published recipe; results then say that their data was made.

    Example: clarinet data make synth --train 50000 --test 10000
    """
    from core.data.generate import make as make_domain

    with _progress() as tell:
        record = make_domain(
            name,
            data_dir,
            train=train,
            test=test,
            seed=seed,
            photos=photos,
            tell=lambda done, total: tell(f"Making {name}", done, total),
        )
    print(f"{data_dir / name}: {record.sentence}")


@app.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME…]", help="All that are there.")] = None,
    data_dir: DataDir = DATA,
) -> None:
    """Check the data that is there: checksums, shapes, labels and counts; exit 1 where something is wrong.

    Example: clarinet data verify mnist usps
    """
    from core.data.catalogue import catalogue
    from core.data.verify import verify as verify_domain

    wrong = False
    for name in names or [entry.name for entry in catalogue(data_dir) if entry.there]:
        for finding in verify_domain(name, data_dir):
            print(f"{SIGNS[finding.verdict]} {finding.name}: {finding.sentence}")
            wrong |= finding.verdict == "bad"
    if wrong:
        raise typer.Exit(1)


def _table(entries: "tuple[Entry, ...]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("", "domain", "train", "test", "what"):
        table.add_column(title, justify="right" if title in ("train", "test") else "left", overflow="fold")
    for entry in entries:
        counts = ["" if count is None else str(count) for count in (entry.train, entry.test)]
        state = entry.form if entry.there else f"missing: {entry.advice}"
        if entry.there and entry.train != entry.published[0] and entry.form == "train.npz, test.npz":
            state += f" (published: {entry.published[0]} + {entry.published[1]})"
        table.add_row(entry.letter, entry.name, *counts, state, style=None if entry.there else "dim")
    Console(highlight=False).print(table)


@contextmanager
def _progress(in_bytes: bool = False) -> Iterator[Tell]:
    """Bars on a terminal, nothing in a log."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    amount = DownloadColumn() if in_bytes else TextColumn("{task.completed}/{task.total}")
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bars: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=total or None)
            progress.update(bars[what], completed=done)

        yield tell
