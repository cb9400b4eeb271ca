"""`clarinet label`: complementary labels from a person who answers yes or no."""

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from clarinet_tui.cli.options import Blocks, Pictures
from clarinet_tui.cli.output import check_out, make_console, warn
from clarinet_tui.cli.tui import replace_process, require_serve
from clarinet_tui.label.labelling import Answer, Labelling, find_pictures, write_labels
from clarinet_tui.text import printable
from core.errors import InputError

KEYS = "[y]es  [n]o  [s]kip  [u]ndo  [q]uit"
ANSWERS: dict[str, Answer] = {"y": "yes", "n": "no", "s": "skip"}
MAX_ROWS = 30
Fit = Literal["stretch", "cut"]


def label(
    path: Annotated[Path, Argument(metavar="PATH", help="Folder of pictures, which is searched.")],
    classes: Annotated[str, Option(metavar="NAME,NAME…", help="Names of the classes, separated by commas.")],
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The .npz file to write.")] = Path("labels.npz"),
    image_size: Annotated[
        int, Option(min=0, max=2048, help="Size in the file; 0 keeps it, or is 224 if sizes differ.")
    ] = 0,
    fit: Annotated[
        Fit, Option(help="How pictures are resized: as the setting fit of the run, cut in preset photographs.")
    ] = "stretch",
    seed: Annotated[int, Option(min=0, help="Seed of the order and of the questions.")] = 1,
    pictures: Pictures = True,
    blocks: Blocks = False,
    browser: Annotated[bool, Option("--browser", help="Ask in a browser, on a page of this machine.")] = False,
    port: Annotated[
        int | None, Option(min=0, max=65535, help="Port of the page; 0 picks a free one. Default: 8000.")
    ] = None,
) -> None:
    """Label your own pictures by answering yes or no.

    Each picture is shown with one class drawn at random: "is it a cat?" No is a complementary label, yes the true one.
    Answers and their times are kept beside the file, so that you can quit and continue; quitting writes the file.
    With --browser the questions are on a page, as `clarinet serve` has one: for larger pictures, or the mouse.

    Example: clarinet label photos/ --classes cat,dog,eel --out photos.npz
    """
    check_out(out, ".npz")
    if browser and (blocks or not pictures):
        raise InputError("--browser: shows pictures on a page, without --blocks and --no-pictures")
    if port is not None and not browser:
        raise InputError("--port: only with --browser")
    names = [name.strip() for name in classes.split(",") if name.strip()]
    if browser:
        require_serve()
        options = [f"--folder={path}", f"--out={out}", f"--image-size={image_size}", f"--fit={fit}", f"--seed={seed}"]
        options += [f"--port={8000 if port is None else port}", *(f"--class={name}" for name in names)]
        replace_process(["-m", "clarinet_tui.ui.serve.label_server", *options])
    labelling = Labelling(find_pictures(path), names, out.with_suffix(".answers.jsonl"), seed)
    show_picture = partial(_show_picture, blocks=blocks) if pictures else None
    with _keys() as read_key:
        _ask_all(labelling, path, read_key, show_picture)
    print("\n".join(write_labels(labelling, path, out, image_size, cut=fit == "cut")))


def _ask_all(
    labelling: Labelling, folder: Path, read_key: Callable[[], str], show_picture: Callable[[Path], bool] | None
) -> None:
    """Ask until all pictures are answered, or the user quits or ends the input."""
    while question := labelling.next_question():
        if show_picture and not show_picture(folder / question.picture):
            labelling.leave_out(question)
            continue
        print(f"{len(labelling.answers) + 1} of {labelling.total}  {printable(question.picture)}")
        print(f"Is it {printable(question.label)}?  {KEYS}  ", end="", flush=True)
        asked = time.monotonic()
        while (key := read_key()) not in (*ANSWERS, "u", "q", ""):
            pass
        print({**ANSWERS, "u": "undo"}.get(key, "quit"))
        if key in ANSWERS:
            labelling.record(question, ANSWERS[key], time.monotonic() - asked)
        elif key == "u":
            labelling.undo()
        else:
            return


def _show_picture(path: Path, *, blocks: bool) -> bool:
    """Print a picture as large as the terminal allows; return False if it cannot be read."""
    import numpy as np

    from clarinet_tui.chart.picture import picture_text, pixel_picture
    from core.data.images import read_picture

    console = make_console(80)
    try:
        pixels = np.asarray(read_picture(path), dtype=np.uint8)
    except InputError as error:
        warn(str(error))
        return False
    rows = max(4, min(console.height - 4, MAX_ROWS))
    has_colour = console.color_system is not None and "NO_COLOR" not in os.environ
    picture = pixel_picture(pixels, console.width - 1, rows) if has_colour and not blocks else None
    console.print(picture or picture_text(pixels, console.width - 1, rows, colour=has_colour))
    return True


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Read single keys from a terminal, which shows them only when they are answers; lines from a pipe."""
    if not sys.stdin.isatty():
        yield lambda: sys.stdin.readline().strip().lower()[:1]
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield partial(_read_key, terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read_key(terminal: int) -> str:
    """Return a letter, "" at the end of the input, and escape for keys such as F4, whose sequences contain letters."""
    key = os.read(terminal, 1)
    if key == b"\x1b" and _is_ready(terminal) and os.read(terminal, 1) in (b"[", b"O"):
        while _is_ready(terminal) and b"" < os.read(terminal, 1) < b"@":  # up to the letter that ends the sequence
            pass
    return key.decode(errors="replace").lower().replace("\x04", "")


def _is_ready(terminal: int) -> bool:
    return bool(select.select([terminal], [], [], 0.05)[0])
