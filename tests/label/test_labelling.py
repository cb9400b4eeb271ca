"""Questions, answers and the file that training reads."""

import collections
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from clarinet_tui.chart.picture import picture_text
from clarinet_tui.label.labelling import Answer, Labelling, write_labels
from core.data.images import decode_image
from core.data.load import load_task
from core.errors import InputError
from core.events import Finished
from core.resolve import resolve
from core.training.train import train
from tests.support.cli import imported_modules, invoke
from tests.support.terminal import Terminal
from tests.support.workers import tiny_run

CLASSES = ("cat", "dog", "eel")
NAMES = [f"{number:04d}.png" for number in range(120)]


def make_pictures(folder: Path, count: int) -> list[str]:
    """Write pictures whose brightness is their class."""
    folder.mkdir(parents=True)
    for number in range(count):
        value = 90 * (number % 3) + 20
        Image.new("RGB", (8, 6), (value, value, value)).save(folder / NAMES[number])
    return NAMES[:count]


def true_class(name: str) -> str:
    return CLASSES[int(name[:4]) % 3]


def answer_all(labelling: Labelling) -> None:
    while question := labelling.next_question():
        labelling.record(question, "yes" if question.label == true_class(question.picture) else "no", 1.5)


def test_questions_are_uniform_over_classes_and_the_same_each_time(tmp_path: Path) -> None:
    first, again = (Labelling(NAMES, CLASSES, tmp_path / name) for name in ("a", "b"))
    answer_all(first)
    answer_all(again)
    assert {name: line.label for name, line in first.answers.items()} == {
        name: line.label for name, line in again.answers.items()
    }
    asked = collections.Counter(line.label for line in first.answers.values())
    assert all(25 < count < 55 for count in asked.values())
    assert list(first.answers) != NAMES


def test_answers_are_resumed_and_undone(tmp_path: Path) -> None:
    labelling = Labelling(NAMES, CLASSES, tmp_path / "answers")
    answers: tuple[Answer, ...] = ("yes", "no", "skip", "no")
    questions = []
    for answer in answers:
        question = labelling.next_question()
        assert question is not None
        questions.append(question)
        labelling.record(question, answer, 2.0)
    labelling.undo()
    resumed = Labelling(NAMES, CLASSES, tmp_path / "answers")
    assert resumed.next_question() == questions[3]
    assert list(resumed.answers) == [question.picture for question in questions[:3]]
    assert [line.seconds for line in resumed.answers.values()] == [2.0] * 3
    while resumed.answers:
        resumed.undo()
    resumed.undo()
    assert Labelling(NAMES, CLASSES, tmp_path / "answers").next_question() == questions[0]


def test_undo_withdraws_an_answer_of_its_own_process(tmp_path: Path) -> None:
    """Two processes that label the same folder write to one file."""
    first, second = (Labelling(NAMES, CLASSES, tmp_path / "answers") for _ in range(2))
    questions = []
    for labelling in (first, first, second):
        question = labelling.next_question()
        assert question is not None
        questions.append(question)
        labelling.record(question, "no", 1.0)
    first.undo()
    assert list(Labelling(NAMES, CLASSES, tmp_path / "answers").answers) == [questions[0].picture]


