"""Archives of runs: what is packed, what is imported, and hostile archives, of which nothing is written."""

import fcntl
import gzip
import itertools
import os
import tarfile
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clarinet_tui.runs import archive as archive_module
from clarinet_tui.runs.annotations import add_tag, read_creating_command
from clarinet_tui.runs.archive import (
    BLOCK,
    MANIFEST,
    Limits,
    check_archive,
    has_patch,
    import_archive,
    write_archive,
)
from clarinet_tui.runs.directory import RunDirectory, create_runs, list_runs
from clarinet_tui.runs.environment import read_environment
from core.errors import InputError
from core.events import Noticed
from core.resolve import resolve
from tests.support.events import started, step
from tests.support.histories import make_run, write_events
from tests.support.hostile_archives import CONFIG, archive, edited, manifest, plain, write


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


def test_import_restores_the_packed_files(run: RunDirectory, tmp_path: Path) -> None:
    manifest = write_archive([run], tmp_path / "a.tar.gz")
    assert check_archive(tmp_path / "a.tar.gz", Limits()) == manifest
    packed = manifest.runs["abc123"].keys()
    assert packed == {
        *("annotations.jsonl", "config.toml", "environment.json", "journal.jsonl"),
        *("pseudo_labels.npy", "stage1.json", "worker.log"),
    }
    whole = write_archive([run], tmp_path / "b.tar.gz", checkpoints=True).runs["abc123"]
    assert whole.keys() - packed == {"checkpoint.pt"}
    result = import_archive(tmp_path / "b.tar.gz", tmp_path / "there", Limits())
    assert (result.new, result.existing) == (("abc123",), ())
    there = RunDirectory(tmp_path / "there", "abc123")
    assert files(there) == {name: content for name, content in files(run).items() if name != "lock"}
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["abc123"]


def test_running_run_is_packed_up_to_its_last_complete_line(run: RunDirectory, tmp_path: Path) -> None:
    whole = run.journal.read_bytes()
    with run.journal.open("ab") as journal:
        journal.write(b"[50,0,null,")
    with run.log.open("ab") as log:
        log.write(b"x" * (3 << 20))
    run.annotations.write_bytes(b"no end")
    write_archive([run], tmp_path / "a.tar.gz")
    import_archive(tmp_path / "a.tar.gz", tmp_path / "there", Limits())
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
            check_archive(tmp_path / f"{number}.tar.gz", Limits())
    finally:
        over.set()
        worker.join()


def test_without_patches(run: RunDirectory, tmp_path: Path) -> None:
    assert has_patch(run)
    write_archive([run], tmp_path / "a.tar.gz", patches=False)
    assert b"secret" not in gzip.decompress((tmp_path / "a.tar.gz").read_bytes())
    import_archive(tmp_path / "a.tar.gz", tmp_path / "there", Limits())
    assert read_environment(RunDirectory(tmp_path / "there", "abc123"))["git"] == {"commit": "f00", "patch_cut": False}
    assert import_archive(tmp_path / "a.tar.gz", run.runs_dir, Limits()).existing == ("abc123",)


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
    assert import_archive(tmp_path / "a.tar.gz", tmp_path / "there", Limits()).new == ("abc123",)


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
    result = import_archive(tmp_path / "a.tar.gz", run.runs_dir, Limits())
    assert (result.new, result.existing) == (("xyz",), ("abc123",))
    assert files(run) == before


def test_run_with_other_content_refuses_the_whole_archive(run: RunDirectory, tmp_path: Path) -> None:
    other = make_run(tmp_path / "other", id="aaa")
    write_archive([run, other], tmp_path / "a.tar.gz")
    add_tag(run, "later")
    with pytest.raises(InputError, match=r"run abc123: already exists with another annotations.jsonl"):
        import_archive(tmp_path / "a.tar.gz", run.runs_dir, Limits())
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
        import_archive(tmp_path / "a.tar.gz", runs, Limits())
    assert [path.name for path in runs.iterdir()] == ["bbb"]


def test_later_format_is_refused_and_unknown_fields_are_ignored(run: RunDirectory, tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    write_archive([run], path)
    written = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(written.replace(b'"format": 1', b'"format": 2')))
    with pytest.raises(InputError, match=r"has format 2, this version reads format 1"):
        import_archive(path, tmp_path / "there", Limits())
    path.write_bytes(gzip.compress(written.replace(b'"patches"', b'"unknown"')))
    assert import_archive(path, tmp_path / "there", Limits()).new == ("abc123",)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.tar.gz"


