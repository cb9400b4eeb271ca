"""Describe events as text."""

from pathlib import Path

from clarinet_tui.text import printable, shell_command
from core import events
from core.metrics import shown_in


def describe_event(
    event: events.Event, iterations_total: int, run_id: str, runs_dir: Path | str = "runs"
) -> str | None:
    """Return an event as printable lines of text; None for events that are not shown."""
    text = _describe(event, iterations_total, run_id, runs_dir)
    return None if text is None else "\n".join(printable(line) for line in text.split("\n"))


def _describe(event: events.Event, iterations_total: int, run_id: str, runs_dir: Path | str) -> str | None:
    match event:
        case events.Started():
            notes = "".join(f"\n  note: {note}" for note in event.notes)
            sizes = f"{event.source_size} source, {event.target_size} target and {event.test_size} test images"
            return f"run {run_id}: {event.method} on {event.task}, seed {event.seed}, {event.device}, {sizes}{notes}"
        case events.Resumed():
            return f"run {run_id}: resumed from iteration {event.from_iteration}"
        case events.StageStarted():
            return f"stage {event.index}: {event.stage}"
        case events.Stepped():
            names = [name for name in shown_in("log") if name in event.metrics]
            losses = ", ".join(f"{name.replace('_', ' ')} {event.metrics[name]:.3f}" for name in names)
            return f"iteration {event.iteration} of {iterations_total or '?'}, epoch {event.epoch}: {losses}"
        case events.Evaluated():
            result = format_accuracies(event.target_accuracy, event.source_accuracy)
            # These select an epoch if the target has no labels.
            scores = {"information": event.target_information, "complementary risk": event.complementary_risk}
            known = [f", {name} {value:.3f}" for name, value in scores.items() if value is not None]
            return f"epoch {event.epoch}: {result}{''.join(known) if event.target_accuracy is None else ''}"
        case events.PseudoLabelled():
            accuracy = "" if event.accuracy is None else f", accuracy {event.accuracy:.2f} %"
            source = f" of run {event.origin}" if event.origin else " given" if event.given else ""
            return f"pseudo-labels {event.label_hash}{source}{accuracy}"
        case events.Noticed():
            return event.message
        case events.Alarmed(over=True):
            return f"alarm {event.kind}: {event.message}"
        case events.Alarmed():
            return f"alarm {event.kind}: {event.message}; {event.advice}"
        case events.Stopped():
            resume = shell_command("clarinet", "resume", run_id, runs_dir=runs_dir)
            return f"stopped at iteration {event.iteration}; resume with: {resume}"
        case events.Failed():
            return f"failed: {event.message}" + "".join(f"\n  at {frame}" for frame in event.frames)
        case events.Finished():
            result = format_accuracies(event.target_accuracy, event.source_accuracy)
            return f"finished after {event.seconds:.0f} s: {result}"
    return None


def format_accuracies(target: float | None, source: float | None) -> str:
    accuracies = {"target": target, "source": source}
    measured = (f"{domain} {value:.2f} %" for domain, value in accuracies.items() if value is not None)
    return ", ".join(measured) or "no labels to evaluate with"
