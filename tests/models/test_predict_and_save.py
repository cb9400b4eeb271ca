"""`clarinet predict`, `save`, `inspect` and figures of the model of a trained run."""

import contextlib
import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import Result

from clarinet_tui.models.run_models import load_run_model
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.inspection_file import GROUP_TITLES, read_inspection
from core import load_model
from tests.support.cli import imported_modules, invoke
from tests.support.forked_python import run_worker
from tests.support.tiny import tiny_images
from tests.support.workers import make_task, tiny_run

X = tiny_images(20, 9, shift=2).x


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    folder = tmp_path_factory.mktemp("trained")
    run = tiny_run(
        folder / "runs", make_task(folder), "one", "basset", checkpoints="all", warmup_epochs=1, epoch_iterations=0
    )
    assert run_worker(run) == 0, run.log.read_text()
    return run


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "more").mkdir(parents=True)
    for index, image in enumerate(X[:5]):
        Image.fromarray(image[:, :, 0]).save(folder / ("more" if index > 2 else "") / f"{index}.png")
    return folder


def predict(run: RunDirectory, *arguments: str) -> Result:
    return invoke(run.runs_dir, "predict", *arguments)


def expected(run: RunDirectory, count: int) -> list[str]:
    return [prediction.label for prediction in load_model(run.path).predict(X[:count])]


def test_pictures_of_a_folder_are_predicted_in_order(run: RunDirectory, pictures: Path) -> None:
    done = predict(run, "one", str(pictures), "--json")
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert [Path(row["file"]).name for row in rows] == [f"{index}.png" for index in range(5)]
    assert [row["label"] for row in rows] == expected(run, 5)
    assert all(0.5 <= row["probability"] + row["second_probability"] <= 1.0001 for row in rows)
    assert [json.loads(line) for line in predict(run, "one", str(pictures), "--jsonl").stdout.splitlines()] == rows
    text = predict(run, "on", str(pictures / "0.png")).stdout
    assert text.split()[-5:-3] == [str(pictures / "0.png"), rows[0]["label"]]


