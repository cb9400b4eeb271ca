"""`clarinet ls`, `show`, `compare` and `reindex` on real journals."""

import json
import subprocess
from pathlib import Path

from tests.cli.test_run import CLARINET, environment
from tests.history.made import make_run, say
from tests.journal.said import resumed, started, step


def clarinet(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*CLARINET, *words], cwd=folder, capture_output=True, text=True, timeout=60, env=environment()
    )


def test_a_history_of_garbage_says_what_to_type_and_that_works(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    run = make_run(runs)
    say(run, [started(), step(1), step(2), resumed(1), step(2)])
    before = json.loads(clarinet(tmp_path, "ls", "--json").stdout)
    assert [row["id"] for row in before] == [run.id]
    (runs / "clarinet.db").write_bytes(b"garbage" * 1000)
    refused = clarinet(tmp_path, "ls")
    assert refused.returncode == 2
    assert "clarinet reindex" in refused.stderr
    assert clarinet(tmp_path, "reindex").returncode == 0
    assert json.loads(clarinet(tmp_path, "ls", "--json").stdout) == before


def test_show_and_compare_find_runs_by_the_beginning_of_their_ids(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    first, second = make_run(runs), make_run(runs)
    assert json.loads(clarinet(tmp_path, "show", first.id, "--json").stdout)["id"] == first.id
    both = json.loads(clarinet(tmp_path, "compare", first.id, second.id, "--json").stdout)
    assert [row["id"] for row in both] == [first.id, second.id]
    missing = clarinet(tmp_path, "show", "zzz")
    assert missing.returncode == 2
    assert "zzz" in missing.stderr
