"""Complementary labels from a person: one question for each picture, recorded so that labelling can be resumed.

The class of a question is drawn uniformly, so that the answer "no" gives a complementary label that is uniform over the
wrong classes, as the loss assumes. "Yes" gives the true label.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from clarinet_tui.runs.files import USER_FILE, append_line, as_input_error, read_file
from clarinet_tui.text import format_count
from core.data.custom_domains import folder_shape, pictures_below
from core.data.images import decode_image
from core.errors import InputError
from core.files import atomic_writer
from core.random_streams import stream_seed

Answer = Literal["yes", "no", "skip"]
MAX_BYTES = 256 << 20


class AnswerLine(msgspec.Struct, frozen=True):
    """One line of the file of answers; `undo` withdraws that of its picture."""

    picture: str
    label: str
    answer: Answer | Literal["undo"]
    seconds: float = 0.0


@dataclass(frozen=True)
class Question:
    """Whether a picture shows a class."""

    picture: str
    """Its path below the folder."""
    label: str


class Labelling:
    """The questions about the pictures of a folder, in random order, and their answers so far."""

    def __init__(self, pictures: Sequence[str], classes: Sequence[str], answers_file: Path, seed: int = 1) -> None:
        if len(classes) < 2 or len(set(classes)) < len(classes):
            raise InputError("--classes: expected two or more different names")
        for name in (*classes, *pictures):
            if name.encode(errors="replace").decode() != name:
                raise InputError(f"{name!a}: expected a name in UTF-8; rename it")
        self.classes = tuple(classes)
        self.answers_file = answers_file
        order = sorted(pictures)
        random.Random(stream_seed(seed, "order of questions")).shuffle(order)
        self._questions = {
            picture: Question(picture, random.Random(stream_seed(seed, "question", picture)).choice(self.classes))
            for picture in order
        }
        self.answers: dict[str, AnswerLine] = {}
        self._read()

    @property
    def total(self) -> int:
        return len(self._questions)

    def next_question(self) -> Question | None:
        return next((question for name, question in self._questions.items() if name not in self.answers), None)

    def leave_out(self, question: Question) -> None:
        """Ask no more about a picture that cannot be shown; undo then withdraws the last answer of the user."""
        del self._questions[question.picture]

    def record(self, question: Question, answer: Answer, seconds: float) -> None:
        """Write an answer to the disk before it counts."""
        self._write(AnswerLine(question.picture, question.label, answer, round(seconds, 3)))

    def undo(self) -> None:
        """Withdraw the last answer, if there is one."""
        if self.answers:
            self._write(AnswerLine(next(reversed(self.answers)), "", "undo"))

    def labels(self) -> list[tuple[str, int, int]]:
        """Return (picture, y, ybar) of each answer but skipped ones, -1 where unknown, sorted by picture."""
        labelled = ((name, line) for name, line in sorted(self.answers.items()) if line.answer != "skip")
        indices = ((name, self.classes.index(line.label), line.answer == "yes") for name, line in labelled)
        return [(name, index, -1) if is_true else (name, -1, index) for name, index, is_true in indices]

    def _write(self, line: AnswerLine) -> None:
        append_line(self.answers_file, msgspec.to_builtins(line) | {"time": time.time()})
        self._apply(line)

    def _apply(self, line: AnswerLine) -> None:
        self.answers.pop(line.picture, None)
        if line.answer != "undo" and line.picture in self._questions:
            self.answers[line.picture] = line

    def _read(self) -> None:
        """Read the answers; a damaged line, such as the last one of a killed process, is a question again."""
        content = read_file(self.answers_file, MAX_BYTES) or b""
        for number, text in enumerate(content.splitlines(), 1):
            try:
                line = msgspec.json.decode(text, type=AnswerLine)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            if line.answer != "undo" and line.label not in self.classes:
                raise InputError(f"{self.answers_file}: line {number}: {line.label!a} is not one of --classes")
            self._apply(line)


def write_labels(labelling: Labelling, folder: Path, out: Path, image_size: int, *, cut: bool = False) -> list[str]:
    """Write x, y, ybar and classes of what was labelled so far; return lines of text about it.

    Pictures of several sizes are stretched to one size, or cut.
    """
    labels = labelling.labels()
    if not labels:
        raise InputError("no picture was labelled: nothing to write")
    paths = tuple(folder / picture for picture, _, _ in labels)
    shape, _ = folder_shape(paths, image_size)
    arrays: dict[str, Any] = {
        "x": np.stack([decode_image(path, shape, cut=cut) for path in paths]),
        "y": np.array([y for _, y, _ in labels], dtype=np.int64),
        "ybar": np.array([ybar for _, _, ybar in labels], dtype=np.int64),
        "classes": np.array(labelling.classes),
    }
    with as_input_error(out), atomic_writer(out, USER_FILE) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    yes, size = sum(y >= 0 for _, y, _ in labels), "×".join(map(str, shape))
    seconds = sum(line.seconds for line in labelling.answers.values())
    lines = [
        f"Written: {out} ({format_count(len(labels), 'picture')} of {size}: {yes} yes, {len(labels) - yes} no)",
        f"{seconds / 60:.1f} minutes, {seconds / len(labels):.1f} s an answer",
    ]
    if len(labelling.answers) < labelling.total:
        lines.append(f"{labelling.total - len(labelling.answers)} left: the same command continues")
    return lines


def find_pictures(folder: Path) -> list[str]:
    """Return the paths of all pictures below the folder, relative to it."""
    if not folder.is_dir():
        raise InputError(f"{folder}: is not a directory")
    found = [str(path.relative_to(folder)) for path in pictures_below(folder)]
    if not found:
        raise InputError(f"{folder}: contains no images (png, jpg, jpeg)")
    return found
