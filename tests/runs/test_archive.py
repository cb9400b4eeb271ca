"""Archives of runs: reproducible bytes, complete lines of growing files, and importing them again."""

import gzip
import os
import stat
import tarfile
import threading
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.runs.annotations import add_tag, read_creating_command
from clarinet_tui.runs.archive import MANIFEST, Manifest, check_archive, has_patch, import_archive, write_archive
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from core.errors import InputError
from core.events import Noticed
from tests.support.events import started, step
from tests.support.histories import make_run, write_events


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run with every file that a run can have."""
    run = make_run(tmp_path / "runs", id="abc123")
    write_events(run, [started(), *(step(n) for n in range(1, 50))])
    run.environment.write_bytes(b'{"host": "there", "git": {"commit": "f00", "patch": "+secret", "patch_cut": false}}')
    run.environment.chmod(0o600)
    run.log.write_bytes(b"first line\n\xff\xfe foreign bytes\n")
    run.pseudo_labels.write_bytes(b"labels")
    run.stage1.write_bytes(b"{}")
    run.checkpoint.write_bytes(b"weights")
    run.lock.write_bytes(b'{"host": "there", "pid": 1, "start": 1.0}')
    return run


def names(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        return archive.getnames()


def files(run: RunDirectory) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.path.iterdir()}


def test_the_same_runs_give_the_same_bytes(run: RunDirectory, tmp_path: Path) -> None:
    other = make_run(run.runs_dir, id="xyz")
    write_archive([run, other], tmp_path / "a.tar.gz")
    os.utime(run.journal, (1, 1))
    run.log.chmod(0o644)
    write_archive([other, run], tmp_path / "b.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    members = names(tmp_path / "a.tar.gz")
    assert members == [*sorted(members[:-1]), MANIFEST]
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        assert {(one.uid, one.gid, one.uname, one.mtime) for one in archive} == {(0, 0, "", 1577836800)}


def test_packed_files(run: RunDirectory, tmp_path: Path) -> None:
    manifest = write_archive([run], tmp_path / "a.tar.gz")
    assert set(manifest.runs["abc123"]) == {
        "annotations.jsonl",
        "config.toml",
        "environment.json",
        "journal.jsonl",
        "pseudo_labels.npy",
        "stage1.json",
        "worker.log",
    }
    assert write_archive([run], tmp_path / "b.tar.gz", checkpoints=True).runs["abc123"].keys() - manifest.runs[
        "abc123"
    ].keys() == {"checkpoint.pt"}
    assert check_archive(tmp_path / "a.tar.gz") == manifest


def test_import_restores_the_files(run: RunDirectory, tmp_path: Path) -> None:
    write_archive([run], tmp_path / "a.tar.gz", checkpoints=True)
    result = import_archive(tmp_path / "a.tar.gz", tmp_path / "there")
    assert (result.new, result.existing) == (("abc123",), ())
    there = RunDirectory(tmp_path / "there", "abc123")
    assert files(there) == {name: content for name, content in files(run).items() if name != "lock"}
    for private in (there.environment, there.log):
        assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE(there.journal.stat().st_mode) != 0o600
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["abc123"]


def test_running_run_is_packed_up_to_its_last_complete_line(run: RunDirectory, tmp_path: Path) -> None:
    whole = run.journal.read_bytes()
    with run.journal.open("ab") as journal:
        journal.write(b"[50,0,null,")
    with run.log.open("ab") as log:
        log.write(b"x" * (3 << 20))
    run.annotations.write_bytes(b"no end")
    write_archive([run], tmp_path / "a.tar.gz")
    import_archive(tmp_path / "a.tar.gz", tmp_path / "there")
    there = RunDirectory(tmp_path / "there", "abc123")
    assert there.journal.read_bytes() == whole
    assert there.log.read_bytes() == b"first line\n\xff\xfe foreign bytes\n"
    assert there.annotations.read_bytes() == b""


def test_events_appended_while_packing_do_not_damage_the_archive(run: RunDirectory, tmp_path: Path) -> None:
    """A worker appends all the time: sizes are read once."""
    over = threading.Event()

    def append() -> None:
        while not over.is_set():
            write_events(run, [Noticed(iteration=1, message="x" * 1000)] * 20)

    worker = threading.Thread(target=append)
    worker.start()
    try:
        for number in range(5):
            write_archive([run], tmp_path / f"{number}.tar.gz")
            check_archive(tmp_path / f"{number}.tar.gz")
    finally:
        over.set()
        worker.join()


def test_without_patches(run: RunDirectory, tmp_path: Path) -> None:
    assert has_patch(run)
    write_archive([run], tmp_path / "a.tar.gz", patches=False)
    assert b"secret" not in gzip.decompress((tmp_path / "a.tar.gz").read_bytes())
    import_archive(tmp_path / "a.tar.gz", tmp_path / "there")
    assert read_environment(RunDirectory(tmp_path / "there", "abc123"))["git"] == {"commit": "f00", "patch_cut": False}
    assert import_archive(tmp_path / "a.tar.gz", run.runs_dir).existing == ("abc123",)


@pytest.mark.parametrize("option", ["--on-alarm", "--on-end"])
def test_the_command_for_alarms_is_never_packed(tmp_path: Path, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    token = "https://example.org/?token=private"
    monkeypatch.setattr("sys.argv", ["/bin/clarinet", "run", f"{option}={token}", option, token, "--headless"])
    run = make_run(tmp_path / "runs", id="abc123")
    assert read_creating_command(run) == f"clarinet run {option}=... {option} ... --headless"
    write_archive([run], tmp_path / "a.tar.gz")
    assert b"private" not in gzip.decompress((tmp_path / "a.tar.gz").read_bytes())


def test_links_are_not_followed_and_pipes_do_not_block(run: RunDirectory, tmp_path: Path) -> None:
    run.stage1.unlink()
    os.mkfifo(run.stage1)
    run.log.unlink()
    run.log.symlink_to("/etc/passwd")
    run.environment.write_bytes(b'{"host": "\xff"}')
    warnings: list[str] = []
    packed = write_archive([run], tmp_path / "a.tar.gz", warn=warnings.append).runs["abc123"]
    assert not {"stage1.json", "worker.log", "environment.json"} & packed.keys()
    assert warnings == [
        "run abc123: left out environment.json: is not UTF-8",
        "run abc123: left out stage1.json: is not a regular file",
        "run abc123: left out worker.log: is a symbolic link",
    ]
    assert import_archive(tmp_path / "a.tar.gz", tmp_path / "there").new == ("abc123",)


def test_a_run_without_readable_settings_is_left_out(run: RunDirectory, tmp_path: Path) -> None:
    damaged = make_run(tmp_path / "runs", id="damaged")
    damaged.config.write_bytes(b"a = 1" + b"1" * 5000)
    warnings: list[str] = []
    assert list(write_archive([damaged, run], tmp_path / "a.tar.gz", warn=warnings.append).runs) == ["abc123"]
    assert warnings == ["run damaged: left out config.toml: contains a number that is too large"]
    with pytest.raises(InputError, match=r"none of the 1 runs has a config\.toml that can be read"):
        write_archive([damaged], tmp_path / "b.tar.gz")
    assert [path.name for path in tmp_path.iterdir() if "b.tar" in path.name] == []


def test_run_with_the_same_content_is_skipped(run: RunDirectory, tmp_path: Path) -> None:
    other = make_run(tmp_path / "other", id="xyz")
    write_archive([run, RunDirectory(other.runs_dir, "xyz")], tmp_path / "a.tar.gz")
    before = files(run)
    result = import_archive(tmp_path / "a.tar.gz", run.runs_dir)
    assert (result.new, result.existing) == (("xyz",), ("abc123",))
    assert files(run) == before


def test_run_with_other_content_refuses_the_whole_archive(run: RunDirectory, tmp_path: Path) -> None:
    other = make_run(tmp_path / "other", id="aaa")
    write_archive([run, other], tmp_path / "a.tar.gz")
    add_tag(run, "later")
    with pytest.raises(InputError, match=r"run abc123: already exists with another annotations.jsonl"):
        import_archive(tmp_path / "a.tar.gz", run.runs_dir)
    assert [path.name for path in run.runs_dir.iterdir()] == ["abc123"]


def test_a_run_that_appears_during_the_import_refuses_the_whole_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [make_run(tmp_path / "made", id=name) for name in ("aaa", "bbb")]
    write_archive(made, tmp_path / "a.tar.gz")
    runs = tmp_path / "runs"

    def fsync(file: int) -> None:
        if os.path.samestat(os.fstat(file), next(runs.glob(".import-*/aaa"), tmp_path).stat()):
            (runs / "bbb").mkdir()  # another process makes the second run before the first one is renamed

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(InputError, match=r"run bbb: was created in .* during the import: try again"):
        import_archive(tmp_path / "a.tar.gz", runs)
    assert [path.name for path in runs.iterdir()] == ["bbb"]


def test_later_format_is_refused(run: RunDirectory, tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    write_archive([run], path)
    later = gzip.decompress(path.read_bytes()).replace(b'"format": 1', b'"format": 2')
    path.write_bytes(gzip.compress(later))
    with pytest.raises(InputError, match=r"has format 2, this version reads format 1"):
        import_archive(path, tmp_path / "there")


def test_unknown_fields_of_a_manifest_are_ignored(run: RunDirectory) -> None:
    assert msgspec.json.decode(b'{"format": 1, "mood": "good", "runs": {}}', type=Manifest).runs == {}
