"""`clarinet data`: list, fetch, generate and verify data sets."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from clarinet_tui.cli.options import DATA, DataDir, Json, Jsonl
from clarinet_tui.cli.output import print_json_rows, print_table, show_progress
from clarinet_tui.tables.table import Column, as_cell, make_table
from clarinet_tui.text import format_count

app = typer.Typer(
    name="data", help="List, fetch, generate and verify data sets.", no_args_is_help=True, rich_markup_mode=None
)
SIGNS = {"good": "✓", "doubtful": "?", "bad": "✗"}


@app.command("list")
def list_(json: Json = False, jsonl: Jsonl = False, data_dir: DataDir = DATA) -> None:
    """List the domains, and how to get missing ones.

    Example: clarinet data list
    """
    from core.data.digit_domains import FileFormat, list_domains

    entries = list_domains(data_dir)
    if json or jsonl:
        print_json_rows(map(asdict, entries), lines=jsonl)
        return
    rows = []
    for entry in entries:
        state = entry.origin if entry.present else f"missing: {entry.advice}"
        if entry.present and entry.train != entry.published[0] and entry.format is FileFormat.ARRAYS:
            state += f" (published: {entry.published[0]} + {entry.published[1]})"
        values = (entry.letter, entry.name, entry.train, entry.test, state)
        rows.append([as_cell(value, "" if entry.present else "muted") for value in values])
    numbers = [Column("train", right=True), Column("test", right=True)]
    print_table(make_table(["", "domain", *numbers, Column("files", wraps=True)], rows), width=100)


@app.command()
def fetch(
    names: Annotated[list[str], Argument(metavar="NAME", help="mnist, usps or svhn.")],
    data_dir: DataDir = DATA,
) -> None:
    """Download domains and check every file.

    The files are those of torchvision.

    Example: clarinet data fetch mnist usps
    """
    from core.data.download import fetch_domain

    for name in names:
        with show_progress(in_bytes=True) as report:
            files = fetch_domain(name, data_dir, report)
        downloaded = f"{format_count(len(files), 'file')} downloaded to {data_dir / name}"
        print(f"{name}: {downloaded if files else 'already downloaded'}")


@app.command()
def make(
    name: Annotated[str, Argument(metavar="synth|mnistm", help="Domain to generate.")],
    train: Annotated[int, Option(min=0, help="Training images; 0: the published number.")] = 0,
    test: Annotated[int, Option(min=0, help="Test images; 0: the published number.")] = 0,
    seed: Annotated[int, Option(min=0, help="Seed of the images.")] = 0,
    photos: Annotated[
        Path | None, Option(metavar="DIR", help="Photographs for mnistm; default: the two of scikit-learn.")
    ] = None,
    data_dir: DataDir = DATA,
) -> None:
    """Generate SYN-DIGITS or MNIST-M by its published recipe.

    Results on generated data are marked.

    Example: clarinet data make synth --train 50000 --test 10000
    """
    from core.data.digit_domains import generate_domain

    with show_progress() as report:
        progress = partial(report, f"Generating {name}")
        record = generate_domain(name, data_dir, train=train, test=test, seed=seed, photos=photos, progress=progress)
    print(f"{data_dir / name}: {record.description}")


@app.command()
def verify(
    names: Annotated[list[str] | None, Argument(metavar="NAME", help="Domains; default: all present.")] = None,
    data_dir: DataDir = DATA,
) -> None:
    """Check checksums, shapes, labels and counts.

    The exit code is 1 if a check fails.

    Example: clarinet data verify mnist usps
    """
    from core.data.digit_domains import list_domains
    from core.data.verification import verify_domain

    has_failed = False
    for name in names or [entry.name for entry in list_domains(data_dir) if entry.present]:
        for finding in verify_domain(name, data_dir):
            print(f"{SIGNS[finding.verdict]} {finding.name}: {finding.message}")
            has_failed |= finding.verdict == "bad"
    if has_failed:
        raise typer.Exit(1)
