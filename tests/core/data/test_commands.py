"""`clarinet data`: output and exit codes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from clarinet_tui.cli.data import app
from core.errors import InputError
from tests.support.image_folders import images, labels, save


def clarinet_data(*arguments: str, data_dir: Path) -> Result:
    return CliRunner().invoke(app, [*arguments, "--data-dir", str(data_dir)], env={"COLUMNS": "160"})


def test_list_shows_every_domain(tmp_path: Path) -> None:
    result = clarinet_data("list", data_dir=tmp_path)
    assert result.exit_code == 0
    for line in ("clarinet data fetch mnist", "clarinet data make synth", "bundled with scikit-learn"):
        assert line in result.stdout
    for split in ("train", "test"):
        save(tmp_path / "svhn" / f"{split}.npz", x=images(7, (32, 32, 3)), y=labels(7, 10))
    domains = json.loads(clarinet_data("list", "--json", data_dir=tmp_path).stdout)
    assert [domain["letter"] for domain in domains] == ["M", "U", "S", "m", "Y", "D"]
    assert (domains[2]["train"], domains[-1]["train"]) == (7, 1437)
    assert [domain["format"] for domain in domains] == [None, None, "arrays", None, None, "bundled"]
    by_environment = CliRunner().invoke(app, ["list", "--json"], env={"CLARINET_DATA": str(tmp_path)})
    assert json.loads(by_environment.stdout) == domains


def test_make_then_verify(tmp_path: Path) -> None:
    generated = clarinet_data("make", "synth", "--train", "20", "--test", "10", "--seed", "4", data_dir=tmp_path)
    checked = clarinet_data("verify", data_dir=tmp_path)
    assert generated.exit_code == 0
    assert "20 + 10 images, recipe 1, seed 4" in generated.stdout
    assert checked.exit_code == 0
    assert [line[:9] for line in checked.stdout.splitlines()] == ["✓ synth: ", "✓ digits:"]


def test_verify_exits_with_1_for_bad_data(tmp_path: Path) -> None:
    for split in ("train", "test"):
        save(tmp_path / "svhn" / f"{split}.npz", x=images(5, (32, 32, 3)), y=labels(5, 5))
    result = clarinet_data("verify", "svhn", data_dir=tmp_path)
    assert result.exit_code == 1
    assert result.stdout.startswith("✗ svhn: ")


def test_fetch_prints_the_downloaded_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.data import download as fetch

    monkeypatch.setattr(
        fetch, "fetch_domain", lambda name, data_dir, progress: (data_dir / name,) if name == "mnist" else ()
    )
    result = clarinet_data("fetch", "mnist", "usps", data_dir=tmp_path)
    assert result.stdout.splitlines() == [
        f"mnist: 1 file downloaded to {tmp_path / 'mnist'}",
        "usps: already downloaded",
    ]


def test_commands_raise_input_errors(tmp_path: Path) -> None:
    assert isinstance(clarinet_data("fetch", "synth", data_dir=tmp_path).exception, InputError)
