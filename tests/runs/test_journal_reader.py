"""The journal read back: exactly what was said, in whatever pieces, however hurt."""

import math
import struct
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clarinet_tui.runs import journal_reader as reader
from clarinet_tui.runs.journal_reader import Damaged, Record, read
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Event, Noticed, Stepped, plain
from tests.support.events import evaluation, resumed, started, step

FLOAT32 = st.floats(width=32, allow_nan=True, allow_infinity=True)
NAMES = st.sampled_from(["complementary_loss", "entropy", "lambda", 'odd "name"\n', "50%s", "größe"])
STEPS = st.builds(
    Stepped,
    iteration=st.integers(0, 2**40),
    epoch=st.integers(0, 10**6),
    adaptation_epoch=st.none() | st.integers(0, 10**6),
    stage=st.text(max_size=8),
    seconds=st.floats(0, 1e6, width=32),
    measured=st.dictionaries(NAMES, FLOAT32, max_size=5),
)
NOTICES = st.builds(Noticed, iteration=st.integers(0, 2**40), message=st.text(), seconds=st.just(1.5))
EVENTS = st.lists(STEPS | NOTICES, max_size=20)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float | int):
        return (math.isnan(one) and math.isnan(other)) or float32(one) == float32(other)
    return bool(one == other)


def float32(value: float) -> bytes:
    return struct.pack("f", value + 0.0)  # the two zeros are one


def written(path: Path, events: list[Event]) -> None:
    with JournalWriter(path, now=lambda: 7.0) as writer:
        for event in events:
            writer.append(event)


@settings(max_examples=150)
@given(EVENTS)
def test_what_is_written_is_read_back(events: list[Event]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        written(path, events)
        found = list(read(path))
    assert len(found) == len(events)
    for event, record in zip(events, found, strict=True):
        assert isinstance(record, Record)
        expected = plain(event) | ({} if isinstance(event, Stepped) else {"time": 7.0})
        assert record.fields.keys() == expected.keys()
        assert all(same(expected[name], record.fields[name]) for name in expected)


@settings(max_examples=60)
@given(EVENTS.filter(bool), st.data())
def test_reading_on_from_any_record_is_reading_the_rest(events: list[Event], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        written(path, events)
        whole = list(read(path))
        after = data.draw(st.integers(0, len(whole) - 1))
        assert repr(list(read(path, whole[after].end))) == repr(whole[after + 1 :])


@settings(max_examples=100)
@given(EVENTS, st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=6))
def test_any_damage_is_survived(events: list[Event], damage: list[tuple[int, int]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        written(path, events)
        content = bytearray(path.read_bytes())
        for place, byte in damage:
            if content:
                content[place % len(content)] = byte
        path.write_bytes(content)
        for item in read(path):
            assert isinstance(item, Record | Damaged)


def test_every_float32_bit_pattern_of_a_sample_survives(tmp_path: Path) -> None:
    values = [struct.unpack("f", struct.pack("I", bits))[0] for bits in range(1, 2**32, 2**21 + 12345)]
    written(tmp_path / "j", [step(place, {"mmd": value}) for place, value in enumerate(values, 1)])
    found = [record.fields["mmd"] for record in read(tmp_path / "j") if isinstance(record, Record)]
    assert all(same(value, other) for value, other in zip(values, found, strict=True))


def test_damage_in_the_middle_is_named_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    written(path, [started(), *map(step, range(1, 6))])
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = b"\x00\xffgarbage\n"
    path.write_bytes(b"".join(lines))
    found = list(read(path))
    hurt = [item for item in found if isinstance(item, Damaged)]
    assert [item.number for item in hurt] == [5]
    assert str(hurt[0]) == "line 5 cannot be read and was left out"
    assert [item.fields["iteration"] for item in found if isinstance(item, Record) and item.event == "step"] == [
        1,
        2,
        4,
        5,
    ]
    assert [item.number for item in read(path, hurt[0].start) if isinstance(item, Damaged)] == [5]


def test_line_cut_off_before_a_new_sitting_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    written(path, [started(), step(1)])
    whole = path.read_bytes()
    path.write_bytes(whole + b"[2,0,nu\n" + whole)
    assert not [item for item in read(path) if isinstance(item, Damaged)]
    written(path, [resumed(1)])
    path.write_bytes(path.read_bytes() + b"[2,0,nu\n")
    assert [item for item in read(path) if isinstance(item, Damaged)]


def test_last_line_without_its_end_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    written(path, [step(1), evaluation(1)])
    whole = path.read_bytes()
    first, second = read(path)
    for size in range(first.end, len(whole)):
        path.write_bytes(whole[:size])
        assert list(read(path)) == [first]
    path.write_bytes(whole)
    assert list(read(path, first.end)) == [second]


def test_journal_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert list(read(tmp_path / "none")) == []


def test_line_longer_than_memory_allows_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LONGEST_LINE", 1000)
    monkeypatch.setattr(reader, "CHUNK", 100)
    path = tmp_path / "journal.jsonl"
    written(path, [step(1)])
    path.write_bytes(path.read_bytes() + b"x" * 5000 + b"\n")
    with JournalWriter(path) as writer:
        writer.append(step(2))
    first, hurt, last = read(path)
    assert isinstance(hurt, Damaged)
    assert (hurt.number, hurt.end - hurt.start) == (3, 5001)
    assert isinstance(last, Record)
    assert last.fields["iteration"] == 2
    assert isinstance(first, Record)
    assert list(read(path, first.end)) == [hurt, last]


@pytest.mark.parametrize(
    "line",
    [
        *(b"[]", b"3", b"{}", b'{"event":3}', b'{"event":"columns"}', b'{"event":"columns","names":[1,2,3,4,5]}'),
        *(b"[1,2,3]", b'[1,0,null,"s",0,"text"]', b'["1",0,null,"s",0,1]', b'[1,"0",null,"s",0,1]'),
        *(b"[1,0,null,null,0,1]", b'"\xff"', b"[" * 100_000, b'{"event":"\xed\xa0\x80"}'),
    ],
)
def test_what_is_json_but_says_nothing_is_damage(tmp_path: Path, line: bytes) -> None:
    columns = msgspec.json.encode({"event": "columns", "names": [*"abcd", "seconds", "mmd"]})
    (tmp_path / "j").write_bytes(columns + b"\n" + line + b"\n")
    assert [type(item) for item in read(tmp_path / "j")] == [Damaged]
