"""A real Slurm of two nodes on this machine; the second one has a name and a boot id of its own."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support import waiting

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged", "unshare")
TIMEOUT = 120.0
CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldPort={ports[0]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=0
KillWait=30
MaxArraySize=2
MinJobAge={min_job_age}
MessageTimeout={message_timeout}
SlurmdTimeout=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=6 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=6 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP PriorityTier=1
PartitionName=high Nodes=ALL MaxTime=60 State=UP PriorityTier=10
"""
OTHER_MACHINE = """\
hostname {name}
mount --bind {directory}/{name}.boot /proc/sys/kernel/random/boot_id
exec slurmd -D -N n2 -f {directory}/slurm.conf
"""


class Cluster:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.configuration = directory / "slurm.conf"
        self._ports = [_free_port() for _ in range(3)]
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.configuration), "SLURM_TIME_FORMAT": "%s"}

    def start(self) -> None:
        self.directory.mkdir(mode=0o755)
        (self.directory / "state").mkdir()
        for name in ("n1", "n2"):
            (self.directory / f"spool-{name}").mkdir()
        self.configure()
        (self.directory / "cgroup.conf").write_text("CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n")
        (self.directory / "node2.boot").write_text("22222222-2222-4222-8222-222222222222\n")
        (self.directory / "munge.key").write_bytes(os.urandom(1024))
        (self.directory / "munge.key").chmod(0o600)
        files = [f"--{name}={self.directory}/munge.{end}" for name, end in MUNGE_FILES.items()]
        self._start("munged", ["munged", "--foreground", "--force", *files])
        self.wait_until(lambda: (self.directory / "munge.socket").exists())
        self.start_controller()
        self.start_node("n1")
        self.start_node("n2")
        self.wait_for_nodes()

    def configure(self, min_job_age: int = 300, message_timeout: int = 10) -> None:
        self.configuration.write_text(
            CONFIGURATION.format(
                host=socket.gethostname().split(".")[0],
                directory=self.directory,
                ports=self._ports,
                min_job_age=min_job_age,
                message_timeout=message_timeout,
            )
        )

    def reset(self) -> None:
        """Let the controller use the usual configuration again, if a test has changed it."""
        changed = self.configuration.read_text()
        self.configure()
        if self.configuration.read_text() != changed:
            self.call("scontrol", "reconfigure")

    def start_controller(self) -> None:
        self._start("slurmctld", ["slurmctld", "-D", "-f", str(self.configuration)])
        self.wait_until(lambda: "UP" in self.call("scontrol", "ping", check=False))

    @contextmanager
    def no_controller(self, min_job_age: int = 300) -> Iterator[None]:
        """Stop the controller, for which programs wait only shortly, and start it again with this MinJobAge."""
        self.kill("slurmctld")
        self.configure(message_timeout=2)
        try:
            yield
        finally:
            self.configure(min_job_age=min_job_age)
            self.start_controller()
            self.wait_for_nodes()

    def wait_for_nodes(self) -> None:
        """Wait until both nodes have registered."""
        self.wait_until(lambda: "unk" not in self.call("sinfo", "-h", "-p", "main", "-o", "%t"))

    def start_node(self, name: str) -> None:
        command = ["slurmd", "-D", "-N", name, "-f", str(self.configuration)]
        if name == "n2":
            script = OTHER_MACHINE.format(name="node2", directory=self.directory)
            command = ["unshare", "--uts", "--mount", "--propagation", "private", "sh", "-e", "-c", script]
        self._start(name, command)

    def kill(self, daemon: str, number: signal.Signals = signal.SIGTERM) -> None:
        process = self._daemons.pop(daemon)
        process.send_signal(number)
        process.wait(TIMEOUT)

    def stop(self) -> None:
        with suppress(AssertionError, OSError, subprocess.SubprocessError):
            self.cancel_all()
        for daemon in ("n1", "n2", "slurmctld", "munged"):
            if daemon in self._daemons:
                with suppress(subprocess.TimeoutExpired):
                    self.kill(daemon)

    def cancel_all(self) -> None:
        """Cancel all jobs, and wait until none is left."""
        self.call("scancel", f"--user={os.getuid()}")
        self.wait_until(lambda: not self.call("squeue", "-h").strip())

    def call(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=TIMEOUT)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def submit(self, *options: str, command: str = "sleep 600") -> str:
        """Submit a job that is none of Clarinet's."""
        return self.call("sbatch", "--parsable", "--output=/dev/null", *options, f"--wrap={command}").strip()

    def start_soon(self, job: str) -> None:
        """Let a requeued job start soon: Slurm delays it by two minutes.

        Not in the second in which it was requeued, whose credentials the node has revoked.
        """
        self.call("scontrol", "update", f"JobId={job}", "StartTime=now+2")

    def job_state(self, job: str) -> str:
        return self.call("squeue", "-h", "--array", "-t", "all", "-j", job, "-o", "%T", check=False).strip()

    def wait_until(self, condition: Callable[[], object], timeout: float = TIMEOUT) -> None:
        waiting.wait_until(condition, self.describe, timeout, interval=0.1)

    def describe(self) -> str:
        """Return the jobs and the daemons' last lines, for the message of a failed test."""
        logs = [f"{path.name}:\n{path.read_text(errors='replace')[-2000:]}" for path in self.directory.glob("*.log")]
        return "\n".join([self.call("squeue", "-t", "all", "--array", check=False), *logs])

    def _start(self, name: str, command: list[str]) -> None:
        with (self.directory / f"{name}.log").open("ab") as log:
            command = ["setpriv", "--pdeathsig", "TERM", *command]
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self._daemons[name] = subprocess.Popen(command, env=self.environment, **streams)  # type: ignore[call-overload]


MUNGE_FILES = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "daemon.log", "seed-file": "seed"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def skip_reason() -> str:
    """Return why Slurm cannot be started here; empty if it can."""
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        return f"not installed: {', '.join(missing)} (Debian: slurmctld slurmd slurm-client munge)"
    return "" if os.geteuid() == 0 else "Slurm's daemons need root"


@contextmanager
def running_cluster(directory: Path) -> Iterator[Cluster]:
    if reason := skip_reason():
        pytest.skip(reason)
    cluster = Cluster(directory)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
