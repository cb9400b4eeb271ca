"""Archives from anywhere: whatever is in them, nothing is written unless all of it is in order."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clarinet_tui.runs import archive_import as unpacking
from clarinet_tui.runs.archive import pack
from clarinet_tui.runs.archive_import import unpack
from clarinet_tui.runs.archive_members import BLOCK, Limits
from core.errors import InputError
from tests.support.events import started, step
from tests.support.histories import make_run, say
from tests.support.hostile_archives import CONFIG, archive, edited, link, manifest, plain, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.tar.gz"


def refused(path: Path, why: str, limits: Limits | None = None) -> None:
    runs = path.parent / "runs"
    with pytest.raises(InputError, match=why):
        unpack(path, runs, limits or Limits())
    assert not runs.exists()


def test_the_archives_of_these_tests_are_taken_if_nothing_is_wrong(path: Path) -> None:
    archive(path, plain("abc/journal.jsonl", b"{}\n"))
    assert unpack(path, path.parent / "runs").new == ("abc",)


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../abc/config.toml",
        "abc/../def/config.toml",
        "abc/../../x",
        "./abc/config.toml",
        "abc//config.toml",
        "abc/config.toml/",
        "abc/lock",
        "abc/.config.toml",
        "abc/run.py",
        "abc/deep/config.toml",
        "config.toml",
        "queue.json",
        "stage1/config.toml",
        "queue/journal.jsonl",
        "ab/config.toml",
        "ABC/config.toml",
        "abc/CONFIG.TOML",
        "abc\\config.toml",
        "abc/config.toml\n",
        "abc/config.toml ",
        ".trash/config.toml",
        "abc/manifest.json",
        "x" * 33 + "/config.toml",
    ],
)
def test_names_that_no_run_has(path: Path, name: str) -> None:
    refused(archive(path, plain(name, b"x")), "is no file of a run|is no plain file")


@pytest.mark.parametrize(
    "name",
    ["abc/con\u0301fig.toml", "ａｂｃ/config.toml", "abc/config.toml\u202e", "аbc/config.toml", "١٢٣/config.toml"],
)
def test_signs_that_look_like_others(path: Path, name: str) -> None:
    refused(archive(path, plain(name, b"x")), "cut short or damaged|is no plain file|is no file of a run")
    members = [plain("abc/config.toml", CONFIG), plain(name, b"x")]
    refused(write(path, [*members, manifest(members)], tarfile.PAX_FORMAT), "is no plain file|damaged")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_what_is_no_plain_file(path: Path, kind: bytes) -> None:
    refused(archive(path, link("abc/journal.jsonl", "/etc/passwd", kind)), "is no plain file")


@pytest.mark.parametrize("kind", [b"L", b"K", b"x", b"g", b"S", b"7", b"V", b"M"])
def test_headers_that_change_the_meaning_of_others(path: Path, kind: bytes) -> None:
    refused(archive(path, plain("abc/journal.jsonl", b"../../x", type=kind)), "is no plain file")


def test_a_name_twice(path: Path) -> None:
    refused(archive(path, plain("abc/worker.log", b"a"), plain("abc/worker.log", b"b")), "worker.log twice")
    members = [plain("abc/config.toml", CONFIG)]
    refused(write(path, [*members, manifest(members), *members]), "goes on after its manifest")
    refused(write(path, [*members, manifest(members), manifest(members)]), "goes on after its manifest")


def test_what_the_manifest_does_not_say(path: Path) -> None:
    config, log = plain("abc/config.toml", CONFIG), plain("abc/worker.log", b"x")
    refused(write(path, [config, log, manifest([config])]), "worker.log' is not what manifest.json says")
    refused(write(path, [config, manifest([config, log])]), "worker.log' is not what manifest.json says")
    refused(write(path, [plain("abc/config.toml", b"y"), manifest([config])]), "config.toml' is not what")
    refused(write(path, [log, manifest([log])]), "has no config.toml")
    refused(write(path, [config]), "has no manifest.json")
    refused(write(path, []), "has no manifest.json")


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"format": 1}', b'{"format": 1, "runs": []}', b'{"format": "1", "runs": {}}', b"[" * 99999],
)
def test_a_manifest_that_is_none(path: Path, content: bytes) -> None:
    config = plain("abc/config.toml", CONFIG)
    refused(write(path, [config, plain("manifest.json", content)]), "manifest.json|another format")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a":' * 99999, b'"\xff"'])
def test_an_environment_that_listings_could_not_read(path: Path, content: bytes) -> None:
    refused(archive(path, plain("abc/environment.json", content)), "abc/environment.json: ")


def test_a_bomb_is_left_alone(path: Path) -> None:
    """A megabyte that would be a gigabyte, and one that says it is more than there is."""
    header, _ = plain("abc/journal.jsonl")
    header.size = 1 << 30
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(64):
            stream.write(bytes(1 << 20))
    refused(path, "holds more than 100 files or 0.5 GB.*--max-gb", Limits(1 << 29, 100))
    refused(path, "cut short or damaged")
    header.size = 1 << 60
    path.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT)))
    refused(path, "holds more than")


def test_too_many_files(path: Path) -> None:
    refused(archive(path, *(plain(f"r{n:03}/config.toml", CONFIG) for n in range(20))), "10 files", Limits(1 << 30, 10))


@pytest.mark.parametrize(
    ("name", "size"), [("config.toml", 2 << 20), ("stage1.json", 1 << 17), ("environment.json", 17 << 20)]
)
def test_small_files_that_are_huge(path: Path, name: str, size: int) -> None:
    refused(write(path, [plain(f"abc/{name}", bytes(size))]), "larger than such a file ever is")


def test_a_negative_size(path: Path) -> None:
    header, _ = plain("abc/worker.log")
    header.size = -5
    path.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(2 * BLOCK)))
    refused(path, "larger than such a file ever is")


def test_data_beside_the_files(path: Path) -> None:
    archive(path)
    good = path.read_bytes()
    refused(edited(path, lambda tar: tar + b"more"), "goes on after its end")
    path.write_bytes(good)
    refused(edited(path, lambda tar: tar + bytes(3 << 20)), "goes on after its end")
    path.write_bytes(good)
    refused(edited(path, lambda tar: tar.replace(CONFIG + b"\0", CONFIG + b"x")), "something between its files")


def test_cut_short_anywhere(path: Path) -> None:
    whole = archive(path, plain("abc/journal.jsonl", b"{}\n" * 500)).read_bytes()
    for length in {0, 1, 9, 20, len(whole) // 2, len(whole) - 9, len(whole) - 1}:
        path.write_bytes(whole[:length])
        refused(path, "cut short or damaged|has no manifest")
    path.write_bytes(whole)
    for blocks in range(6):
        refused(edited(path, lambda tar, blocks=blocks: tar[: blocks * BLOCK]), "cut short or damaged")  # type: ignore[misc]
        path.write_bytes(whole)


def test_no_archive_at_all(path: Path, tmp_path: Path) -> None:
    refused(path, "No such file")
    path.write_bytes(b"PK\x03\x04 not a tarball")
    refused(path, "is no archive of runs")
    path.write_bytes(gzip.compress(b"x" * 5000))
    refused(path, "is no archive of runs")
    refused(tmp_path, "Is a directory")


def test_a_link_where_the_run_would_go(path: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs" / "abc").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a symbolic link"):
        unpack(archive(path), tmp_path / "runs")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_an_archive_that_is_exchanged_while_it_is_read(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(path, plain("abc/worker.log", b"good"))
    other = archive(tmp_path / "b.tar.gz", plain("abc/worker.log", b"evil"), plain("abc/stage1.json", b"{}"))
    examine = unpacking.examine

    def examined(*arguments: object) -> object:
        said = examine(*arguments)  # type: ignore[arg-type]
        path.write_bytes(other.read_bytes())
        return said

    monkeypatch.setattr(unpacking, "examine", examined)
    with pytest.raises(InputError, match="changed while it was read"):
        unpack(path, tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


def test_without_room_nothing_is_begun(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1}))
    with pytest.raises(InputError, match="there is room for 0 MB"):
        unpack(archive(path), tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(place=st.floats(0, 1), flipped=st.integers(1, 255))
def test_a_flipped_byte_is_an_input_error_or_makes_no_difference(tmp_path: Path, place: float, flipped: int) -> None:
    """Anywhere inside the compression, so that gzip's own checksum does not help."""
    source = tmp_path / "source.tar.gz"
    if not source.exists():
        run = make_run(tmp_path / "made", id="abc")
        say(run, [started(), step(1)])
        pack([run], source)
    content = bytearray(gzip.decompress(source.read_bytes()))
    content[int(place * (len(content) - 1))] ^= flipped
    changed = tmp_path / "changed.tar.gz"
    changed.write_bytes(gzip.compress(bytes(content), 1))
    try:
        found = unpacking.examine(changed)
    except InputError:
        return
    assert set(found.runs) == {"abc"}  # a field that nobody reads, such as a date


def test_a_tar_of_somebody_else(path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as other:
        other.add(__file__, "project/setup.py")
    path.write_bytes(buffer.getvalue())
    refused(path, "is no file of a run|is no plain file")
