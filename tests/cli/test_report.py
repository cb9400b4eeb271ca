"""`clarinet report`."""

from pathlib import Path

from clarinet_tui.runs.lock import host_name
from tests.support.cli import invalid, invoke, run_clarinet
from tests.support.trained_runs import make_trained_run


def test_page_has_the_commands_of_its_runs(tmp_path: Path) -> None:
    make_trained_run(tmp_path / "runs", "aaa", [20, 60], epochs=7, name="it's mine")
    written = run_clarinet(tmp_path, "report", "seed:1", "--title", "A & B", "--out", "report.html")
    assert (written.returncode, written.stdout, written.stderr) == (0, "Written: report.html\n", "")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>A &amp; B</h1>" in page
    command = "clarinet run --headless --method clarinet --task &#39;U-&gt;M&#39; --seed 1 --preset smoke --epochs 7"
    assert command in page
    assert "&#39;name=it&#39;&#34;&#39;&#34;&#39;s mine&#39;" in page  # quoted for a shell, escaped for HTML


def test_without_hosts_names_no_machine(tmp_path: Path) -> None:
    run = make_trained_run(tmp_path / "runs", "aaa", [20, 60])
    run.environment.write_text('{"host": "secret-host", "device": "cpu", "python": "3.11.7"}')
    for options, named in ((), True), (("--without-hosts",), False):
        assert run_clarinet(tmp_path, "report", *options, "--seeds", "1", "--out", "report.html").returncode == 0
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert ("secret-host" in page) is named
        assert (f" on {host_name()}" in page) is named
        assert "3.11.7" in page
        assert "1/5" not in page, "--seeds 1 makes a cell complete"


def test_invalid_input_is_one_sentence(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [20])
    out = str(tmp_path / "report.html")
    assert "no run matches 'seed:9'" in invalid(tmp_path, "report", "seed:9", "--out", out)
    nowhere = str(tmp_path / "nowhere" / "report.html")
    assert "nowhere: cannot be written" in invalid(tmp_path, "report", "--out", nowhere)
    assert invoke(tmp_path, "report").exit_code == 2