def test_arrays_and_files_are_predicted(run: RunDirectory, tmp_path: Path) -> None:
    np.savez(tmp_path / "new.npz", x=X)
    done = predict(run, str(run.model), str(tmp_path / "new.npz"), "--out", str(tmp_path / "new.csv"))
    assert done.exit_code == 0, done.output
    with (tmp_path / "new.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == expected(run, 20)
    assert rows[3]["file"] == f"{tmp_path / 'new.npz'}[3]"


def test_unreadable_pictures_are_named_and_the_rest_is_predicted(run: RunDirectory, pictures: Path) -> None:
    (pictures / "1.png").write_bytes((pictures / "1.png").read_bytes()[:60])
    (pictures / "2.png").write_text("not a picture \x1b[31m")
    (pictures / "loop.png").symlink_to("loop.png")
    (pictures / "more" / "up").symlink_to(pictures)
    np.savez(pictures / "wrong.npz", x=np.array([object()]))
    done = predict(run, "one", str(pictures), str(pictures / "wrong.npz"), "--csv")
    assert done.exit_code == 1
    assert [line.split(",")[0] for line in done.stdout.splitlines()[1:]] == [
        str(pictures / name) for name in ("0.png", "more/3.png", "more/4.png")
    ]
    assert f"clarinet: {pictures / '1.png'}: cannot be read as an image" in done.stderr
    assert f"clarinet: {pictures / 'wrong.npz'}: x is an array of Python objects" in done.stderr
    assert "3 pictures of 6 could not be read" in done.stderr


def test_wrong_input_is_refused_before_anything_is_read(run: RunDirectory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "empty").mkdir()
    (tmp_path / "model.pt").write_bytes(b"\x80\x04.")
    picture = tmp_path / "picture.png"
    Image.new("L", (28, 28)).save(picture)
    cases = {
        ("one", str(tmp_path / "pipe.png")): "is not a regular file",
        ("one", str(tmp_path / "none.png")): "No such file",
        ("one", str(tmp_path / "empty")): "contains no images",
        ("one", str(run.config)): "expected a .png",
        ("two", str(picture)): "no run in",
        (str(tmp_path / "model.pt"), str(picture)): "expected the id of a run, or a .safetensors file",
        ("one", str(picture), "--epoch", "9"): "has no weights of epoch 9: it kept 1, 2, 3",
        ("one", str(picture), "--out", "x.txt"): "expected FILE.csv or FILE.json",
        ("one", str(picture), "--out", str(tmp_path / "none" / "x.csv")): "none is not a directory",
        ("one", str(picture), "--csv", "--json"): "exclude each other",
    }
    for arguments, message in cases.items():
        done = predict(run, *arguments)
        assert done.exception is not None, arguments
        assert message in str(done.exception), arguments


def test_weights_of_an_epoch_that_was_kept_and_of_the_checkpoint_can_be_used(run: RunDirectory, tmp_path: Path) -> None:
    first, model = load_run_model(run, 1), load_run_model(run)
    assert (first.info.epoch, model.info.epoch) == (1, 3)
    assert not np.array_equal(first.probabilities(X), model.probabilities(X))
    hidden = run.model.rename(tmp_path / "hidden")
    try:
        from_checkpoint = load_run_model(run)
    finally:
        hidden.rename(run.model)
    assert np.array_equal(model.probabilities(X), from_checkpoint.probabilities(X))
    assert (from_checkpoint.info.selection, from_checkpoint.info.is_averaged) == ("newest checkpoint", True)


def test_model_card_describes_the_model(run: RunDirectory, tmp_path: Path) -> None:
    (tmp_path / "digits.md").write_text("notes of the user")
    invoke(run.runs_dir, "save", "one", "--out", str(tmp_path / "digits.safetensors"))
    assert (tmp_path / "digits.md").read_text() == "notes of the user"
    card = (tmp_path / "digits.safetensors.md").read_text()
    code = card.partition("```python\n")[2].partition("```")[0]
    Image.fromarray(X[0, :, :, 0]).save(tmp_path / "picture.png")
    with contextlib.chdir(tmp_path):
        exec(code, {})
    assert "averaged teacher" in card
    assert "`0`, `1`, `2`, `3`" in card


def test_saving_refuses_other_names(run: RunDirectory, tmp_path: Path) -> None:
    (tmp_path / "is.onnx").mkdir()
    cases = {"x.pt": "expected FILE.safetensors", "no/x.onnx": "is not a directory", "is.onnx": "is a directory"}
    for name, message in cases.items():
        done = invoke(run.runs_dir, "save", "one", "--out", str(tmp_path / name))
        assert message in str(done.exception)
    assert list(tmp_path.rglob("*")) == [tmp_path / "is.onnx"]


def test_commands_import_torch_only_when_they_run() -> None:
    modules = imported_modules("import clarinet_tui.cli.model")
    assert not modules & {"torch", "numpy", "safetensors", "onnx"}


# -- figures of a model -------------------------------------------------------------------------------------------


def plot(run: RunDirectory, *arguments: str) -> Result:
    return invoke(run.runs_dir, "plot", *arguments, "--data-dir", str(run.runs_dir / "data"))


def test_features_of_start_warm_up_and_end(run: RunDirectory, tmp_path: Path) -> None:
    done = plot(run, "features", "one", "--json")
    assert done.exit_code == 0, done.exception
    figure = json.loads(done.stdout)
    titles = [panel["title"] for panel in figure["panels"]]
    assert [title.partition(":")[0] for title in titles] == ["start", "warm-up, epoch 1", "end, epoch 3"]
    assert all(len(panel["source"]) == len(panel["target"]) == 20 for panel in figure["panels"])
    assert json.loads(plot(run, "features", "one", "--json").stdout) == figure
    assert plot(run, "features", "one", "--out", str(tmp_path / "features.svg")).exit_code == 0
    text = plot(run, "features", "one", "--projection", "tsne").stdout
    assert "symbols: target, dots: source" in text


def test_calibration_and_accuracy_of_each_class(run: RunDirectory) -> None:
    done = plot(run, "calibration", "one")
    assert done.exit_code == 0, done.exception
    assert "ECE" in done.stdout
    assert "20 images in bins" in done.stdout
    (panel,) = json.loads(plot(run, "classes", "", "--json").stdout)["panels"]
    assert [line["label"] for line in panel["lines"]] == ["0", "1", "2", "3"]
    assert all(len(line["y"]) == 3 and 0 <= line["y"][-1] <= 100 for line in panel["lines"])
    assert "expected a run id" in str(plot(run, "features").exception)
    assert "only for `clarinet plot features`" in str(plot(run, "accuracy", "--projection", "pca").exception)


@pytest.mark.parametrize("name", ["photos/train.npz", "scans/test.npz"])
def test_data_that_has_changed_since_training_is_refused(run: RunDirectory, name: str) -> None:
    path = run.runs_dir.parent / name
    trained = path.read_bytes()
    np.savez(path, **{key: values[1:] for key, values in np.load(path).items()})
    try:
        assert "have changed since training" in str(plot(run, "calibration", "one").exception)
    finally:
        path.write_bytes(trained)


def test_inspection_has_samples_mistakes_and_uncertain_pictures(run: RunDirectory, tmp_path: Path) -> None:
    done = invoke(run.runs_dir, "inspect", "one", "--data-dir", str(tmp_path))
    assert done.exit_code == 0, done.exception
    assert "Least certain predictions" in done.stdout
    assert "proxy A-distance" in done.stdout
    found = read_inspection(run)
    assert found is not None
    assert found.calibration is not None
    assert [one.title for one in found.maps] == ["start", "warm-up, epoch 1", "end, epoch 3"]
    groups = {group: [one for one in found.pictures if one.group == group] for group in GROUP_TITLES}
    assert all(one.captions == (f"not {one.excluded}",) for one in groups["source"])
    assert groups["wrong"]
    assert all(one.true != one.predicted for one in groups["wrong"])
    for group, sign in (("wrong", -1), ("unsure", 1)):
        chances = [one.probability or 0.0 for one in groups[group]]  # type: ignore[index]
        assert chances == sorted(chances, key=lambda chance: sign * chance)
    model, target = load_model(run.path), tiny_images(20, 3, shift=2)
    lowest = min(one.probability or 0.0 for one in groups["unsure"])
    assert lowest == pytest.approx(float(model.probabilities(target.x).max(axis=1).min()), abs=1e-6)


def test_report_shows_the_inspection(run: RunDirectory, tmp_path: Path) -> None:
    assert invoke(run.runs_dir, "inspect", "one", "--no-pictures", "--data-dir", str(tmp_path)).exit_code == 0
    assert invoke(run.runs_dir, "report", "--out", str(tmp_path / "report.html")).exit_code == 0
    page = (tmp_path / "report.html").read_text()
    assert page.count('<img src="data:image/png;base64,') == len(read_inspection(run).pictures)  # type: ignore[union-attr]
    for text in ("Inside the models", "Accuracy by class", "Wrong predictions", "ECE", "end, epoch 3: A "):
        assert text in page, text
    run.inspection.write_text('{"epoch": 1, "classes": [], "pictures": [{"group": "wrong", "height": 9}]}')
    assert read_inspection(run) is None
    assert invoke(run.runs_dir, "report", "--out", str(tmp_path / "report.html")).exit_code == 0
    assert "Inside the models" not in (tmp_path / "report.html").read_text()
