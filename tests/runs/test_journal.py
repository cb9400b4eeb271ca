"""Reading a journal: exactly what was written, from any offset, with any damage."""

import math
import struct
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clarinet_tui.runs import journal as reader
from clarinet_tui.runs.journal import FIXED_COLUMNS, DamagedLine, JournalEvent, read_journal
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Event, Noticed, Stepped, flatten_event
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


def write(path: Path, events: list[Event]) -> None:
    with JournalWriter(path, now=lambda: 7.0) as writer:
        for event in events:
            writer.append(event)


@settings(max_examples=150)
@given(EVENTS)
def test_round_trip(events: list[Event]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, events)
        found = list(read_journal(path))
    assert len(found) == len(events)
    for event, record in zip(events, found, strict=True):
        assert isinstance(record, JournalEvent)
        expected = flatten_event(event) | ({} if isinstance(event, Stepped) else {"time": 7.0})
        record.fields.pop("attempt", None)  # of the first event that is not an iteration
        assert record.fields.keys() == expected.keys()
        assert all(same(expected[name], record.fields[name]) for name in expected)


@settings(max_examples=60)
@given(EVENTS.filter(bool), st.data())
def test_reading_from_an_offset_gives_the_rest(events: list[Event], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, events)
        whole = list(read_journal(path))
        after = data.draw(st.integers(0, len(whole) - 1))
        assert repr(list(read_journal(path, whole[after].end))) == repr(whole[after + 1 :])


@settings(max_examples=100)
@given(EVENTS, st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=6))
def test_any_damage_is_tolerated(events: list[Event], damage: list[tuple[int, int]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, events)
        content = bytearray(path.read_bytes())
        for place, byte in damage:
            if content:
                content[place % len(content)] = byte
        path.write_bytes(content)
        for item in read_journal(path):
            assert isinstance(item, JournalEvent | DamagedLine)


def test_every_float32_bit_pattern_of_a_sample_survives(tmp_path: Path) -> None:
    values = [struct.unpack("f", struct.pack("I", bits))[0] for bits in range(1, 2**32, 2**21 + 12345)]
    write(tmp_path / "j", [step(place, {"mmd": value}) for place, value in enumerate(values, 1)])
    found = [record.fields["mmd"] for record in read_journal(tmp_path / "j") if isinstance(record, JournalEvent)]
    assert all(same(value, other) for value, other in zip(values, found, strict=True))


def test_damage_in_the_middle_is_named_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [started(), *map(step, range(1, 6))])
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = b"\x00\xffgarbage\n"
    path.write_bytes(b"".join(lines))
    found = list(read_journal(path))
    damaged = [item for item in found if isinstance(item, DamagedLine)]
    assert [item.number for item in damaged] == [5]
    assert str(damaged[0]) == "line 5 cannot be read and was skipped: JSON is malformed: invalid character (byte 0)"
    assert [item.fields["iteration"] for item in found if isinstance(item, JournalEvent) and item.name == "step"] == [
        1,
        2,
        4,
        5,
    ]
    assert [item.number for item in read_journal(path, damaged[0].start) if isinstance(item, DamagedLine)] == [5]


def test_line_cut_off_before_a_new_attempt_is_not_damage(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [started(), step(1)])
    whole = path.read_bytes()
    path.write_bytes(whole + b"[2,0,nu\n" + whole)
    assert not [item for item in read_journal(path) if isinstance(item, DamagedLine)]
    write(path, [resumed(1)])
    path.write_bytes(path.read_bytes() + b"[2,0,nu\n")
    assert [item for item in read_journal(path) if isinstance(item, DamagedLine)]


def test_last_line_without_line_end_is_not_read_yet(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [step(1), evaluation(1)])
    whole = path.read_bytes()
    first, second = read_journal(path)
    for size in range(first.end, len(whole)):
        path.write_bytes(whole[:size])
        assert list(read_journal(path)) == [first]
    path.write_bytes(whole)
    assert list(read_journal(path, first.end)) == [second]


def test_missing_journal_has_no_events(tmp_path: Path) -> None:
    assert list(read_journal(tmp_path / "none")) == []


def test_oversized_line_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(reader, "CHUNK", 100)
    path = tmp_path / "journal.jsonl"
    write(path, [step(1)])
    path.write_bytes(path.read_bytes() + b"x" * 5000 + b"\n")
    with JournalWriter(path) as writer:
        writer.append(step(2))
    first, damaged, last = read_journal(path)
    assert isinstance(damaged, DamagedLine)
    assert (damaged.number, damaged.end - damaged.start) == (3, 5001)
    assert isinstance(last, JournalEvent)
    assert last.fields["iteration"] == 2
    assert isinstance(first, JournalEvent)
    assert list(read_journal(path, first.end)) == [damaged, last]


@pytest.mark.parametrize(
    "line",
    [
        *(b"[]", b"3", b"{}", b'{"event":3}', b'{"event":"columns"}', b'{"event":"columns","names":[1,2,3,4,5]}'),
        *(b"[1,2,3]", b'[1,0,null,"s",0,"text"]', b'["1",0,null,"s",0,1]', b'[1,"0",null,"s",0,1]'),
        *(b"[1,0,null,null,0,1]", b'"\xff"', b"[" * 100_000, b'{"event":"\xed\xa0\x80"}'),
    ],
)
def test_json_that_is_not_an_event_is_damage(tmp_path: Path, line: bytes) -> None:
    columns = msgspec.json.encode({"event": "columns", "names": [*FIXED_COLUMNS, "mmd"]})
    (tmp_path / "j").write_bytes(columns + b"\n" + line + b"\n")
    assert [type(item) for item in read_journal(tmp_path / "j")] == [DamagedLine]
