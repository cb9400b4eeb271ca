"""What a run looks like where it was started."""

import io
import json

from clarinet_tui.logs.event_text import sentence
from clarinet_tui.worker.display import JsonLines, PlainLines
from core.events import Evaluated, Failed, Finished, Noticed, Stepped, Stopped


def stepped(iteration: int, loss: float = 0.5) -> Stepped:
    return Stepped(
        iteration=iteration, epoch=1, adaptation_epoch=None, stage="gac", measured={"complementary_loss": loss}
    )


def test_json_lines_hold_what_json_does_not_have_as_text() -> None:
    out = io.StringIO()
    display = JsonLines(out, "abc")
    display.show(stepped(1, float("nan")))
    display.show(stepped(2, float("-inf")))
    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    assert (first["id"], first["complementary_loss"]) == ("abc", "nan")
    assert second["complementary_loss"] == "-inf"
    assert "id" not in second


def test_plain_lines_are_few_between_evaluations() -> None:
    out, now = io.StringIO(), [0.0]
    display = PlainLines(out, "abc", clock=lambda: now[0], every=10.0)
    for iteration in range(1, 101):
        now[0] += 0.5
        display.show(stepped(iteration))
    assert len(out.getvalue().splitlines()) == 5


def test_what_is_quoted_steers_no_terminal() -> None:
    for text in ("\x1b[31mred\x07", "\x9b2J", "a\rb", "\u202egnp.exe"):
        for event in (Noticed(iteration=1, message=text), Failed(iteration=1, message=text)):
            said = sentence(event, 0, "abc")
            assert said is not None
            assert said.isprintable()


def test_accuracies_that_cannot_be_known_are_left_out() -> None:
    finished = Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None, seconds=3)
    assert sentence(finished, 1, "abc") == "finished after 3 s: no labels to measure with"
    evaluated = Evaluated(
        iteration=1, epoch=2, adaptation_epoch=1, stage="gac", target_accuracy=81.234, source_accuracy=None
    )
    assert sentence(evaluated, 1, "abc") == "epoch 2: target 81.23 %"
    assert sentence(Stopped(iteration=7), 9, "abc") == ("stopped at iteration 7; go on with: clarinet resume abc")


def test_a_closed_pipe_is_no_reason_to_end() -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    display = PlainLines(Closed(), "abc")
    display.show(Stopped(iteration=1))
    display.show(Stopped(iteration=2))
