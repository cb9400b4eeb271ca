"""Hardware and energy of runs in comparisons and reports."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from clarinet_tui.analysis.comparison import compare_queries
from clarinet_tui.analysis.report import make_report
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import format_hardware, hardware_names, read_environment
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.text import format_energy
from core.events import Sampled
from tests.support.trained_runs import make_trained_run, read_runs

A100, TITAN = "NVIDIA A100-SXM4-80GB", "NVIDIA TITAN V"
MIXED = f"runs on {A100} and {TITAN}: their mean time is of both"


def set_hardware(run: RunDirectory, *names: str, **fields: Any) -> None:
    """Write the hardware of a run's attempts, the last one last, and their device, which is always cuda:0."""
    attempts = [{"device": "cuda:0", "hardware": {"name": name, **fields}} for name in names]
    environment = {**read_environment(run), **attempts[-1], "earlier_attempts": attempts[:-1]}
    run.environment.write_bytes(msgspec.json.encode(environment))


@pytest.mark.parametrize(
    ("hardware", "expected"),
    [
        ((A100, A100, A100, A100), ()),
        ((A100, A100, TITAN, TITAN), (f"the devices differ ({A100} and {TITAN}): times cannot be compared",)),
        ((A100, TITAN, TITAN, A100), (f"CLARINET: {MIXED}", f"GAC+DAN: {MIXED}")),
    ],
    ids=["same", "different", "mixed"],
)
def test_times_of_different_gpus_are_a_caution_although_all_are_cuda_0(
    tmp_path: Path, hardware: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    """Runs of one step and of two steps, each with two seeds."""
    for number, model in enumerate(hardware):
        method: dict[str, Any] = {"method": "gac+dan"} if number > 1 else {}
        set_hardware(make_trained_run(tmp_path, f"run{number}", [80.0], seed=number % 2 + 1, **method), model)
    (difference,) = compare_queries(read_runs(tmp_path), "", "").differences
    assert tuple(caution for caution in difference.cautions if "stage 1" not in caution) == expected


def test_all_hardware_of_a_run_is_named(tmp_path: Path) -> None:
    run = make_trained_run(tmp_path, "abc", [80.0])
    set_hardware(run, A100, TITAN, A100)
    assert hardware_names(read_environment(run)) == [A100, TITAN]
    (record,) = read_runs(tmp_path).search()
    assert record.row.hardware == f"{A100}; {TITAN}"


@pytest.mark.parametrize("hardware", [None, [], "x", {"name": 3}, {"name": ""}, {"name": None}])
def test_damaged_hardware_is_unknown(hardware: object) -> None:
    environment = {"hardware": hardware, "earlier_attempts": [3, {"hardware": hardware}]}
    assert hardware_names(environment) == []
    assert "A100" not in format_hardware(environment)


def test_the_report_has_hardware_and_energy(tmp_path: Path) -> None:
    for number, joules in enumerate((1.8e6, 3.6e6, None), start=1):
        run = make_trained_run(tmp_path, f"run{number}", [80.0], seed=number)
        set_hardware(run, A100, driver="570.86.15", cuda="12.8", cudnn=91002, threads=8)
        if joules is not None:
            with JournalWriter(run.journal, now=lambda: 1001.0) as journal:
                journal.append_sample(Sampled(iteration=1, energy=joules / 2))
                journal.append_sample(Sampled(iteration=2, energy=joules / 2))
    page = make_report(read_runs(tmp_path), title="T", written=0.0, host="h", command_of=str)
    assert f"{A100}, driver 570.86.15, CUDA 12.8, cuDNN 91002, 8 threads" in page
    assert "kWh: energy of the GPUs, 1.500 in all, for 2 of 3 runs." in page
    assert page.count("<td>0.500</td>") == 1


def test_format_energy() -> None:
    assert [format_energy(joules) for joules in (0, 1800, 90_000, 3_600_000, 9e6)] == [
        "0.0 Wh", "0.5 Wh", "25 Wh", "1.00 kWh", "2.50 kWh"
    ]  # fmt: skip
