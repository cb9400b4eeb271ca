"""Methods of plug-ins: the code of the guide, their settings and metrics, and what is said of broken ones."""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
import tomli
from typer.testing import CliRunner, Result

from clarinet_tui.cli.main import app
from clarinet_tui.history.queries import list_runs
from clarinet_tui.history.variants import comparable_settings, group_all, name_variants
from clarinet_tui.queue.sweep import Grid, expand_grid, run_command
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.stage1 import stage1_role
from core.config import RunConfig, checkpoint_settings, flatten_settings, setting
from core.errors import InputError
from core.methods import ENTRY_POINTS, METHODS, find_method, own_settings, plugin_problems
from core.resolve import changed_settings, minimal_settings, resolve
from tests.support.events import evaluation, started, step
from tests.support.histories import open_history, record_run
from tests.support.plugins import SHARP, SHARP_HARD, OwnSettings, installed

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "write-a-method.md"
FILE = re.compile(r"^`([\w./]+\.(?:py|toml))`:[^\n]*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A file of the guide: its name, a description, and a block of code."""


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a new interpreter in which the packages of `folder` are installed."""
    path = os.pathsep.join([str(folder), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-P", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files of the guide's project, and the metadata that names its entry points, as pip does."""
    folder = tmp_path_factory.mktemp("clarinet-coral")
    files = dict(FILE.findall(GUIDE.read_text(encoding="utf-8")))
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    info = folder / "clarinet_coral-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: clarinet-coral\nVersion: 0.1.0\n")
    points = tomli.loads(files["pyproject.toml"])["project"]["entry-points"][ENTRY_POINTS]
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines, ""]))
    return folder


