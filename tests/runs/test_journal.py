"""Reading a journal: exactly what was written, with any damage."""

import math
import struct
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clarinet_tui.runs import journal
from clarinet_tui.runs.files import ContentError
from clarinet_tui.runs.journal import FIXED_COLUMNS, parse_line, read_first_event, read_last_event
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Event, Noticed, Stepped, flatten_event
from tests.support.events import evaluation, read_journal, started, step

FLOAT32 = st.floats(width=32, allow_nan=True, allow_infinity=True)
NAMES = st.sampled_from(["complementary_loss", "entropy", "lambda", 'odd "name"\n', "50%s", "größe"])
STEPS = st.builds(
    Stepped,
    iteration=st.integers(0, 2**40),
    epoch=st.integers(0, 10**6),
    adaptation_epoch=st.none() | st.integers(0, 10**6),
    stage=st.text(max_size=8),
    seconds=st.floats(0, 1e6, width=32),
    metrics=st.dictionaries(NAMES, FLOAT32, max_size=5),
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
        found = read_journal(path)
    for event, fields in zip(events, found, strict=True):
        expected = flatten_event(event) | ({} if isinstance(event, Stepped) else {"time": 7.0})
        fields.pop("attempt", None)  # of the first event that is not an iteration
        assert fields.keys() == expected.keys()
        assert all(same(expected[name], fields[name]) for name in expected)


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
        assert all("event" in fields for fields in read_journal(path))
        read_last_event(path)
        read_first_event(path)


def test_every_float32_bit_pattern_of_a_sample_survives(tmp_path: Path) -> None:
    values = [struct.unpack("f", struct.pack("I", bits))[0] for bits in range(1, 2**32, 2**21 + 12345)]
    write(tmp_path / "j", [step(place, {"mmd": value}) for place, value in enumerate(values, 1)])
    found = [fields["mmd"] for fields in read_journal(tmp_path / "j")]
    assert all(same(value, other) for value, other in zip(values, found, strict=True))


def test_first_and_last_event(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert (read_first_event(path), read_last_event(path)) == (None, None)
    write(path, [started(), step(1), evaluation(1)])
    whole = path.read_bytes()
    assert [(read(path) or {})["event"] for read in (read_first_event, read_last_event)] == ["started", "evaluation"]
    path.write_bytes(whole[:-1])
    assert read_last_event(path) is None, "a line without a line end is not read yet, and the one before is no event"
    path.write_bytes(b"{torn\n" + whole)
    assert read_first_event(path) is None


def test_oversized_line_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(journal, "CHUNK", 100)
    path = tmp_path / "journal.jsonl"
    lines = (b"one\n", b"x" * 5000 + b"\n", b"two\n")
    path.write_bytes(b"".join(lines) + b"no end")
    with path.open("rb") as file:
        assert list(journal.read_lines(file)) == [(0, 4, b"one"), (4, 5005, None), (5005, 5009, b"two")]
        assert list(journal.read_lines(file, 5005)) == [(5005, 5009, b"two")]


@pytest.mark.parametrize(
    "line",
    [
        *(b"[]", b"3", b"{}", b'{"event":3}', b'{"event":"columns"}', b'{"event":"columns","names":[1,2,3,4,5]}'),
        *(b"[1,2,3]", b'[1,0,null,"s",0,"text"]', b'["1",0,null,"s",0,1]', b'[1,"0",null,"s",0,1]'),
        *(b"[1,0,null,null,0,1]", b'"\xff"', b"[" * 100_000, b'{"event":"\xed\xa0\x80"}'),
    ],
)
def test_json_that_is_not_an_event_is_damage(line: bytes) -> None:
    with pytest.raises(ContentError):
        parse_line(line, [*FIXED_COLUMNS, "mmd"])
