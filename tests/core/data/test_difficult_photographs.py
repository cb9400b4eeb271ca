"""Photographs as they are found: classes missing or rare, grey and colour, damaged files."""

from pathlib import Path

import pytest
from PIL import Image

from core.data.load import load_task
from core.errors import InputError
from core.events import Evaluated, Finished
from core.resolve import resolve
from core.training.train import train
from tests.support.image_folders import load, picture_folder

FEW = {"preset": "smoke", "epochs": 1, "warmup_epochs": 1, "batch_size": 4, "threads": 1, "device": "cpu"}


def test_target_may_lack_a_class_which_is_noted(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a", ("cat", "dog", "eel"))
    for target in ("without folder", "empty folder"):
        picture_folder(tmp_path / target, ("cat", "eel"))
    (tmp_path / "empty folder" / "dog").mkdir()
    for target in ("without folder", "empty folder"):
        data = load(tmp_path / "a", tmp_path / target, tmp_path)
        assert data.classes == ("cat", "dog", "eel")
        assert data.target_test.y.tolist() == [0, 0, 0, 2, 2, 2]
        assert f"{target} has no image of dog" in data.notes


def test_source_without_a_class_of_the_target_is_refused(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a", ("cat", "eel"))
    picture_folder(tmp_path / "b", ("cat", "dog", "eel"))
    with pytest.raises(InputError, match=r"have different classes: only .*b has dog"):
        load(tmp_path / "a", tmp_path / "b", tmp_path)


@pytest.mark.parametrize("method", ["clarinet", "gac+cdan-e"])
def test_target_without_labels_is_trained_and_scored_without_them(method: str, tmp_path: Path) -> None:
    picture_folder(tmp_path / "a", ("cat", "dog"), count=8)
    (tmp_path / "b").mkdir()
    for path in (picture_folder(tmp_path / "c") / "cat").iterdir():
        for copy in range(3):
            (tmp_path / "b" / f"{copy}{path.name}").write_bytes(path.read_bytes())
    settings = {**FEW, "stage1": {"epochs": 1, "batch_size": 4}, "method": method}
    config = resolve(settings, task=f"{tmp_path / 'a'}->{tmp_path / 'b'}")
    events = list(train(config, data=load_task(config, tmp_path)))
    evaluations = [event for event in events if isinstance(event, Evaluated)]
    assert evaluations
    for event in evaluations:
        assert (event.target_accuracy, event.target_loss, event.confusion) == (None, None, None)
        assert event.target_information is not None
    assert isinstance(events[-1], Finished)
    assert events[-1].target_accuracy is None


def test_a_class_may_have_a_single_image(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a", ("cat",), count=15)
    picture_folder(tmp_path / "a", ("dog", "eel"), count=1)
    picture_folder(tmp_path / "b", ("cat", "dog", "eel"), count=2)
    config = resolve(FEW, task=f"{tmp_path / 'a'}->{tmp_path / 'b'}", method="basset", epoch_iterations=3)
    events = list(train(config, data=load_task(config, tmp_path)))
    assert isinstance(events[-1], Finished)


def test_grey_and_colour_in_one_folder_become_colour(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a")
    picture_folder(tmp_path / "b", mode="L")
    Image.new("L", (8, 6), 77).save(tmp_path / "a" / "dog" / "grey.png")
    data = load(tmp_path / "a", tmp_path / "b", tmp_path)
    assert data.shape == (6, 8, 3)
    assert (data.source_train.x == 77).all(axis=(1, 2, 3)).any()
    assert "b: grey images given three equal colours" in data.notes


def test_truncated_photograph_is_named_before_training(tmp_path: Path) -> None:
    picture_folder(tmp_path / "a", size=(64, 48))
    photograph = tmp_path / "a" / "cat" / "torn.jpg"
    Image.effect_noise((64, 48), 90).convert("RGB").save(photograph)
    whole = photograph.read_bytes()
    photograph.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cat/torn.jpg: cannot be read as an image; repair or remove it"):
        load(tmp_path / "a", picture_folder(tmp_path / "b", size=(64, 48)), tmp_path)
