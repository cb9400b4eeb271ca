"""`clarinet demo` while its worker trains."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clarinet_tui.cli.demo import print_results
from clarinet_tui.queue.demo import METHODS
from core.methods import find_method
from tests.support.trained_runs import make_trained_run

WORKER = """
import os, signal, sys, time
def save(number, _):
    time.sleep(0.6)
    os.write(1, b"saved\\n")  # not print, which the signal may have interrupted
    sys.exit(128 + number)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, save)
os.write(1, b"training\\n")
time.sleep(60)
"""
DEMO = "import sys; from clarinet_tui.cli.demo import wait_for_worker; sys.exit(wait_for_worker(sys.argv[1:]))"
TERMINATED_EARLY = """
import os, signal, subprocess, time
from clarinet_tui.runs.lock import handles_signal
class Popen(subprocess.Popen):
    def __init__(self, arguments):
        super().__init__(arguments)
        while not handles_signal(self.pid, signal.SIGTERM):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
subprocess.Popen = Popen
"""


def test_results_are_a_chart_the_accuracies_and_next_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = {make_trained_run(tmp_path, f"run{n}", [20, 50 + n], method=m).id: m for n, m in enumerate(METHODS)}
    print_results(tmp_path, {run: find_method(method) for run, method in runs.items()})
    chart, rest = capsys.readouterr().out.split("Target accuracy after the last epoch")
    assert all(find_method(method).title in chart for method in METHODS)
    assert [line.split()[0] for line in rest.splitlines()[1:4]] == ["GAC+CDAN_E", "CLARINET", "BASSET"]
    assert "GAC+CDAN_E (two-step) recognises 52.0 % of the handwritten digits" in rest
    assert f"clarinet compare run0 run1 run2 --runs-dir {tmp_path}" in rest


def test_a_signal_that_arrives_while_the_worker_starts_is_passed_on() -> None:
    command = [sys.executable, "-c", TERMINATED_EARLY + DEMO, sys.executable, "-c", WORKER]
    process = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert process.stdout.endswith("saved\n"), process.stderr
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_worker_saves_before_the_demo_ends(number: signal.Signals) -> None:
    command = [sys.executable, "-c", DEMO, sys.executable, "-c", WORKER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "training\n"
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # a terminal sends Ctrl+C to both
        else:
            process.send_signal(number)
        assert process.stdout.read() == "saved\n"
    assert process.returncode == 128 + number
