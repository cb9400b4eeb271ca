"""What a run says, in words for people."""

from clarinet_tui.text import printable
from core.events import (
    Alarmed,
    Evaluated,
    Event,
    Failed,
    Finished,
    Noticed,
    PseudoLabelled,
    Resumed,
    StageStarted,
    Started,
    Stepped,
    Stopped,
)
from core.metrics import shown_in


def describe_event(event: Event, iterations_total: int, run_id: str) -> str | None:
    """An event in words, which may quote anything and steer no terminal."""
    said = _said(event, iterations_total, run_id)
    return None if said is None else "\n".join(printable(line) for line in said.split("\n"))


def _said(event: Event, iterations_total: int, run_id: str) -> str | None:
    match event:
        case Started():
            made = "".join(f"\n  note: {note}" for note in event.notes)
            sizes = f"{event.source_size} source and {event.target_size} target images, {event.test_size} to test on"
            return f"run {run_id}: {event.method} on {event.task}, seed {event.seed}, {event.device}, {sizes}{made}"
        case Resumed():
            return f"run {run_id}: resumed from iteration {event.from_iteration}"
        case StageStarted():
            return f"stage {event.index}: {event.stage}"
        case Stepped():
            losses = ", ".join(
                f"{name.replace('_', ' ')} {event.measured[name]:.3f}"
                for name in shown_in("log")
                if name in event.measured
            )
            return f"iteration {event.iteration} of {iterations_total or '?'}, epoch {event.epoch}: {losses}"
        case Evaluated():
            return f"epoch {event.epoch}: {format_accuracies(event.target_accuracy, event.source_accuracy)}"
        case PseudoLabelled():
            right = "" if event.accuracy is None else f", {event.accuracy:.2f} % of them right"
            source = f" of run {event.origin}" if event.origin else " given" if event.given else ""
            return f"pseudo-labels {event.label_hash}{source}{right}"
        case Noticed():
            return event.message
        case Alarmed(over=True):
            return f"alarm {event.kind}: {event.message}"
        case Alarmed():
            return f"alarm {event.kind}: {event.message}; {event.advice}"
        case Stopped():
            return f"stopped at iteration {event.iteration}; go on with: clarinet resume {run_id}"
        case Failed():
            return f"failed: {event.message}" + "".join(f"\n  at {frame}" for frame in event.frames)
        case Finished():
            result = format_accuracies(event.target_accuracy, event.source_accuracy)
            return f"finished after {event.seconds:.0f} s: {result}"
    return None


def format_accuracies(target: float | None, source: float | None) -> str:
    known = [f"{name} {value:.2f} %" for name, value in (("target", target), ("source", source)) if value is not None]
    return ", ".join(known) or "no labels to measure with"
