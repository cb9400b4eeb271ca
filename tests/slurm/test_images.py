"""The recipes of images are linted, not built; the commands of the examples for other systems are accepted."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.yaml"))
SECTIONS = {"arguments", "files", "post", "environment", "runscript", "test", "labels"}


def test_hadolint_accepts_the_dockerfile() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_apptainer_recipe_has_its_sections_and_files() -> None:
    header, *parts = re.split(r"^%", (ROOT / "clarinet.def").read_text(), flags=re.MULTILINE)
    assert "Bootstrap: docker\nFrom: python:3.11-slim-bookworm\n" in header
    sections = {name: body for name, _, body in (part.partition("\n") for part in parts)}
    assert sections.keys() == SECTIONS
    for line in sections["files"].strip().splitlines():
        assert (ROOT / line.split()[0]).exists(), line
    for name in ("post", "environment", "runscript", "test"):
        script = sections[name].replace("{{ TORCH_INDEX }}", "https://example.org")
        assert subprocess.run(["sh", "-n"], input=script, text=True, timeout=60).returncode == 0


def test_both_recipes_copy_the_same_files_and_install_the_same_torch() -> None:
    docker, apptainer = (ROOT / "Dockerfile").read_text(), (ROOT / "clarinet.def").read_text()
    wanted = re.findall(r'"(torch\w*[<>=.,\d]+)"', docker)
    assert wanted == re.findall(r'"(torch\w*[<>=.,\d]+)"', apptainer)
    assert all(f'"{requirement}"' in (ROOT / "pyproject.toml").read_text() for requirement in wanted)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_command_of_an_example_is_accepted(path: Path, tmp_path: Path) -> None:
    command = re.search(r"clarinet run [^\n]*\n[^\n]*", path.read_text())
    assert command is not None
    text = command[0].replace("$((JOB_COMPLETION_INDEX + 1))", "1").replace("$JOB_COMPLETION_INDEX", "0")
    words = shlex.split(text.replace("$SEED", "1"))
    assert words[:3] == ["clarinet", "run", "--headless"]
    assert words[words.index("--run-id") + 1].isalnum()


def load_example(name: str) -> Any:
    return pytest.importorskip("yaml").safe_load((ROOT / "docs" / "examples" / name).read_text())


def test_the_fields_of_the_skypilot_example_are_in_its_schema() -> None:
    """The types are those of the task, resources and storage schemas of SkyPilot 0.14.1."""
    task = load_example("skypilot.yaml")
    types = {"name": str, "resources": dict, "envs": dict, "file_mounts": dict, "run": str}
    assert {name: type(value) for name, value in task.items()} == types
    assert {name: type(value) for name, value in task["resources"].items()} == {"accelerators": str, "image_id": str}
    assert all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name) for name in task["envs"])
    assert {type(value) for value in task["envs"].values()} == {str}
    assert task["file_mounts"] == {"/runs": {"name": "clarinet-runs", "mode": "MOUNT"}}
    assert "--runs-dir /runs" in task["run"]


def test_the_fields_of_the_dstack_example_are_in_its_models() -> None:
    """The types are those of TaskConfiguration of dstack 0.22.5, which refuses other fields."""
    task = load_example("dstack.yaml")
    types = {"type": str, "name": str, "image": str, "env": list, "commands": list, "volumes": list}
    assert {name: type(value) for name, value in task.items()} == {**types, "retry": dict, "resources": dict}
    assert task["type"] == "task"
    assert re.fullmatch("[a-z][a-z0-9-]{1,40}", task["name"])
    assert all(isinstance(entry, str) for entry in task["env"])
    assert [volume.keys() for volume in task["volumes"]] == [{"name", "path"}]
    assert task["retry"] == {"on_events": ["interruption"], "duration": "7d"}
    assert task["resources"] == {"gpu": "16GB.."}
    assert "--runs-dir /runs" in task["commands"][0]