def test_guide_shows_every_file_of_its_project(project: Path) -> None:
    shown = {str(path.relative_to(project)) for path in project.rglob("*.*") if path.suffix in {".py", ".toml"}}
    assert shown == {"pyproject.toml", "clarinet_coral/__init__.py", "clarinet_coral/coral.py", "test_coral.py"}
    packages = tomli.loads((project / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert packages == ["clarinet_coral"]


SHARED = """
import pytest
from core.errors import InputError
from core.events import PseudoLabelled

def label_hash(method, **settings):
    events = train(resolve(method=method, preset="smoke", threads=1, **settings), data=DATA)
    return next(event.label_hash for event in events if isinstance(event, PseudoLabelled))

def test_plug_in_shares_stage_1():
    assert label_hash("gac+coral") == label_hash("gac+coral", own={"coral_weight": 0.5}) == label_hash("gac+dan")

def test_resumes_exactly_with_the_same_settings_only(tmp_path):
    half, other = (resolve(method="gac+coral", preset="smoke", threads=1, own={"coral_weight": w}) for w in (0.5, 2))
    asked = itertools.count()
    before = measured(train(half, data=DATA, checkpoint_dir=tmp_path, should_stop=lambda: next(asked) == 20))
    with pytest.raises(InputError, match="was written with other settings .own: {'coral_weight': 0.5}"):
        list(train(other, data=DATA, checkpoint_dir=tmp_path, resume=True))
    after = measured(train(half, data=DATA, checkpoint_dir=tmp_path, resume=True))
    assert before + after == measured(train(half, data=DATA))
"""


def test_tests_of_the_guide_pass_and_the_plug_in_shares_stage_1(project: Path, tmp_path: Path) -> None:
    """Both in one process, which imports torch."""
    (tmp_path / "test_guide.py").write_text((project / "test_coral.py").read_text() + SHARED)
    done = python(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout


def test_plug_in_is_found_without_torch_and_by_the_command_line(project: Path) -> None:
    code = (
        "import sys\nfrom core.methods import methods\nprint(*methods(), 'torch' in sys.modules)\n"
        "from clarinet_tui.cli.launch import make_config\n"
        "print(make_config(None, {'method': 'gac+coral', 'preset': 'smoke'}).classifier_rate)\n"
        "make_config(None, {'method': 'gac+corall'})"
    )
    done = python(project, "-c", code)
    assert done.stdout.split()[-3:] == ["gac+coral", "False", "0.003"], done.stderr
    assert 'no method "gac+corall"; did you mean gac+coral?' in done.stderr.splitlines()[-1]


# -- settings ----------------------------------------------------------------------------------------------------

DEPTH = [("depth", Annotated[int, setting("Depth.")], 1)]
OTHER = replace(METHODS["gac+dan"], name="other", settings=msgspec.defstruct("Other", DEPTH))


@pytest.fixture
def sharp() -> Iterator[None]:
    with installed(SHARP, SHARP_HARD, OTHER):
        yield


def config_of(method: str = "sharp", **own: Any) -> RunConfig:
    return resolve(method=method, preset="smoke", task="U->M", cores=1, own=own)


@pytest.mark.usefixtures("sharp")
def test_settings_of_a_method_are_completed_and_typed() -> None:
    assert config_of().own == {"temperature": 0.5, "steps": 2, "sharpen": False, "kind": "soft"}
    config = config_of(temperature=2)
    assert isinstance(config.own, dict)
    assert repr(config.own["temperature"]) == "2.0", "an integer is a number"
    assert own_settings(config) == OwnSettings(temperature=2.0)
    assert own_settings(resolve(method="gac+dann", cores=1)) is None
    assert "own" not in msgspec.to_builtins(resolve(cores=1)), "runs of other methods are stored as before"
    assert changed_settings(config) == {"own.temperature": (0.5, 2.0)}
    assert minimal_settings(config)["own"] == {"temperature": 2.0}
    assert resolve(minimal_settings(config), cores=1) == config
    assert "--set own.temperature=2.0" in run_command(minimal_settings(config))


@pytest.mark.usefixtures("sharp")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"own": {"temprature": 1}}, "own.temprature: no such setting; did you mean own.temperature?"),
        ({"own": {"temperature": 0}}, "own.temperature: expected a number > 0 and ≤ 10, got 0"),
        ({"own": {"temperature": "x"}}, 'own.temperature: expected a number > 0 and ≤ 10, got "x"'),
        ({"own": {"steps": 1.5}}, "own.steps: expected an integer ≥ 1, got 1.5"),
        ({"own": {"steps": 2**63}}, f"own.steps: expected an integer ≥ 1 of at most 63 bits, got {2**63}"),
        ({"own": {"sharpen": 1}}, "own.sharpen: expected true or false, got 1"),
        ({"own": {"kind": "x"}}, 'own.kind: expected one of hard, soft, got "x"'),
        ({"own": {"kind": ["x"]}}, "own.kind: expected one of hard, soft, got ['x']"),
        ({"own": {"depth": 1}}, "own.depth: sharp does not use it; other does"),
        ({"temperature": 1}, "temperature: no such setting; did you mean own.temperature?"),
        ({"own.temperature": 1}, "own.temperature: write this as temperature in the table own"),
        ({"method": "clarinet", "own": {"steps": 2}}, "own.steps: clarinet does not use it; sharp does"),
        ({"method": "clarinet", "own": {"x": 2}}, "own.x: no such setting; clarinet has none of its own"),
        (
            {"method": "sharp-hard", "own": {"kind": "soft"}},
            'own.kind: sharp-hard is defined by own.kind = "hard", got "soft"',
        ),
    ],
)
def test_wrong_settings_of_a_method_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve({"method": "sharp", **settings}, source="run.toml")
    assert str(caught.value) == f"run.toml: {message}"


def test_settings_that_decide_the_numbers(sharp: None) -> None:
    one, other = config_of(), config_of(temperature=2)
    assert checkpoint_settings(one) != checkpoint_settings(other)
    assert config_of("sharp-hard").own == {**(one.own or {}), "kind": "hard"}
    assert (
        stage1_role(one)
        == stage1_role(other)
        == stage1_role(resolve(method="gac+dan", preset="smoke", task="U->M", cores=1))
    )
    axes = {"own.temperature": [1, 2.5]}
    configs = expand_grid(Grid(["sharp"], ["U->M"], [1], axes=axes), cores=1)
    assert [(config.own or {})["temperature"] for config in configs] == [1.0, 2.5]


