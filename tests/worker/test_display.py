"""The output of a worker: JSON lines, plain lines and the log of a queued one."""

import io
import json
import shlex
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from clarinet_tui.logs.event_text import describe_event
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.worker_log import TimestampedStream
from clarinet_tui.worker.display import JsonLines, LogDisplay, PlainLines, choose_display
from core.events import Evaluated, Failed, Finished, Noticed, Stepped, Stopped
from tests.support.events import resumed

RUN = RunDirectory(Path("runs"), "abc")


def stepped(iteration: int, loss: float = 0.5) -> Stepped:
    return Stepped(
        iteration=iteration, epoch=1, adaptation_epoch=None, stage="gac", metrics={"complementary_loss": loss}
    )


def test_json_lines_have_non_finite_numbers_as_text() -> None:
    out = io.StringIO()
    display = JsonLines(out, "abc")
    display.show(stepped(1, float("nan")))
    display.show(stepped(2, float("-inf")))
    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    assert (first["id"], first["complementary_loss"]) == ("abc", "nan")
    assert second["complementary_loss"] == "-inf"
    assert "id" not in second


def test_plain_lines_are_limited_and_have_the_number_of_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    out, now = io.StringIO(), [0.0]
    display = PlainLines(out, RUN, 0, clock=lambda: now[0])
    for iteration in range(1, 101):
        now[0] += 0.5
        display.show(stepped(iteration))
    assert len(out.getvalue().splitlines()) == 5
    monkeypatch.setattr(sys, "stdout", out)
    resuming = choose_display(RUN, 640)
    resuming.show(resumed(148))
    resuming.show(stepped(149))
    assert out.getvalue().splitlines()[-1].startswith("iteration 149 of 640, ")


def test_quoted_text_is_escaped() -> None:
    for text in ("\x1b[31mred\x07", "\x9b2J", "a\rb", "\u202egnp.exe"):
        for event in (Noticed(iteration=1, message=text), Failed(iteration=1, message=text)):
            line = describe_event(event, 0, "abc")
            assert line is not None
            assert line.isprintable()


def test_unknown_accuracies_are_omitted() -> None:
    finished = Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None, seconds=3)
    assert describe_event(finished, 1, "abc") == "finished after 3 s: no labels to evaluate with"
    evaluated = Evaluated(
        iteration=1, epoch=2, adaptation_epoch=1, stage="gac", target_accuracy=81.234, source_accuracy=None
    )
    assert describe_event(evaluated, 1, "abc") == "epoch 2: target 81.23 %"
    unlabelled = replace(evaluated, target_accuracy=None, target_information=0.25)
    assert describe_event(unlabelled, 1, "abc") == "epoch 2: no labels to evaluate with, information 0.250"


def test_printed_command_can_be_pasted_and_has_the_runs_directory() -> None:
    assert describe_event(Stopped(iteration=7), 9, "abc") == "stopped at iteration 7; resume with: clarinet resume abc"
    text = describe_event(Stopped(iteration=7), 9, "abc", "my $runs") or ""
    command = text.partition("resume with: ")[2]
    assert shlex.split(command) == ["clarinet", "resume", "abc", "--runs-dir", "my $runs"]


def test_log_of_a_queued_worker_has_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    display = choose_display(RUN, 0, queued=True)
    assert type(display) is LogDisplay
    for done in range(3):
        display.show_preparation("Reading MNIST", done, 2)
    display.show(Stopped(iteration=1))
    display.notice("history: locked")
    assert out.getvalue() == "Reading MNIST\nhistory: locked\n"


def test_timestamped_stream() -> None:
    out = io.StringIO()
    stream = TimestampedStream(out, now=lambda: 1.5)
    print("two\nlines", file=stream)
    stream.write("no end")
    stream.write(" yet\n")
    time = "1970-01-01T00:00:01.500Z"
    assert out.getvalue() == f"{time} two\n{time} lines\n{time} no end yet\n"
