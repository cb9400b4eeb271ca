"""`clarinet diff`: only what differs, grouped, and without control characters."""

import re
from pathlib import Path

import msgspec

from tests.support.cli import invalid, invoke, invoke_json
from tests.support.events import started
from tests.support.histories import make_run, write_events


def environment(version: str, commit: str, patch: str = "") -> bytes:
    versions = {"torch": version, "numpy": "2.0"}
    return msgspec.json.encode({"host": "a", "versions": versions, "git": {"commit": commit, "patch": patch}})


def test_every_group_is_a_hunk_and_json_has_the_values_of_both(tmp_path: Path) -> None:
    one = make_run(tmp_path, "one", seed=1)
    two = make_run(tmp_path, "two", seed=2, epochs=5, stage1={"epochs": 4})
    write_events(one, [started(label_hash="aaa")])
    write_events(two, [started(label_hash="bbb", classes=["0", "1\x1b[31m"])])
    one.environment.write_bytes(environment("2.12", "c0ffee"))
    two.environment.write_bytes(environment("2.13", "c0ffee", "+print(1)\n+print(2)\n"))
    done = invoke(tmp_path, "diff", "one", "two")
    assert done.exit_code == 0, done.exception
    lines = done.stdout.splitlines()
    assert lines[:2] == ["--- one", "+++ two"]
    for line in ("-seed = 1", "+seed = 2", "-epochs = 3", "+epochs = 5", "+stage1.epochs = 4", '-label_hash = "aaa"'):
        assert line in lines
    for line in ('-torch = "2.12"', '+torch = "2.13"', "-uncommitted changes = false", "++print(1)"):
        assert line in lines
    assert not any("numpy" in line or "commit =" in line or "batch_size" in line for line in lines)
    assert "\x1b[31m" not in done.stdout
    titles = re.findall(r"^@@ ([a-z ]+) @@$", done.stdout, re.MULTILINE)
    assert titles == ["settings", "data", "environment", "code", "uncommitted changes"]
    result = invoke_json(tmp_path, "diff", "one", "two")
    assert {"group": "settings", "name": "seed", "first": 1, "second": 2} in result["differences"]
    assert (result["first"], result["second"]) == ("one", "two")


def test_equal_runs_and_runs_that_have_not_started(tmp_path: Path) -> None:
    make_run(tmp_path, "one")
    make_run(tmp_path, "two")
    assert "have the same settings" in invoke(tmp_path, "diff", "one", "two").stdout
    assert "no run in" in invalid(tmp_path, "diff", "one", "three")