@pytest.mark.parametrize("names", [(["caf\udce9.png"], CLASSES), (NAMES, ("cat", "caf\udce9"))])
def test_names_that_are_not_utf_8_are_refused(names: tuple[list[str], tuple[str, ...]], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^'caf\\udce9(\.png)?': expected a name in UTF-8"):
        Labelling(*names, tmp_path / "answers")


def test_pictures_of_several_sizes_are_stretched_or_cut_as_in_training(tmp_path: Path) -> None:
    for number, size in enumerate(((8, 6), (20, 6))):
        pixels = np.random.default_rng(number).integers(0, 256, (*size[::-1], 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / NAMES[number])
    labelling = Labelling(NAMES[:2], CLASSES, tmp_path / "answers")
    answer_all(labelling)
    for cut in (False, True):
        write_labels(labelling, tmp_path, tmp_path / "labels.npz", 6, cut=cut)
        expected = [decode_image(tmp_path / name, (6, 6, 3), cut=cut) for name in NAMES[:2]]
        assert np.array_equal(np.load(tmp_path / "labels.npz")["x"], expected)


def test_torn_last_line_is_asked_again_and_other_classes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    labelling = Labelling(NAMES, CLASSES, path)
    answer_all(labelling)
    path.write_bytes(path.read_bytes()[:-9])
    resumed = Labelling(NAMES, CLASSES, path)
    assert len(resumed.answers) == len(NAMES) - 1
    answer_all(resumed)
    assert len(Labelling(NAMES, CLASSES, path).answers) == len(NAMES)
    path.write_text('{"picture": "0000.png", "label": "cow", "answer": "no"}\n')
    with pytest.raises(InputError, match="'cow' is not one of --classes"):
        Labelling(NAMES, CLASSES, path)


def test_file_is_read_by_training(tmp_path: Path) -> None:
    names = make_pictures(tmp_path / "photos", 60)
    labelling = Labelling(names, CLASSES, tmp_path / "answers")
    answer_all(labelling)
    assert "60 pictures of 6×8×3" in write_labels(labelling, tmp_path / "photos", tmp_path / "photos.npz", 0)[0]
    data = load_task(resolve(task=f"{tmp_path / 'photos.npz'}->{tmp_path / 'photos'}", cores=1), tmp_path)
    mask = data.source_train.ybar
    assert mask is not None
    assert data.classes == CLASSES
    yes = data.source_train.y >= 0
    assert (mask.sum(axis=1) == np.where(yes, 2, 1)).all()
    truth = np.array([CLASSES.index(true_class(name)) for name in names])
    assert not mask[np.arange(60), truth].any()


def test_picture_fits_and_keeps_its_proportions() -> None:
    image = np.zeros((40, 80, 3), np.uint8)
    image[:, 40:] = 255
    lines = picture_text(image, 20, 20, colour=True).plain.splitlines()
    assert [len(line) for line in lines] == [20] * 5
    shades = picture_text(image, 200, 10, colour=False).plain.splitlines()
    assert set(shades) == {" " * 20 + "@" * 20}
    assert len(shades) == 10


def test_label_imports_no_torch() -> None:
    modules = imported_modules("import clarinet_tui.cli.label, clarinet_tui.label.labelling")
    assert "torch" not in modules


def test_session_in_a_terminal_is_stopped_and_continued_and_its_labels_are_trained(tmp_path: Path) -> None:
    names = make_pictures(tmp_path / "photos", 6)
    (tmp_path / "photos" / "broken.png").write_text("no picture")
    expected = Labelling([*names, "broken.png"], CLASSES, tmp_path / "none")
    terminal = Terminal(tmp_path)
    command = "from clarinet_tui.cli.main import main; main()"
    start = [sys.executable, "-P", "-c", f"'{command}'", "label", "photos", "--classes", "cat,dog,eel"]
    try:
        terminal.open(*start)
        terminal.wait_for("Is it")
        assert "Gi=" not in terminal.title(), "the question whether the terminal is kitty"
        terminal.press("x", "F4", "F2", "Up", "n", "u", "q")
        terminal.wait_for("no picture was labelled")
        answers = (tmp_path / "labels.answers.jsonl").read_text().splitlines()
        assert [json.loads(line)["answer"] for line in answers] == ["no", "undo"]
        terminal.type("clear", "Enter")
        terminal.wait_until(lambda screen: "Is it" not in screen, "an empty screen")
        terminal.type(" ".join(start), "Enter")
        shown = ""
        while question := expected.next_question():
            if question.picture == "broken.png":
                expected.leave_out(question)
                continue
            shown += terminal.wait_for(f"{len(expected.answers) + 1} of {expected.total}  {question.picture}")
            is_right = question.label == true_class(question.picture)
            terminal.press("y" if is_right else "n")
            expected.record(question, "yes" if is_right else "no", 0.0)
        shown += terminal.wait_for("Written: labels.npz")
    finally:
        terminal.close()
    assert "▀" in shown
    assert "broken.png: cannot be read as an image" in shown
    with np.load(tmp_path / "labels.npz") as arrays:
        assert arrays["x"].shape == (6, 6, 8, 3)
        assert list(zip(arrays["y"], arrays["ybar"], strict=True)) == [(y, ybar) for _, y, ybar in expected.labels()]
    (tmp_path / "photos" / "broken.png").unlink()
    task = f"{tmp_path / 'labels.npz'}->{tmp_path / 'photos'}"
    run = tiny_run(tmp_path / "runs", task, "one", "clarinet", batch_size=2, epochs=1)
    *_, finished = train(run.read_config(), data_dir=tmp_path, checkpoint_dir=run.path)
    assert isinstance(finished, Finished)
    predicted = invoke(run.runs_dir, "predict", "one", str(tmp_path / "photos"), "--json")
    assert predicted.exit_code == 0, predicted.exception
    rows = json.loads(predicted.stdout)
    assert [Path(row["file"]).name for row in rows] == names
    assert {row["label"] for row in rows} <= set(CLASSES)
