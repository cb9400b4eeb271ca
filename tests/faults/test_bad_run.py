"""Arbitrary content in the files of one run: the other runs are listed, plotted, exported and rebuilt as before."""

import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clarinet_tui.history.database import Database
from clarinet_tui.history.states import update_history
from clarinet_tui.runs.directory import RUN_FILES, RunDirectory
from clarinet_tui.runs.problems import find_problems
from clarinet_tui.ui.feed.history_reader import HistoryReader
from clarinet_tui.ui.snapshot.snapshot import CurvesRequest, DetailPart, DetailRequest, ViewRequest
from core.errors import InputError
from core.models import checkpoint
from core.resolve import resolve
from tests.support.cli import invoke, run_clarinet
from tests.support.events import step
from tests.support.histories import write_events, write_lock
from tests.support.scale import SOAK
from tests.support.trained_runs import make_trained_run

GOOD = ("good1", "good2")
BIG = 10**30
NUMBERS = st.sampled_from([BIG, -BIG, 2**63, 2**53 + 1, -1, 0, 1e308, 1e15, -5.0]) | st.integers() | st.floats()
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.sampled_from(["nan", "inf"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
EVENTS = (
    "started resumed stage evaluation pseudo-labels alarm failed finished columns damaged created tagged noted step"
)
NAMES = (
    "iteration iterations_total epochs_total from_iteration epoch seed time seconds message confusion stage kind terms "
    "frames notes names tag note accuracy origin classes pid host boot since released start git versions command "
    "device earlier_attempts method"
)
FIELDS = st.dictionaries(st.sampled_from(NAMES.split(" ")), JSON, max_size=5)
OBJECTS = st.builds(lambda name, fields: {"event": name, **fields}, st.sampled_from(EVENTS.split(" ")), FIELDS)
COLUMNS = {"event": "columns", "names": ["iteration", "epoch", "adaptation_epoch", "stage", "seconds", "mmd", "own"]}
ITERATIONS = st.tuples(NUMBERS, NUMBERS, JSON, st.just("s") | JSON, NUMBERS, JSON, JSON)
LINES = st.lists(OBJECTS | ITERATIONS | JSON | st.just(COLUMNS), max_size=6).map(
    lambda lines: "".join(json.dumps(line) + "\n" for line in lines).encode(errors="surrogatepass")
)
CONTENT = st.binary(max_size=200) | LINES


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("bad") / "runs"
    for seed, name in enumerate((*GOOD, "badrun"), 1):
        run = make_trained_run(runs, name, [80.0 + seed], seed=seed)
        write_events(run, map(step, range(1, 40)))
        write_lock(run, released=1.0)
        run.log.write_bytes(b"output\n")
        run.stage1.write_bytes(b"{}")
    assert invoke(runs, "ls").exit_code == 0
    return runs


@pytest.fixture(scope="module")
def expected(template: Path) -> dict[str, Any]:
    return read_good_runs(damaged_copy(template, lambda run: None))


def damaged_copy(template: Path, damage: Callable[[RunDirectory], object]) -> Path:
    """Return a fresh copy of the runs directory with a damaged run and its history of before."""
    runs = template.parent / "copy"
    shutil.rmtree(runs, ignore_errors=True)
    shutil.copytree(template, runs)
    damage(RunDirectory(runs, "badrun"))
    return runs


def output_of(runs: Path, *arguments: str) -> str:
    """Run a command that must succeed, and return what it prints to stdout."""
    result = invoke(runs, *arguments)
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    return result.stdout


def read_good_runs(runs: Path) -> dict[str, Any]:
    """Return what commands and the app show of the good runs, before and after the history is rebuilt."""
    found: dict[str, Any] = {}
    for label in ("incremental", "rebuilt"):
        listed = {row["id"]: row for row in json.loads(output_of(runs, "ls", "--json"))}
        assert set(listed) == {*GOOD, "badrun"}
        found[f"{label} list"] = [listed[name] for name in GOOD]
        found[f"{label} table"] = output_of(runs, "table", "id:good1", "--format", "json")
        found[f"{label} plot"] = output_of(runs, "plot", "accuracy", "id:good1")
        found[f"{label} metrics"] = [output_of(runs, "metrics", name, "--csv", "--level", "iteration") for name in GOOD]
        found[f"{label} feed"] = read_feed(runs)
        output_of(runs, "reindex")
    return found


def read_feed(runs: Path) -> list[Any]:
    """Return what the app's feed reads of the good runs; reading the bad one must not fail either."""
    with Database.open(runs) as db:
        update_history(db, runs)
    with closing(HistoryReader(runs)) as reader:
        snapshots = []
        for name in (*GOOD, "badrun"):
            parts: frozenset[DetailPart] = frozenset(get_args(DetailPart))
            curves = CurvesRequest(name, ("complementary_loss", "target_accuracy"), width=50)
            snapshot = reader.read(ViewRequest(curves=(curves,), detail=DetailRequest(name, parts)))
            assert snapshot is not None
            assert len(snapshot.listing.rows) == 3
            snapshots.append(repr((snapshot.curves.get(name), snapshot.detail)))
    return snapshots[:2]


def check(template: Path, expected: dict[str, Any], damage: Callable[[RunDirectory], object]) -> None:
    runs = damaged_copy(template, damage)
    assert read_good_runs(runs) == expected
    for command in (("show", "badrun"), ("show", "badrun", "--json"), ("metrics", "badrun"), ("logs", "badrun")):
        result = invoke(runs, *command)
        assert result.exit_code == 0 or isinstance(result.exception, InputError | SystemExit), (command, result)
    output_of(runs, "export", "--all", "--out", str(runs.parent / "all.csv"))
    output_of(runs, "export", "--all", "--out", str(runs.parent / "all.tar.gz"))


@settings(max_examples=300 if SOAK else 6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.dictionaries(st.sampled_from(RUN_FILES), CONTENT, min_size=1), append=st.booleans())
def test_any_content_of_one_run_leaves_the_others_alone(
    template: Path, expected: dict[str, Any], content: dict[str, bytes], append: bool
) -> None:
    def damage(run: RunDirectory) -> None:
        for name, added in content.items():
            path = run.path / name
            path.write_bytes((path.read_bytes() if append and path.exists() else b"") + added)

    check(template, expected, damage)


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "link": lambda path: path.symlink_to("/dev/zero"),
    "directory": Path.mkdir,
}


@pytest.mark.parametrize("kind", KINDS)
def test_pipes_links_and_directories_in_place_of_files(template: Path, expected: dict[str, Any], kind: str) -> None:
    def damage(run: RunDirectory) -> None:
        for name in RUN_FILES:
            (run.path / name).unlink(missing_ok=True)
            KINDS[kind](run.path / name)

    check(template, expected, damage)
    runs = template.parent / "copy"
    output_of(runs, "report", "--out", str(template.parent / "report.html"))
    assert {name for name, _ in find_problems(RunDirectory(runs, "badrun"))} == set(RUN_FILES)
    assert "badrun" in invoke(runs, "doctor").stdout


def test_a_pipe_in_place_of_a_checkpoint_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / checkpoint.NAME)
    with pytest.raises(InputError, match="is not a regular file"):
        checkpoint.load_latest(tmp_path, resolve(preset="smoke"))


