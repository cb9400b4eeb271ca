"""`clarinet demo` while its worker trains."""

import os
import signal
import subprocess
import sys

import pytest

WORKER = """
import signal, sys, time
def save(number, _):
    time.sleep(0.6)
    print("saved", flush=True)
    sys.exit(128 + number)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, save)
print("training", flush=True)
time.sleep(60)
"""
DEMO = "import sys; from clarinet_tui.cli.demo import wait_for_worker; sys.exit(wait_for_worker(sys.argv[1:]))"
TERMINATED_EARLY = """
import os, signal, subprocess, time
from clarinet_tui.runs.process import handles_signal
class Popen(subprocess.Popen):
    def __init__(self, arguments):
        super().__init__(arguments)
        while not handles_signal(self.pid, signal.SIGTERM):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
subprocess.Popen = Popen
"""


def test_a_signal_that_arrives_while_the_worker_starts_is_passed_on() -> None:
    silent = WORKER.replace('print("training", flush=True)', "")
    command = [sys.executable, "-c", TERMINATED_EARLY + DEMO, sys.executable, "-c", silent]
    process = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert (process.stdout, process.returncode) == ("saved\n", 128 + signal.SIGTERM), process.stderr


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
