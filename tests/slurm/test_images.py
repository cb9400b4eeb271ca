"""The recipes of images are linted, not built; the commands of the examples for other systems are accepted."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.yaml"))


def test_hadolint_accepts_the_dockerfile() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_apptainer_recipe_has_its_files_and_correct_scripts() -> None:
    _, *parts = re.split(r"^%", (ROOT / "clarinet.def").read_text(), flags=re.MULTILINE)
    sections = {name: body for name, _, body in (part.partition("\n") for part in parts)}
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
