"""Samples of a run's hardware as lines of the Live view."""

from pathlib import Path

from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.queries import get_run
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.ui.feed.detail_reader import DetailReader
from clarinet_tui.ui.snapshot.run_detail import DetailRequest, HardwareSample
from clarinet_tui.ui.text.ended_runs import format_use
from clarinet_tui.ui.text.hardware import format_hardware
from clarinet_tui.ui.widgets.run_columns import RenderContext, applicable_columns, render_cell
from core.events import Sampled
from tests.support.events import started
from tests.support.histories import make_run, open_history, write_events
from tests.support.ui_runs import run_row

GIB = 1 << 30
SAMPLES = [HardwareSample(10.0, 1.0 * GIB, 50.0, None, 99.0), HardwareSample(90.0, 9.0 * GIB, None, None, 101.0)]


def lines(width: int) -> list[str]:
    return [line.plain for line in format_hardware(SAMPLES, width)]


def test_each_known_quantity_has_its_curve_and_last_value() -> None:
    assert lines(32) == [
        "GPU use          ▁▁▁███     90 %",
        "GPU memory       ▁▁▁███  9.0 GiB",
        "GPU power        ▄▄▄···     50 W",
        "CPU use          ▁▁▁███    101 %",
    ]


def test_a_narrow_pane_has_no_curves() -> None:
    assert lines(20)[0] == "GPU use               90 %"


def test_without_samples_there_is_no_line() -> None:
    assert format_hardware([], 40) == []
    assert format_hardware([HardwareSample()], 40) == []


def test_the_feed_reads_the_samples_of_a_run(tmp_path: Path) -> None:
    run = make_run(tmp_path, "abc")
    write_events(run, [started()])
    with JournalWriter(run.journal) as journal:
        journal.append_sample(Sampled(iteration=1, gpu_use=10.0, gpu_memory=GIB, power=50.0, cpu=99.0))
        journal.append_sample(Sampled(iteration=2, gpu_use=90.0, gpu_memory=9 * GIB, cpu=101.0))
    with open_history(tmp_path) as db:
        ingest_run(db, run)
        row = get_run(db, run.id)
        assert row is not None
        reader, request = DetailReader(tmp_path), DetailRequest("abc", frozenset({"memory"}))
        detail = reader.read(db, row, request, reader.read_files(request))
        reader.close()
    assert list(detail.samples) == SAMPLES


def test_what_a_run_used_is_in_columns_and_in_the_lines_of_ended_runs() -> None:
    on_gpu = run_row(seconds=90.0, gpu_use=81.4, gpu_memory=2.0 * GIB, memory=3.0 * GIB, energy=72_000.0)
    on_cpu = run_row(seconds=90.0, memory=3.0 * GIB)
    assert format_use(on_gpu) == "1m30, GPU 81 %, 2.0 GiB, 20 Wh"
    assert format_use(on_cpu) == "1m30, 3.0 GiB"
    titles = {column.title for column in applicable_columns([on_cpu])}
    assert "memory" in titles
    assert not titles & {"GPU %", "GPU mem.", "energy"}
    shown = {
        column.title: render_cell(column, on_gpu, 8, RenderContext(0.0))[-1][0]
        for column in applicable_columns([on_gpu])
        if column.title in ("GPU %", "GPU mem.", "memory", "energy")
    }
    assert shown == {"GPU %": "81", "GPU mem.": "2.0 GiB", "memory": "3.0 GiB", "energy": "20 Wh"}
