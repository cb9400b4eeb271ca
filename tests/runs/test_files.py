"""The reader of a run's files: whatever the bytes, it returns or raises one error, in bounded time and memory."""

import os
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarinet_tui.runs.files import ContentError, UnreadableFileError, parse_json, parse_toml, read_file, read_json

BOMBS = {
    "dotted key": b"a." * 30_000 + b"a=1",
    "quoted dotted key": b'"a".' * 15_000 + b"a=1",
    "spaced dotted key": b"a . " * 15_000 + b"a=1",
    "dotted header": b"[" + b"a." * 30_000 + b"a]",
    "inline table": b"x={" + b"a." * 30_000 + b"a=1}",
    "after an escaped quote": b'x="\\""\n' + b"a." * 30_000 + b"a=1",
    "after a comment": b'#"""\n' + b"a." * 30_000 + b"a=1",
    "nested arrays": b"a=" + b"[" * 60_000,
    "nested tables": b"a=" + b"{a=" * 20_000,
    "digits": b"a=" + b"1" * 60_000,
    "strings without an end": b'a="""' + b'\\"""' * 15_000,
}


@pytest.mark.parametrize("content", BOMBS.values(), ids=BOMBS.keys())
def test_a_hostile_config_is_refused_in_little_memory(content: bytes) -> None:
    parse_toml(b"a=1")  # imports the parser
    tracemalloc.start()
    try:
        with pytest.raises(ContentError):
            parse_toml(content)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_brackets_and_dots_in_strings_and_comments_are_content() -> None:
    text = "[" * 100 + "." * 100
    content = f'a = "{text}"\nb = \'{text}\'\nc = """\n{text}"""\n# {text}\nd = [{"0.5, " * 200}]'
    assert parse_toml(content.encode()) == {"a": text, "b": text, "c": text, "d": [0.5] * 200}
    assert parse_json(f'["\\"{text}", {"[1]," * 100} 1]'.encode())[0] == f'"{text}'


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    for parse in (parse_toml, parse_json):
        with suppress(ContentError):
            parse(content)


@pytest.mark.parametrize("content", [b"[" * 100, b'{"a":' * 100, b"1" * 5000, b'"\xff"', b'"\\ud800"', b"1e999", b""])
def test_json_that_cannot_be_used(content: bytes) -> None:
    with pytest.raises(ContentError):
        parse_json(content)


def test_only_regular_files_of_a_limited_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "directory").mkdir()
    assert (read_file(tmp_path / "file", 5), read_file(tmp_path / "none"), read_json(tmp_path / "none", object)) == (
        b"12345",
        None,
        None,
    )
    for name, reason in {"pipe": "not a regular", "directory": "not a regular", "link": "is a symbolic link"}.items():
        with pytest.raises(UnreadableFileError, match=f"{name}: .*{reason}"):
            read_file(tmp_path / name)
    (tmp_path / "file").write_bytes(b"1" * 2049)
    with pytest.raises(UnreadableFileError, match="file: expected at most 2 KB"):
        read_file(tmp_path / "file", 2048)
