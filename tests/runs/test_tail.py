"""A file read from its end, while it grows, is rotated, cut, or not there."""

import os
from pathlib import Path

import pytest

from clarinet_tui.runs import tail as growing
from clarinet_tui.runs.tail import Growing


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 16])
def test_lines_before_come_last_first_whatever_the_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(growing, "CHUNK", chunk)
    path = tmp_path / "log"
    path.write_bytes(b"first\n\nthird line\nlast\nto")
    with Growing(path, 100) as file:
        assert list(file.before()) == [b"last", b"third line", b"", b"first"]
        append(path, b"rn\nmore\n")
        assert list(file.new()) == [b"torn", b"more"]
        assert list(file.new()) == list(file.torn()) == []


@pytest.mark.parametrize("chunk", [5, 64, 1 << 16])
def test_a_long_line_keeps_its_beginning_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(growing, "CHUNK", chunk)
    path = tmp_path / "log"
    path.write_bytes(b"before\n" + b"a" * 10 + b"b" * 1000 + b"\nafter\n" + b"c" * 10 + b"d" * 500)
    with Growing(path, 10) as file:
        assert list(file.before()) == [b"after", b"a" * 10, b"before"]
        append(path, b"d" * 500 + b"\n" + b"e" * 10 + b"f" * 90)
        assert list(file.new()) == [b"c" * 10]
        assert list(file.torn()) == [b"e" * 10]


def test_nothing_is_read_twice_when_only_the_end_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    with Growing(path, 100) as file:
        file.before()
        assert list(file.new()) == []


def test_a_file_that_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Growing(path, 100) as file:
        assert list(file.before()) == list(file.new()) == []
        append(path, b"here\n")
        assert list(file.new()) == [b"here"]


def test_a_rotated_file_is_read_to_its_end_and_then_the_other(tmp_path: Path) -> None:
    path, old = tmp_path / "log", tmp_path / "log.1"
    path.write_bytes(b"one\n")
    with Growing(path, 100) as file:
        file.before()
        path.rename(old)
        append(old, b"still written\n")
        assert list(file.new()) == [b"still written"]
        append(old, b"torn")
        path.write_bytes(b"anew\n")
        assert list(file.new()) == [b"torn", b"anew"]


def test_a_file_that_was_cut_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\nto")
    with Growing(path, 100) as file:
        file.before()
        path.write_bytes(b"anew\n")
        assert list(file.new()) == [b"anew"]


def test_what_is_no_ordinary_file_is_not_there(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "secret").write_bytes(b"secret\n")
    (tmp_path / "link").symlink_to("secret")
    for name in ("pipe", "link", "."):
        with Growing(tmp_path / name, 100) as file:
            assert list(file.before()) == list(file.new()) == []