def assert_refused(path: Path, message: str, limits: Limits | None = None) -> None:
    runs = path.parent / "runs"
    with pytest.raises(InputError, match=message):
        import_archive(path, runs, limits or Limits())
    assert not runs.exists()


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "../abc/config.toml", "abc/../def/config.toml", "abc/../../x", "./abc/config.toml"),
        *("abc//config.toml", "abc/config.toml/", "abc/lock", "abc/.config.toml", "abc/run.py", "abc/deep/config.toml"),
        *(
            "config.toml",
            "queue.json",
            "stage1/config.toml",
            "queue/journal.jsonl",
            "ab/config.toml",
            "ABC/config.toml",
        ),
        *("abc/CONFIG.TOML", "abc\\config.toml", "abc/config.toml\n", "abc/config.toml ", ".trash/config.toml"),
        *("abc/manifest.json", "x" * 33 + "/config.toml"),
        # Characters that look alike, or that Unicode counts as digits.
        *("abc/con\u0301fig.toml", "ａｂｃ/config.toml", "abc/config.toml\u202e", "аbc/config.toml", "١٢٣/config.toml"),
    ],
)
def test_names_that_are_not_of_a_run(path: Path, name: str) -> None:
    message = "is not a file of a run|is not a regular file|damaged or incomplete"
    assert_refused(archive(path, plain(name, b"x")), message)
    members = [plain("abc/config.toml", CONFIG), plain(name, b"x")]
    assert_refused(write(path, [*members, manifest(members)], tarfile.PAX_FORMAT), message)


@pytest.mark.parametrize("kind", [b"1", b"2", b"3", b"4", b"5", b"6", b"L", b"K", b"x", b"g", b"S", b"7", b"V", b"M"])
def test_links_devices_and_directories(path: Path, kind: bytes) -> None:
    """And headers that change the meaning of others."""
    assert_refused(
        archive(path, plain("abc/journal.jsonl", type=kind, linkname="/etc/passwd")), "is not a regular file"
    )
    assert_refused(archive(path, plain("abc/journal.jsonl", b"../../x", type=kind)), "is not a regular file")


def test_duplicate_names(path: Path) -> None:
    assert_refused(archive(path, plain("abc/worker.log", b"a"), plain("abc/worker.log", b"b")), "worker.log twice")
    members = [plain("abc/config.toml", CONFIG)]
    assert_refused(write(path, [*members, manifest(members), *members]), "manifest.json is not the last file")
    assert_refused(write(path, [*members, manifest(members), manifest(members)]), "manifest.json is not the last file")


def test_files_that_do_not_match_the_manifest(path: Path) -> None:
    config, log = plain("abc/config.toml", CONFIG), plain("abc/worker.log", b"x")
    assert_refused(write(path, [config, log, manifest([config])]), "worker.log' does not match manifest.json")
    assert_refused(write(path, [config, manifest([config, log])]), "worker.log' does not match manifest.json")
    assert_refused(write(path, [plain("abc/config.toml", b"y=1"), manifest([config])]), "config.toml' does not match")
    assert_refused(write(path, [log, manifest([log])]), "has no config.toml")
    assert_refused(write(path, [config]), "contains no manifest.json")
    assert_refused(write(path, []), "contains no manifest.json")


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"format": 1}', b'{"format": 1, "runs": []}', b'{"format": "1", "runs": {}}', b"[" * 99999],
)
def test_invalid_manifest(path: Path, content: bytes) -> None:
    config = plain("abc/config.toml", CONFIG)
    assert_refused(write(path, [config, plain("manifest.json", content)]), "manifest.json|has format")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *itertools.product(
            ["config.toml", "stage1.json"],
            [b"a." * 30_000 + b"a=1", b"a=" + b"[" * 30_000, b"\xff", b"a=" + b"1" * 5000],
        ),
        *(("environment.json", content) for content in (b"", b"[]", b'{"a":' * 99999, b'"\xff"')),
    ],
)
def test_a_file_that_exhausts_its_parser_is_refused_before_anything_is_written(
    path: Path, name: str, content: bytes
) -> None:
    members = [plain("abc/config.toml", CONFIG)] * (name != "config.toml") + [plain(f"abc/{name}", content)]
    tracemalloc.start()
    assert_refused(write(path, [*members, manifest(members)]), f"abc/{name}: ")
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_decompression_bomb(path: Path) -> None:
    """A megabyte that unpacks to a gigabyte, and a header with a size beyond the end."""
    header, _ = plain("abc/journal.jsonl")
    header.size = 1 << 30
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(64):
            stream.write(bytes(1 << 20))
    assert_refused(path, "contains more than 100 files or 0.5 GB.*--max-gb", Limits(1 << 29, 100))
    assert_refused(path, "damaged or incomplete")
    header.size = 1 << 60
    path.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT)))
    assert_refused(path, "contains more than")
    many = archive(path, *(plain(f"r{n:03}/config.toml", CONFIG) for n in range(20)))
    assert_refused(many, "10 files", Limits(1 << 30, 10))


