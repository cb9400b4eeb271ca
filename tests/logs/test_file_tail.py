"""Reading a file from its end while it grows, is rotated, truncated or missing."""

import os
from pathlib import Path

import pytest

from clarinet_tui.logs import run_log
from clarinet_tui.logs.run_log import FileTail


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 16])
def test_read_backwards_with_any_chunk_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(run_log, "CHUNK", chunk)
    path = tmp_path / "log"
    path.write_bytes(b"first\n\nthird line\nlast\nto")
    with FileTail(path, 100) as file:
        assert list(file.read_backwards()) == [b"last", b"third line", b"", b"first"]
        append(path, b"rn\nmore\n")
        assert list(file.read_new()) == [b"torn", b"more"]
        assert list(file.read_new()) == list(file.read_partial()) == []


@pytest.mark.parametrize("chunk", [5, 64, 1 << 16])
def test_long_line_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(run_log, "CHUNK", chunk)
    path = tmp_path / "log"
    path.write_bytes(b"before\n" + b"a" * 10 + b"b" * 1000 + b"\nafter\n" + b"c" * 10 + b"d" * 500)
    with FileTail(path, 10) as file:
        assert list(file.read_backwards()) == [b"after", b"a" * 10, b"before"]
        append(path, b"d" * 500 + b"\n" + b"e" * 10 + b"f" * 90)
        assert list(file.read_new()) == [b"c" * 10]
        assert list(file.read_partial()) == [b"e" * 10]


def test_lines_read_backwards_are_not_new(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    with FileTail(path, 100) as file:
        file.read_backwards()
        assert list(file.read_new()) == []


def test_file_created_later(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with FileTail(path, 100) as file:
        assert list(file.read_backwards()) == list(file.read_new()) == []
        append(path, b"here\n")
        assert list(file.read_new()) == [b"here"]


def test_rotated_file_is_read_to_its_end_before_the_new_one(tmp_path: Path) -> None:
    path, old = tmp_path / "log", tmp_path / "log.1"
    path.write_bytes(b"one\n")
    with FileTail(path, 100) as file:
        file.read_backwards()
        path.rename(old)
        append(old, b"still written\n")
        assert list(file.read_new()) == [b"still written"]
        append(old, b"torn")
        path.write_bytes(b"new\n")
        assert list(file.read_new()) == [b"torn", b"new"]


def test_truncated_file_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\nto")
    with FileTail(path, 100) as file:
        file.read_backwards()
        path.write_bytes(b"new\n")
        assert list(file.read_new()) == [b"new"]


def test_pipes_links_and_directories_count_as_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "secret").write_bytes(b"secret\n")
    (tmp_path / "link").symlink_to("secret")
    for name in ("pipe", "link", "."):
        with FileTail(tmp_path / name, 100) as file:
            assert list(file.read_backwards()) == list(file.read_new()) == []
