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