@pytest.mark.parametrize(
    ("name", "size"),
    [("config.toml", 2 << 20), ("stage1.json", 1 << 17), ("environment.json", 17 << 20), ("worker.log", -5)],
)
def test_sizes_that_no_file_has(path: Path, name: str, size: int) -> None:
    header, _ = plain(f"abc/{name}")
    header.size = size
    path.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(2 * BLOCK)))
    assert_refused(path, "is too large")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda tar: tar + b"more", "contains data after the end"),
        (lambda tar: tar + bytes(3 << 20), "contains data after the end"),
        (lambda tar: tar.replace(CONFIG + b"\0", CONFIG + b"x"), "contains data between its files"),
    ],
)
def test_data_beside_the_files(path: Path, edit: Callable[[bytes], bytes], message: str) -> None:
    assert_refused(edited(archive(path), edit), message)


def test_truncated_archives(path: Path) -> None:
    whole = archive(path, plain("abc/journal.jsonl", b"{}\n" * 500)).read_bytes()
    for length in {0, 1, 9, 20, len(whole) // 2, len(whole) - 9, len(whole) - 1}:
        path.write_bytes(whole[:length])
        assert_refused(path, "damaged or incomplete|contains no manifest")
    path.write_bytes(whole)
    for blocks in range(6):
        assert_refused(edited(path, lambda tar, blocks=blocks: tar[: blocks * BLOCK]), "damaged or incomplete")  # type: ignore[misc]
        path.write_bytes(whole)


def test_files_that_are_not_archives(path: Path, tmp_path: Path) -> None:
    assert_refused(path, "No such file")
    path.write_bytes(b"PK\x03\x04 not a tarball")
    assert_refused(path, "is not an archive of runs")
    path.write_bytes(gzip.compress(b"x" * 5000))
    assert_refused(path, "is not an archive of runs")
    assert_refused(tmp_path, "Is a directory")


def test_link_in_place_of_the_run(path: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs" / "abc").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a symbolic link"):
        import_archive(archive(path), tmp_path / "runs", Limits())
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_archive_replaced_while_it_is_read(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(path, plain("abc/worker.log", b"good"))
    other = archive(tmp_path / "b.tar.gz", plain("abc/worker.log", b"evil"), plain("abc/stage1.json", b"{}"))
    real_check = archive_module.check_archive

    def check_then_replace(*arguments: object) -> object:
        manifest = real_check(*arguments)  # type: ignore[arg-type]
        path.write_bytes(other.read_bytes())
        return manifest

    monkeypatch.setattr(archive_module, "check_archive", check_then_replace)
    with pytest.raises(InputError, match="changed while it was read"):
        import_archive(path, tmp_path / "runs", Limits())
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_killed_imports_left_behind_is_removed(path: Path, tmp_path: Path) -> None:
    """A running import holds a lock on its folder, and keeps it."""
    runs = tmp_path / "runs"
    killed, running = runs / ".import-killed", runs / ".import-running"
    for folder in (killed, running):
        (folder / "abc").mkdir(parents=True)
        os.utime(folder, (1, 1))
    held = os.open(running, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(held, fcntl.LOCK_EX)
    import_archive(archive(path), runs, Limits())
    os.close(held)
    assert sorted(entry.name for entry in runs.iterdir()) == [".import-running", "abc"]


def test_too_little_space(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1}))
    with pytest.raises(InputError, match="0 MB are free"):
        import_archive(archive(path), tmp_path / "runs", Limits())
    assert list((tmp_path / "runs").iterdir()) == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(place=st.floats(0, 1), flipped=st.integers(1, 255))
def test_flipped_byte_is_an_input_error_or_makes_no_difference(tmp_path: Path, place: float, flipped: int) -> None:
    """Anywhere inside the compression, so that gzip's own checksum does not help."""
    source = tmp_path / "source.tar.gz"
    if not source.exists():
        run = make_run(tmp_path / "made", id="abc")
        write_events(run, [started(), step(1)])
        write_archive([run], source)
    content = bytearray(gzip.decompress(source.read_bytes()))
    content[int(place * (len(content) - 1))] ^= flipped
    changed = tmp_path / "changed.tar.gz"
    changed.write_bytes(gzip.compress(bytes(content), 1))
    try:
        manifest = archive_module.check_archive(changed, Limits())
    except InputError:
        return
    assert set(manifest.runs) == {"abc"}  # an unused field, such as a date


def test_imported_runs_are_listed_in_the_order_of_their_creation(tmp_path: Path) -> None:
    with create_runs(tmp_path / "here", [resolve(preset="smoke", seed=seed) for seed in range(20)]) as created:
        ids = tuple(run.id for run in created)
    write_archive(created, tmp_path / "a.tar.gz")
    assert import_archive(tmp_path / "a.tar.gz", tmp_path / "there", Limits()) == (ids, ())
    assert import_archive(tmp_path / "a.tar.gz", tmp_path / "there", Limits()) == ((), ids)
    assert [run.id for run in list_runs(tmp_path / "there")] == [*reversed(ids)]
