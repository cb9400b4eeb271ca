"""`clarinet report` from the command line."""

from pathlib import Path

from tests.cli.test_history import clarinet, here
from tests.evidence.trained import trained


def test_a_page_is_written_with_the_commands_that_make_its_runs(tmp_path: Path) -> None:
    trained(tmp_path / "runs", "aaa", [20, 60], epochs=7, name="it's mine")
    written = clarinet(tmp_path, "report", "seed:1", "--title", "A & B", "--out", "report.html")
    assert (written.returncode, written.stdout, written.stderr) == (0, "Written: report.html\n", "")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>A &amp; B</h1>" in page
    command = "clarinet run --headless --method clarinet --task &#x27;U-&gt;M&#x27; --seed 1 --preset smoke --epochs 7"
    assert command in page
    assert "&#x27;name=it&#x27;&quot;&#x27;&quot;&#x27;s mine&#x27;" in page  # quoted for a shell, escaped for HTML


def test_wrong_input_is_a_sentence(tmp_path: Path) -> None:
    trained(tmp_path, "aaa", [20])
    out = str(tmp_path / "report.html")
    assert "no run matches 'seed:9'" in str(here(tmp_path, "report", "seed:9", "--out", out).exception)
    nowhere = str(tmp_path / "nowhere" / "report.html")
    assert "nowhere: cannot be written" in str(here(tmp_path, "report", "--out", nowhere).exception)
    assert here(tmp_path, "report").exit_code == 2
