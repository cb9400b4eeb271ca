"""The keys of JSON output are a public format: other programs read them."""

import json
from pathlib import Path

from typer.testing import CliRunner

from clarinet_tui.cli.main import app
from tests.support.cli import invoke
from tests.support.histories import make_run, open_history

ROW = (
    "id state method task seed preset name device host stage epoch epochs_total iteration iterations_total "
    "target_accuracy source_accuracy pseudo_label_accuracy seconds created started ended label_hash family error "
    "tags alarms note notes iterations_given seconds_left problems hardware gpu_memory gpu_use memory energy"
)


def test_runs(tmp_path: Path) -> None:
    open_history(tmp_path).close()
    run = make_run(tmp_path)
    (row,) = json.loads(invoke(tmp_path, "ls", "--json").stdout)
    assert sorted(row) == sorted(ROW.split())
    details = json.loads(invoke(tmp_path, "show", run.id, "--json").stdout)
    more = "config changed command attempts open_alarms damaged events_tail selected_without_labels"
    assert set(details) - set(row) == set(more.split())


def test_queue(tmp_path: Path) -> None:
    assert json.loads(invoke(tmp_path, "queue", "--json").stdout) == []


def test_domains(tmp_path: Path) -> None:
    listing = CliRunner().invoke(app, ["data", "list", "--json", "--data-dir", str(tmp_path)])
    keys = "name letter title present format origin train test published advice"
    assert {" ".join(domain) for domain in json.loads(listing.stdout)} == {keys}
