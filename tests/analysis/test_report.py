"""The report: its content, escaping, and display in a browser without network access."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clarinet_tui.analysis.comparison import make_sides
from clarinet_tui.analysis.report import make_report
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.runs.annotations import add_tag, set_note
from clarinet_tui.runs.directory import RunDirectory
from core.config import RunConfig
from core.errors import InputError
from tests.support.browser import DESKTOP, PHONE, find_chromium, open_page
from tests.support.trained_runs import make_seeds, make_trained_run, read_runs

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202egnp</style></title>"
SAFE_TAGS = """html head meta title style body header nav main section footer h1 h2 h3 p a b small span ul li table
    thead tbody tr th td div details summary pre figure figcaption svg g path defs use clippath rect text"""


def write_environment(run: RunDirectory, **fields: object) -> None:
    usual = {"host": "node1", "device": "cpu", "platform": "linux", "python": "3.11.7", "versions": {"torch": "2.13.0"}}
    run.environment.write_bytes(msgspec.json.encode({**usual, **fields}))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two methods with two seeds each, and a run with hostile texts."""
    folder = tmp_path_factory.mktemp("report")
    for seed in (1, 2):
        write_environment(make_trained_run(folder, f"one{seed}", [70 + seed, 60], seed=seed))
        write_environment(make_trained_run(folder, f"two{seed}", [50, 40 + seed], seed=seed, method="gac+dann"))
    hostile = make_trained_run(
        folder, "bad", [50, 20], end="failed", seed=3, name=HOSTILE, start={"classes": [HOSTILE, "dog"]}, epochs=9
    )
    add_tag(hostile, "<b>tagged")
    set_note(hostile, HOSTILE)
    git = {"commit": "ab" * 20, "patch": f"+ {HOSTILE}\n- </pre>"}
    write_environment(
        hostile, host=HOSTILE, device=HOSTILE, versions={HOSTILE: HOSTILE}, command=["run", HOSTILE], git=git
    )
    return folder


@pytest.fixture(scope="module")
def records(runs: Path) -> RunRecords:
    return read_runs(runs)


def report_of(records: RunRecords, query: str = "", **options: Any) -> str:
    def command_of(config: RunConfig) -> str:
        return f"clarinet run --seed {config.seed}\n{HOSTILE}"

    title = f"Everything {HOSTILE}"
    return make_report(records, query, title=title, written=1.79e9, host="desk", command_of=command_of, **options)


@pytest.fixture(scope="module")
def page(records: RunRecords) -> str:
    return report_of(records, typed=True, patches=True)


class Reader(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_foreign_text_is_escaped(page: str) -> None:
    reader = Reader(page)
    assert {name for name, _ in reader.tags} <= set(SAFE_TAGS.split())
    attributes = {name for _, given in reader.tags for name in given}
    assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "action")]
    links = [given["href"] or "" for _, given in reader.tags if "href" in given]
    assert links
    assert all(link.startswith("#") for link in links)
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert reader.text.count("<script>alert(1)</script>") > 10  # present as text


def test_page_loads_nothing(page: str) -> None:
    policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\''
    assert policy in page
    assert page.index(policy) < page.index("<title>") < page.index("<style>")
    page = page.replace("img-src data:;", "", 1)  # pictures are inside the page
    assert not re.search(r"https?:|url\((?!#)|@import|data:(?!image/png;base64,)|javascript:", page)


def test_patches_and_command_lines_are_included_on_request_only(records: RunRecords, page: str) -> None:
    plain = report_of(records)
    for heading in ("Uncommitted changes", "Original command lines"):
        assert heading in page
        assert heading not in plain
    assert "+ &#34;" not in plain
    assert report_of(records, typed=True, patches=True) == page, "equal runs give the same page"


def test_typed_commands_are_those_that_created_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for run, arguments in (("aaa", ["/bin/clarinet", "sweep", "--seeds", "1..2"]), ("bbb", ["program.py"])):
        monkeypatch.setattr("sys.argv", arguments)
        write_environment(make_trained_run(tmp_path, run, [50.0]), command=["worker/main.py", run])
    page = report_of(read_runs(tmp_path), typed=True)
    assert "clarinet sweep --seeds 1..2" in page
    assert "worker/main.py aaa" not in page
    assert "worker/main.py bbb" in page, "that of its process, as it is not known what created it"