def test_declarations_in_another_form_are_named() -> None:
    wrong = msgspec.defstruct("Wrong", [("rate", float, 1.0)])
    no_struct: Any = dict
    with installed(replace(SHARP, settings=wrong), replace(SHARP, settings=no_struct), OTHER):
        assert find_method("other") is OTHER
        assert plugin_problems() == (
            'plug-in sharp (plugin0:SPEC): settings: rate: expected Annotated[TYPE, setting("What it is.")]',
            "plug-in sharp (plugin1:SPEC): settings: expected a subclass of msgspec.Struct, got <class 'dict'>",
        )


def test_specifications_that_cannot_be_used_are_named() -> None:
    unknown: Any = "three-step"
    three, table = replace(SHARP, stages=SHARP.stages[:1] * 3), replace(SHARP, preset_table=unknown)
    with installed(SystemExit(3), three, table, SHARP):
        assert find_method("sharp") is SHARP
        assert [problem.partition(": ")[2] for problem in plugin_problems()] == [
            "cannot be imported (SystemExit: 3)",
            "stages: expected one or two, got 3",
            "preset_table: expected one of one-step, two-step, basset, got 'three-step'",
        ]


# -- runs of a plug-in -------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make runs of a plug-in with two temperatures, and one of another method."""
    monkeypatch.setenv("CLARINET_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("CLARINET_DATA", str(tmp_path / "data"))
    with installed(SHARP), open_history(tmp_path / "runs") as db:
        for id_, own in (("cold", {"temperature": 0.25}), ("warm", {"temperature": 2.0, "kind": "hard"})):
            record_run(db, started(), step(1), evaluation(1, 50.0), id=id_, method="sharp", own=own)
        record_run(db, started(), id="plain")
    return tmp_path


def command(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)


@pytest.mark.parametrize("is_installed", [True, False])
def test_runs_are_listed_with_their_settings_also_without_the_plug_in(folder: Path, is_installed: bool) -> None:
    def ids(query: str) -> set[str]:
        return {*command("ls", query, "--quiet").stdout.split()}

    with installed(*([SHARP] if is_installed else [])):
        assert ids("") == {"cold", "warm", "plain"}
        assert ids("own.temperature:0.25") == ids("own.temperature<1") == {"cold"}
        assert ids("own.temperature:0.1..1") == ids("own.kind:s*") == {"cold"}
        assert ids("own.temperature>0.25") == ids("own.kind:hard") == {"warm"}
        assert ids("own.temperature!=2") == ids("own.kind!=hard") == {"cold", "plain"}
        assert ids("own.sharpen:false") == {"cold", "warm"}
        assert ids("own.kind>1") == set()
        lines = command(
            "ls", "--columns", "id,own.temperature,own.kind", "--sort", "own.temperature"
        ).stdout.splitlines()
        assert [line.split() for line in lines[1:]] == [["warm", "2", "hard"], ["cold", "0.25", "soft"], ["plain"]]
        assert "own.kind" in command("ls").stdout.splitlines()[0].split(), "settings that differ are columns"
        shown = command("show", "warm").stdout
        assert "own.temperature" in shown
        assert json.loads(command("show", "warm", "--json").stdout)["config"]["own"]["kind"] == "hard"
        assert command("diff", "cold", "warm").stdout.count("own.") == 4
        assert command("export", "--all", "--level", "run", "--out", str(folder / "runs.csv")).exit_code == 0
        with (folder / "runs.csv").open() as file:
            assert {row["id"]: row["own.temperature"] for row in csv.DictReader(file)} == {
                "cold": "0.25",
                "warm": "2.0",
                "plain": "",
            }
        with open_history(folder / "runs") as db:
            variants = group_all(list_runs(db, "method:sharp"))
            names = name_variants(variants)
        assert sorted(names) == ["sharp own.kind=hard own.temperature=2", "sharp own.kind=soft own.temperature=0.25"]
        assert "did you mean classifier_rate or" in str(command("ls", "lr<1").exception)
        assert "did you mean weight_decay?" in str(command("ls", "--sort", "wd").exception)
        assert "did you mean weight_decay?" in str(command("ls", "--columns", "wd").exception)
        unknown = command("ls", "--columns", "own.temprature")
        assert "did you mean own.temperature?" in str(unknown.exception)


def test_settings_survive_toml_and_cannot_be_trained_without_the_plug_in(folder: Path) -> None:
    run = RunDirectory(folder / "runs", "warm")
    with installed(SHARP):
        config = run.read_config()
        assert resolve(msgspec.to_builtins(config)) == config
        assert tomli.loads(run.config.read_text())["own"]["temperature"] == 2.0
    with installed():
        assert run.read_config() == config
        with pytest.raises(InputError, match='no method "sharp"'):
            own_settings(config)
    with (
        installed(replace(SHARP, settings=OTHER.settings)),
        pytest.raises(InputError, match=r"own\.temperature: no such"),
    ):
        own_settings(config)  # another version of the plug-in


def test_setting_that_a_method_has_declared_since_had_its_default(sharp: None) -> None:
    now = flatten_settings(msgspec.to_builtins(config_of()))
    before = {name: value for name, value in now.items() if name != "own.kind"}
    assert comparable_settings(before) == comparable_settings(now)
    assert comparable_settings({**now, "own.kind": "hard"}) != comparable_settings(now)


def test_settings_are_listed_and_completed(folder: Path) -> None:
    with installed(SHARP, SHARP_HARD):
        (row,) = json.loads(command("settings", "own.kind", "--json").stdout)
        assert (row["method"], row["defaults"]["paper"], row["other_defaults"]["sharp-hard"]["paper"]) == (
            "sharp",
            "soft",
            "hard",
        )
        assert "Kind of the pseudo-labels." in command("settings", "kind", "--method", "sharp").stdout
        assert "own.temperature" in command("settings", "--method", "sharp").stdout
        assert "own.temperature" not in command("settings", "--method", "clarinet").stdout
        from clarinet_tui.cli.completion import queries, setting_names, sort_fields

        assert ("own.kind=soft", "") in setting_names("own.kind=")
        assert [value for value, _ in sort_fields("own.t")] == ["own.temperature"]
        assert [value for value, _ in queries("own.")] == [f"own.{name}:" for name in OwnSettings.__struct_fields__]


def test_broken_plug_ins_are_named_and_keep_nothing_from_running(folder: Path) -> None:
    with installed(ImportError("no licence"), SHARP, SHARP):
        listed = command("methods")
        assert listed.exit_code == 0
        assert "sharp" in listed.stdout
        broken = "plug-in broken (plugin0:SPEC): cannot be imported (ImportError: no licence)"
        twice = "plug-in sharp (plugin2:SPEC): method sharp already exists, from plug-in sharp (plugin1:SPEC)"
        assert [" ".join(line.split()) for line in listed.stderr.splitlines()] == [
            f"clarinet: {broken}",
            f"clarinet: {twice}",
        ]
        checks = json.loads(command("doctor", "--json").stdout)
        plugins = [(check["verdict"], check["message"]) for check in checks if check["name"] == "plug-ins"]
        assert plugins == [("warning", broken), ("warning", twice), ("good", "1 method: sharp")]
        assert resolve(method="clarinet", cores=1).method == "clarinet"
    absent = replace(SHARP.stages[1], algorithm="absent.module:Sharp")
    wrong = replace(SHARP, name="wrong", defaults={"epochs": "ten"})
    with installed(replace(SHARP, stages=(SHARP.stages[0], absent)), wrong):
        checks = json.loads(command("doctor", "--json").stdout)
        messages = [check["message"] for check in checks if check["name"] == "plug-ins"]
        assert messages == ["method sharp: stage dann: module absent.module is not found", "2 methods: sharp, wrong"]
        assert command("settings", "epochs").exit_code == 0
        assert "epochs: expected" in str(command("settings", "--method", "wrong").exception)