DAMAGES = {
    "iteration": ("journal.jsonl", b'{"event":"finished","iteration":%d}\n' % BIG),
    "iterations_total": ("journal.jsonl", b'{"event":"started","iterations_total":%d}\n' % BIG),
    "from_iteration": ("journal.jsonl", b'{"event":"resumed","from_iteration":%d}\n' % BIG),
    "created": ("annotations.jsonl", b'{"event":"created","time":%d}\n' % BIG),
    "metric": ("journal.jsonl", json.dumps(COLUMNS).encode() + b'\n[1,%d,null,"s",1,1,1]\n' % BIG),
    "UTF-8": ("environment.json", b'{"host":"\xff"}'),
    "lock": ("lock", b'{"host":"\xff"}'),
    "depth": ("environment.json", b'{"a":' * 900 + b"1" + b"}" * 900),
    "digits": ("config.toml", b"epochs = 1" + b"0" * 5000),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_cannot_be_read_is_named(template: Path, expected: dict[str, Any], name: str) -> None:
    """In `ls`, `show`, and the rows that the app shows, with the file."""
    file, content = DAMAGES[name]

    def damage(run: RunDirectory) -> None:
        path = run.path / file
        path.write_bytes((path.read_bytes() if file.endswith("jsonl") else b"") + content)

    check(template, expected, damage)
    runs = template.parent / "copy"
    listed = invoke(runs, "ls")
    assert f"clarinet: run badrun: {file}: " in listed.stderr
    assert file in output_of(runs, "show", "badrun")
    assert "cannot be read" in output_of(runs, "show", "badrun").lower()


def test_megabytes_of_damaged_lines_are_one_problem(template: Path, expected: dict[str, Any]) -> None:
    def damage(run: RunDirectory) -> None:
        with run.journal.open("ab") as file:
            file.writelines(b"%d garbage\n" % number for number in range(200_000))

    runs = damaged_copy(template, damage)
    (row,) = json.loads(output_of(runs, "ls", "id:badrun", "--json"))
    assert len(row["problems"]) == 1
    assert "journal.jsonl: lines " in row["problems"][0]


@pytest.mark.parametrize("time", ["1e15", "-5", "1e308"])
def test_impossible_times_are_shown_as_invalid(template: Path, time: str) -> None:
    def damage(run: RunDirectory) -> None:
        run.annotations.write_text(f'{{"event":"created","time":{time}}}\n')

    runs = damaged_copy(template, damage)
    assert "invalid time (invalid)" in output_of(runs, "show", "badrun")
    output_of(runs, "report", "--out", str(runs.parent / "report.html"))


def test_a_runs_directory_whose_name_is_not_utf8(template: Path, tmp_path: Path) -> None:
    runs = Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xffm"))
    shutil.copytree(template, runs)
    for command in (("ls",), ("show", "good1"), ("check",), ("backup", str(runs / "b.tar.gz"))):
        result = run_clarinet(tmp_path, *command, "--runs-dir", str(runs))
        assert (result.returncode, "Traceback" in result.stderr) == (0, False), result.stderr
