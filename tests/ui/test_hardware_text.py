"""Samples of a run's hardware as lines of the Live view."""

from pathlib import Path

import numpy as np
import pytest

from clarinet_tui.chart.curve import Curve
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.queries import MAX_PAUSE, get_run, read_sample_curves
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.ui.feed.detail_reader import DetailReader
from clarinet_tui.ui.snapshot.snapshot import DetailRequest
from clarinet_tui.ui.text.devices import format_use
from clarinet_tui.ui.text.metrics import format_hardware
from clarinet_tui.ui.widgets.run_table import applicable_columns, render_cell
from core.events import Sampled
from tests.support.events import started
from tests.support.histories import make_run, open_history, write_events
from tests.support.ui_runs import run_row

GIB = 1 << 30


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run with two samples; the second has no power."""
    run = make_run(tmp_path, "abc")
    write_events(run, [started()])
    times = iter((1000.0, 1010.0))
    with JournalWriter(run.journal, now=lambda: next(times)) as journal:
        journal.append_sample(Sampled(iteration=1, gpu_use=10.0, gpu_memory=GIB, power=50.0, cpu=99.0))
        journal.append_sample(Sampled(iteration=2, gpu_use=90.0, gpu_memory=9 * GIB, cpu=101.0))
    return run


def read_series(run: RunDirectory, **options: int) -> dict[str, Curve]:
    with open_history(run.runs_dir) as db:
        ingest_run(db, run)
        return read_sample_curves(db, run.id, **options)


def lines(run: RunDirectory, width: int) -> list[str]:
    return [line.plain for line in format_hardware(read_series(run), width)]


def test_each_known_quantity_has_its_curve_and_last_value(run: RunDirectory) -> None:
    assert lines(run, 32) == [
        "GPU use          ▁▁▁███     90 %",
        "GPU memory       ▁▁▁███  9.0 GiB",
        "GPU power        ▄▄▄···     50 W",
        "CPU use          ▁▁▁███    101 %",
    ]
    assert lines(run, 20)[0] == "GPU use               90 %", "no room for a curve"
    assert format_hardware({}, 40) == []


def test_the_feed_reads_the_samples_again_when_there_is_a_new_one(run: RunDirectory) -> None:
    reader, request = DetailReader(run.runs_dir), DetailRequest("abc", frozenset({"hardware"}))

    def read() -> dict[str, Curve]:
        with open_history(run.runs_dir) as db:
            ingest_run(db, run)
            row = get_run(db, run.id)
            assert row is not None
            return dict(reader.read(db, row, request, reader.read_files(request)).hardware)

    first = read()
    assert first["gpu_use"].mean.tolist() == [10.0, 90.0]
    assert read()["gpu_use"] is first["gpu_use"]
    with JournalWriter(run.journal, now=lambda: 5000.0) as journal:
        journal.append_sample(Sampled(iteration=3, gpu_use=50.0))
    assert read()["gpu_use"].x.tolist() == [0.0, 10.0, 10.0 + MAX_PAUSE], "a pause between attempts is cut short"
    reader.close()


def test_many_samples_are_merged_but_for_the_last(tmp_path: Path) -> None:
    run = make_run(tmp_path, "abc")
    write_events(run, [started()])
    times = iter(range(0, 1010, 10))
    with JournalWriter(run.journal, now=lambda: next(times)) as journal:
        for number in range(101):
            journal.append_sample(Sampled(iteration=number, cpu=float(number), power=None if number > 49 else 7.0))
    series = read_series(run, width=5)
    cpu = series["cpu"]
    assert [cpu.x.tolist(), cpu.low.tolist(), cpu.high.tolist(), cpu.mean.tolist()] == [
        [120.0, 370.0, 620.0, 870.0, 1000.0],
        [0.0, 25.0, 50.0, 75.0, 100.0],
        [24.0, 49.0, 74.0, 99.0, 100.0],
        [12.0, 37.0, 62.0, 87.0, 100.0],
    ]
    assert series["power"].mean.tolist()[:2] == [7.0, 7.0]
    assert np.isnan(series["power"].mean[2:]).all()
    assert "gpu_use" not in series


def test_what_a_run_used_is_in_columns_and_in_the_lines_of_ended_runs() -> None:
    on_gpu = run_row(seconds=90.0, gpu_use=81.4, gpu_memory=2.0 * GIB, memory=3.0 * GIB, energy=72_000.0)
    on_cpu = run_row(seconds=90.0, memory=3.0 * GIB)
    assert format_use(on_gpu) == "1m30, GPU 81 %, 2.0 GiB, 20 Wh"
    assert format_use(on_cpu) == "1m30, 3.0 GiB"
    titles = {column.title for column in applicable_columns([on_cpu])}
    assert "memory" in titles
    assert not titles & {"GPU %", "GPU mem.", "energy"}
    shown = {
        column.title: render_cell(column, on_gpu, 8)[-1][0]
        for column in applicable_columns([on_gpu])
        if column.title in ("GPU %", "GPU mem.", "memory", "energy")
    }
    assert shown == {"GPU %": "81", "GPU mem.": "2.0 GiB", "memory": "3.0 GiB", "energy": "20 Wh"}
