"""Tasks: spellings, names, and the shape of their images."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from clarinet_tui.cli.launch import make_config, merge_pairs
from clarinet_tui.cli.main import app
from core.data.load import load_task
from core.errors import InputError
from core.resolve import resolve
from core.tasks import COLOUR, DOMAINS, DOMAINS_BY_NAME, GREY, OFFLINE_TASK, PAPER_TASKS, parse_domain, parse_task

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = [
    line
    for page in (DOCS / "protocols.md", DOCS / "guides" / "own-data.md")
    for line in re.findall(r"^clarinet run .*$", page.read_text(encoding="utf-8"), re.MULTILINE)
]


def test_every_domain_has_a_letter_and_a_name() -> None:
    names = {"M": "mnist", "U": "usps", "S": "svhn", "m": "mnistm", "Y": "synth", "D": "digits"}
    assert {domain.letter: domain.name for domain in DOMAINS.values()} == names
    assert not set(DOMAINS_BY_NAME) & set(DOMAINS)
    for domain in DOMAINS.values():
        assert parse_domain(domain.letter) is parse_domain(domain.name) is parse_domain(domain.name.upper()) is domain
        assert not domain.is_custom


@pytest.mark.parametrize("text", ["M->U", "M→U", " M -> U ", "mnist->usps", "MNIST->Usps", "M->usps", "mnist→U"])
def test_spellings_of_a_task(text: str) -> None:
    assert parse_task(text).name == "M->U"
    for name in (*PAPER_TASKS, OFFLINE_TASK, "m->M"):
        assert parse_task(name).name == name


@pytest.mark.parametrize("letter", ["u", "s", "y", "d"])
def test_other_lower_case_letters_are_refused(letter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InputError, match=f'task: "{letter}" is neither a folder, an .npz file nor one of M \\(mnist\\), U'
    ):
        parse_task(f"M->{letter}")


@pytest.mark.parametrize("text", ["", "M", "M->", "->U", "->", "M->U->S", "M-U", "M>U", " -> "])
def test_task_without_two_domains_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_task(text)
    assert str(caught.value) == f'task: expected SOURCE->TARGET such as "M->U", got "{text}"'


def test_task_of_two_custom_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "scans").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    task = parse_task("photos -> ~/scans")
    assert task.is_custom
    assert (task.source.folder, task.target.folder) == (tmp_path / "photos", tmp_path / "scans")
    assert (task.source.title, task.target.title) == ("photos", "scans")
    assert task.name == f"{tmp_path}/photos->{tmp_path}/scans", "absolute, because runs are resumed from other folders"
    assert parse_task(task.name) == task
    assert task.shape is None


def test_task_of_a_custom_folder_and_known_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the name of a domain needs a path."""
    (tmp_path / "M").mkdir()
    monkeypatch.chdir(tmp_path)
    task = parse_task("M->./M")
    assert (task.source.is_custom, task.is_custom, task.shape) == (False, True, None)
    assert task.target.folder == tmp_path / "M"


@pytest.mark.parametrize("text", ["x" * 300, "~nobody-is-called-this", "a\0b", "a\nb"])
def test_text_that_cannot_be_a_path_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"is neither a folder, an \.npz file nor one of") as caught:
        parse_task(f"{text}->M")
    assert str(caught.value).isprintable()


def test_npz_file_is_a_domain_and_another_file_is_not(tmp_path: Path) -> None:
    arrays, text = tmp_path / "photos.npz", tmp_path / "photos.txt"
    arrays.touch()
    text.touch()
    assert parse_task(f"{arrays}->M").source.folder == arrays.resolve()
    with pytest.raises(InputError, match=r'task: ".*photos\.txt" is neither a folder, an .npz file nor one of'):
        parse_task(f"{text}->M")


def test_shape_and_preset_keys_of_grey_and_colour_tasks() -> None:
    assert (GREY, COLOUR) == ((28, 28, 1), (32, 32, 3))
    for name in ("M->U", "U->M", "Y->D", "D->m", "M->D"):
        assert (parse_task(name).shape, parse_task(name).preset_keys) == (GREY, (name[0],))
    for name in ("S->M", "M->m", "Y->M", "Y->S"):
        assert (parse_task(name).shape, parse_task(name).preset_keys) == (COLOUR, (name[0], "colour"))


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_of_the_documentation_resolve(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("photos", "scans", "amazon/images", "webcam/images"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "photos.npz").touch()
    monkeypatch.chdir(tmp_path)
    program, _, *words = shlex.split(line, comments=True)
    assert program == "clarinet"
    root: Any = typer.main.get_group(app)
    command = root.get_command(None, "run")
    given = command.make_context("run", [word.replace("$n", "1") for word in words]).params
    flags = {name: given[name] for name in ("method", "task", "seed", "device", "preset", "epochs")}
    chosen = {name: flag for name, flag in flags.items() if flag is not None}
    config = make_config(None, merge_pairs(chosen, given["set_"]))
    assert parse_task(config.task)
    assert given["headless"]


def test_arrays_of_the_guide_are_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (DOCS / "guides" / "own-data.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    data = load_task(resolve(task="photos->scans", cores=1), tmp_path)
    assert data.classes == ("ant", "bee", "cat", "dog", "eel")
    assert data.shape == (32, 32, 3)
    assert [len(part) for part in (data.source_train, data.target_train, data.target_test)] == [600, 400, 100]
    assert (data.source_train.y == -1).all()
    assert data.notes == ()
