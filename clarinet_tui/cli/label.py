"""`clarinet label`: complementary labels from a person who answers yes or no."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from clarinet_tui.cli.output import make_console, warn
from clarinet_tui.text import format_count, printable
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.label.labelling import Answer, Labelling, Question

KEYS = "[y]es  [n]o  [s]kip  [u]ndo  [q]uit"
ANSWERS: "dict[str, Answer]" = {"y": "yes", "n": "no", "s": "skip"}
MAX_ROWS = 30


def label(
    path: Annotated[Path, Argument(metavar="PATH", help="Folder of pictures, which is searched.")],
    classes: Annotated[str, Option(metavar="NAME,NAME…", help="Names of the classes, separated by commas.")],
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The .npz file to write.")] = Path("labels.npz"),
    image_size: Annotated[
        int, Option(min=0, max=2048, help="Size in the file; 0 keeps it, or is 224 if sizes differ.")
    ] = 0,
    pictures: Annotated[bool, Option("--pictures/--no-pictures", help="Show pictures in the terminal.")] = True,
    blocks: Annotated[
        bool, Option("--blocks", help="Draw with characters even where the terminal shows pixels.")
    ] = False,
    seed: Annotated[int, Option(min=0, help="Seed of the order and of the questions.")] = 1,
) -> None:
    """Label your own pictures by answering yes or no.

    Each picture is shown with one class drawn at random: "is it a cat?" No is a complementary label, yes the true one.
    Answers and their times are kept beside the file, so that you can quit and continue; quitting writes the file.

    Example: clarinet label photos/ --classes cat,dog,eel --out photos.npz
    """
    from clarinet_tui.label.labelling import Labelling

    if out.suffix != ".npz":
        raise InputError(f"--out: expected FILE.npz, got {out.name!a}")
    if not path.is_dir():
        raise InputError(f"{path}: is not a directory")
    names = [name.strip() for name in classes.split(",") if name.strip()]
    found = _find_pictures(path)
    labelling = Labelling(found, names, out.with_suffix(".answers.jsonl"), seed)
    show_picture = partial(_show_picture, blocks=blocks) if pictures else None
    with _keys() as read_key:
        _ask_all(labelling, path, read_key, show_picture)
    _write(labelling, path, out, image_size)


def _find_pictures(folder: Path) -> list[str]:
    from core.data.image_folders import pictures_below

    found = [str(path.relative_to(folder)) for path in pictures_below(folder)]
    if not found:
        raise InputError(f"{folder}: contains no images (png, jpg, jpeg)")
    return found


def _ask_all(
    labelling: "Labelling", folder: Path, read_key: Callable[[], str], show_picture: Callable[[Path], bool] | None
) -> None:
    """Ask until all pictures are answered, or the user quits or ends the input."""
    while question := labelling.next_question():
        if show_picture and not show_picture(folder / question.picture):
            labelling.leave_out(question)
            continue
        _show_question(labelling, question)
        asked = time.monotonic()
        key = read_key()
        while key not in (*ANSWERS, "u", "q", ""):
            key = read_key()
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
    from PIL import ImageOps

    from clarinet_tui.chart.picture import picture_text
    from clarinet_tui.cli.pixel_picture import pixel_picture
    from core.data.images import open_image

    console = make_console(80)
    try:
        with open_image(path) as image:
            pixels = np.asarray(ImageOps.exif_transpose(image).convert("RGB"), dtype=np.uint8)
    except InputError as error:
        warn(str(error))
        return False
    rows = max(4, min(console.height - 4, MAX_ROWS))
    has_colour = console.color_system is not None and "NO_COLOR" not in os.environ
    picture = pixel_picture(pixels, console.width - 1, rows) if has_colour and not blocks else None
    console.print(picture or picture_text(pixels, console.width - 1, rows, colour=has_colour))
    return True


def _show_question(labelling: "Labelling", question: "Question") -> None:
    number = f"{len(labelling.answers) + 1} of {labelling.total}"
    print(f"{number}  {printable(question.picture)}")
    print(f"Is it {printable(question.label)}?  {KEYS}  ", end="", flush=True)


def _write(labelling: "Labelling", folder: Path, out: Path, image_size: int) -> None:
    from clarinet_tui.label.arrays import write_arrays

    labels = labelling.labels()
    shape = write_arrays(out, folder, labels, labelling.classes, image_size)
    size = "×".join(map(str, shape))
    yes = sum(y >= 0 for _, y, _ in labels)
    minutes = labelling.seconds / 60
    print(f"Written: {out} ({format_count(len(labels), 'picture')} of {size}: {yes} yes, {len(labels) - yes} no)")
    print(f"{minutes:.1f} minutes, {labelling.seconds / max(len(labels), 1):.1f} s an answer")
    if len(labelling.answers) < labelling.total:
        print(f"{labelling.total - len(labelling.answers)} left: the same command continues")


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Read single keys from a terminal, which shows them only when they are answers; lines from a pipe."""
    if not sys.stdin.isatty():
        yield lambda: sys.stdin.readline().strip().lower()[:1]
        return
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield lambda: os.read(terminal, 1).decode(errors="replace").lower().replace("\x04", "")
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
