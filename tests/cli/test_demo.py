"""`clarinet demo` while its worker trains."""

import os
import signal
import subprocess
import sys

import pytest

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
