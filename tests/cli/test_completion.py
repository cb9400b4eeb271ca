"""Shell completion: fast, harmless and without errors."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.cli import completion
from clarinet_tui.cli.launch import merge_pairs
from clarinet_tui.history.database import DATABASE_NAME, read_run_labels
from clarinet_tui.history.ingest import ingest_all
from core.resolve import resolve
from core.tasks import OFFLINE_TASK, PAPER_TASKS, parse_task
from tests.support import forked_python
from tests.support.cli import HEAVY
from tests.support.histories import ingested, make_run, open_history

PROBE = """
import sys
sys.argv = ["clarinet"]
from clarinet_tui.cli.main import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def complete(
    folder: Path, line: str, shell: str = "bash", *, run: Callable[..., Any] = forked_python.run, **environ: str
) -> tuple[str, set[str]]:
    """Return the completions of a line and, if `run` starts a new interpreter, the modules that they import."""
    variables = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1), "_TYPER_COMPLETE_ARGS": line}
    variables |= {"_CLARINET_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CLARINET_")}
    command = [sys.executable, "-P", "-c", PROBE]
    done = run(command, cwd=folder, env=inherited | variables | environ, capture_output=True, text=True, timeout=60)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, "errors would disturb typing"
    return done.stdout, set(lines[0].split())


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    runs = tmp_path / "runs"
    with open_history(runs) as db:
        make_run(runs, id="aaa111")
        make_run(runs, id="aab222", method="gac+cdan-e")
        ingest_all(db, runs)
    make_run(runs, id="bbb333")
    return runs


def test_ids_newest_first_with_method_task_and_state_and_without_slow_imports(tmp_path: Path, runs: Path) -> None:
    completions, loaded = complete(tmp_path, "clarinet show ", run=subprocess.run)
    assert completions.split() == ["last", "bbb333", "aab222", "aaa111"]
    assert not loaded & (HEAVY | {"numpy", "rich"})
    assert complete(tmp_path, "clarinet compare aaa111 a")[0].split() == ["aab222"]
    completions, _ = complete(tmp_path, "clarinet logs aa", "fish")
    assert completions.splitlines() == ["aab222\tgac+cdan-e U→M queued", "aaa111\tclarinet U→M queued"]


def test_last_and_names_of_single_runs_that_need_no_quotes(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with open_history(runs) as db:
        for number, name in enumerate(
            ("long-run", "twice", "twice", "two words", "$(x)", "-o", "zzz", "l=1", "été", "")
        ):
            make_run(runs, id=f"zzz{number}", name=name, method="gac")
        ingest_all(db, runs)
    ids = [f"zzz{number}" for number in reversed(range(10))]
    assert complete(tmp_path, "clarinet show ")[0].split() == ["last", *ids, "long-run"]
    assert complete(tmp_path, "clarinet compare l")[0].split() == ["last", "long-run"]
    assert complete(tmp_path, "clarinet compare last l")[0].split() == ["long-run"]
    assert complete(tmp_path, "clarinet tag long-run lo")[0].split() == []
    completions, _ = complete(tmp_path, "clarinet stop l", "fish")
    assert completions.splitlines() == ["last\tthe newest run", "long-run\tgac U→M queued"]
    assert complete(tmp_path, "clarinet show l", CLARINET_RUNS="nowhere")[0].split() == []


def test_other_runs_directories_and_missing_ones(tmp_path: Path, runs: Path) -> None:
    (tmp_path / "runs").rename(tmp_path / "others")
    assert complete(tmp_path, "clarinet show b", CLARINET_RUNS="others")[0].split() == ["bbb333"]
    assert complete(tmp_path, "clarinet show --runs-dir others b")[0].split() == ["bbb333"]
    assert complete(tmp_path, "clarinet show --runs-dir nowhere b")[0].split() == []
    (tmp_path / "others" / DATABASE_NAME).write_bytes(b"garbage" * 1000)
    assert complete(tmp_path, "clarinet show a", CLARINET_RUNS="others")[0].split() == ["aab222", "aaa111"]


def test_zsh_evaluates_nothing_from_a_run(tmp_path: Path, runs: Path) -> None:
    evil = "\\\\$(touch pwned)`touch pwned`'\\\"; touch pwned #[/bold]"
    (runs / "ccc444").mkdir()
    (runs / "ccc444" / "config.toml").write_text(f'method = "{evil}"\n')
    ingested(runs).close()
    assert "$(touch pwned)" in read_run_labels(runs / DATABASE_NAME, "ccc", 5)["ccc444"]
    completions, _ = complete(tmp_path, "clarinet show ccc", "zsh")
    description = "touch pwnedtouch pwned; touch pwned bold Y→D queued"
    assert completions.strip() == f"""_arguments '*: :(("ccc444":"{description}"))'"""


def test_locked_history_is_skipped(runs: Path) -> None:
    with closing(sqlite3.connect(runs / DATABASE_NAME)) as other:
        other.execute("PRAGMA journal_mode = delete")
        other.execute("BEGIN EXCLUSIVE")
        assert read_run_labels(runs / DATABASE_NAME, "a", 5) == {}
    assert list(read_run_labels(runs / DATABASE_NAME, "a", 1)) == ["aab222"]
    assert list(read_run_labels(runs / DATABASE_NAME, "", 5)) == ["aab222", "aaa111"]
    assert read_run_labels(runs / "none.db", "", 5) == {}
    assert not (runs / "none.db").exists()


def values(items: completion.Items) -> list[str]:
    assert all(not set(text) & set("\"'`$\\[](){}<>|&!*?") for _, text in items)
    return [value for value, _ in items]


def test_methods_presets_and_tasks_without_redirections() -> None:
    assert values(completion.method_names("gac+d")) == ["gac+dan", "gac+dann"]
    assert values(completion.preset_names("")) == ["paper", "literal", "quick", "smoke", "photographs"]
    completions = values(completion.task_names(""))
    assert [parse_task(task).name for task in completions] == [*PAPER_TASKS, OFFLINE_TASK]
    assert not any(">" in task for task in completions)
    assert values(completion.task_names("U-")) == ["U->M"]


def test_settings_and_their_choices() -> None:
    assert values(completion.setting_names("stage1.ep")) == ["stage1.epochs="]
    assert values(completion.setting_names("compile=")) == ["compile=true", "compile=false"]
    assert values(completion.setting_names("epochs=")) == values(completion.setting_names("none=")) == []
    (choice,) = values(completion.setting_names("network=resnet5"))
    assert resolve(merge_pairs({}, [choice])).network == "resnet50"


def test_states_queries_metrics_and_fields() -> None:
    assert values(completion.queries("state:s")) == ["state:starting", "state:stopped", "state:silent"]
    assert values(completion.queries("epoch")) == ["epoch:", "epochs:", "epoch_iterations:"]
    assert values(completion.queries("state:f")) == ["state:finished", "state:failed"]
    assert values(completion.queries("task:U")) == ["task:U→M"]
    assert values(completion.queries("alarm:dis")) == ["alarm:discriminator-blind", "alarm:discriminator-unbeaten"]
    assert values(completion.queries("seed:1")) == []
    assert values(completion.metric_names("source")) == ["source_accuracy", "source_loss"]
    assert values(completion.sort_fields("ac")) == ["acc"]
    assert completion.sql_names("select label_h") == [("select label_hash", "hash of the complementary labels")]
    assert values(completion.sql_names("eval")) == ["evaluations"]