def test_page_contains_every_section(page: str) -> None:
    content = re.sub(r"\s+", " ", Reader(page).text)
    for part in (
        "5 runs: 4 finished, 1 failed.",
        "Written 2026-09-21 14:13 UTC on desk",
        "60.00 ± 0.00",  # CLARINET on the board
        "published",
        "CLARINET epochs=3 minus GAC+DANN (smoke): +18.50 points over 2 pairs",
        "no p-value below 5 pairs",
        "epoch 2 · -12.00",  # how far the last epoch of seed 2 is from the oracle's
        "best % (oracle)",
        "the loss is not a number",
        "Settings that differ between runs",
        "python 3.11.7, torch 2.13.0",
        "clarinet run --seed 1",
    ):
        assert part in content, part


def test_single_method_has_no_comparison_and_no_ablations(records: RunRecords, page: str) -> None:
    assert "ORACLE" not in page
    alone = report_of(records, "method:clarinet", rule="best")
    assert "ORACLE SELECTION" in alone
    assert 'id="comparison"' not in alone
    assert "Ablations" not in alone
    with pytest.raises(InputError, match="no run matches 'seed:99'"):
        report_of(records, "seed:99")


def test_unreadable_and_unfinished_runs_are_listed(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [], end="running")
    damaged = make_trained_run(tmp_path, "bbb", [50])
    damaged.config.write_text("epochs = 'ten'")
    (tmp_path / "ccc").mkdir()
    (tmp_path / "ccc" / "config.toml").write_text("method = 'of-a-plug-in'\npreset = 'smoke'")

    def refuse(config: object) -> str:
        raise InputError("method: no method")

    page = make_report(read_runs(tmp_path), title="t", written=0.0, host="h", command_of=refuse)
    content = Reader(page).text
    assert "Settings that cannot be read: bbb" in content
    assert re.search(r"Not available because .*aaa", content)
    assert "of-a-plug-in" in content


def test_settings_table_shows_protocol_settings(records: RunRecords, page: str) -> None:
    """A setting that the method does not use is a dash, not a difference."""
    part = page.partition("Settings that differ between runs")[2].partition("</table>")[0]
    rows = {
        line[0]: line[1:] for line in (re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in part.split("<tr>")) if line
    }
    assert set(rows["epochs"]) == {"3", "9"}
    assert "stage1.epochs" not in rows
    assert len(rows["Setting"]) == len(make_sides(records.search())) == 3


@pytest.mark.skipif(find_chromium() is None, reason="chromium is not installed")
def test_browser_shows_the_page_without_network_requests(tmp_path: Path, page: str) -> None:
    program = find_chromium()
    assert program is not None
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    inks = set()
    with open_page(program, tmp_path / "profile") as browser:
        for size in (PHONE, DESKTOP):
            for dark in (False, True):
                browser.show(file, size, dark=dark)
                assert browser.evaluate("document.documentElement.scrollWidth") == size[0]
                inks.add(browser.evaluate("getComputedStyle(document.querySelector('svg text')).fill"))
        images = browser.evaluate("document.querySelectorAll('svg').length")
        drawn = browser.evaluate(
            "[...document.querySelectorAll('svg')].filter(svg => svg.getBBox().width > 200).length"
        )
        assert images == drawn == 8
        assert browser.evaluate("document.title").startswith("Everything")
        assert set(browser.requests) == {file.as_uri()}
        assert browser.console_errors == []
        assert browser.pdf().startswith(b"%PDF")
    assert len(inks) == 2  # light and dark


def test_comparisons_without_results_are_counted(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "one", [70], seed=1)
    make_trained_run(tmp_path, "two", [60], seed=1, method="gac+dann")
    make_trained_run(tmp_path, "three", [50], seed=1, method="gac+dan", end="running")
    page = report_of(read_runs(tmp_path))
    assert "CLARINET minus GAC+DANN" in page
    assert "CLARINET minus GAC+DAN (" not in page
    assert "1 comparison not shown: no finished run on one side or both." in page


def test_comparisons_have_both_tests_and_name_their_correction_once(tmp_path: Path) -> None:
    make_seeds(tmp_path, "one", (83.1, 84.9, 82.6, 83.3, 84.2))
    make_seeds(tmp_path, "two", (71.2, 73.9, 70.4, 71.9, 70.1), method="gac+cdan-e")
    make_seeds(tmp_path, "three", (84.0, 83.0, 84.5, 82.1, 84.9), method="gac+dan")
    page = report_of(read_runs(tmp_path))
    assert page.count("p-values: Holm over the 2 comparisons shown, each test by itself.") == 1
    assert "<li>p &lt; 0.0001 (paired t-test, Holm)</li>" in page
    assert "<li>p = 0.1250 (Wilcoxon signed-rank, Holm); with 5 pairs never below 0.1250</li>" in page
    assert "BCa" not in page
