"""One Slurm for all tests of a pytest process; each test finds it without jobs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.slurm import Cluster, running_cluster


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("slurm") / "cluster") as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cluster]:
    monkeypatch.setenv("SLURM_CONF", str(shared_cluster.configuration))
    monkeypatch.chdir(tmp_path)
    try:
        yield shared_cluster
    finally:
        shared_cluster.cancel_all()
        shared_cluster.reset()
