"""Watch the events of a run and raise alarms, without any input or output."""

from collections.abc import Sequence
from dataclasses import dataclass

from clarinet_tui.worker import alarm_rules as rules
from core.events import Alarmed, Evaluated, Event, Resumed, StageStarted, Started, Stepped


@dataclass(frozen=True)
class AlarmKind:
    """What an alarm means, and what to try."""

    meaning: str
    advice: str


ALARM_KINDS = {
    "not-finite": AlarmKind(
        "the weights cannot be used any more",
        "lower classifier_rate and discriminator_rate (in stage 1 stage1.rate), and start again",
    ),
    "collapse": AlarmKind(
        "the classes of the target are no longer distinguished",
        "lower classifier_rate, lengthen warmup_epochs or lambda_horizon, or give more labels (ybars_per_sample)",
    ),
    "overconfident": AlarmKind(
        "confidence on the target rises while accuracy on the source falls",
        "raise lambda_horizon or lower discriminator_rate, which weakens the adaptation",
    ),
    "discriminator-blind": AlarmKind(
        "its output is the same for every image, so that there is no adaptation",
        "raise discriminator_rate, or lower classifier_rate if the features are constant",
    ),
    "discriminator-unbeaten": AlarmKind(
        "it separates the domains perfectly, so that its gradient vanishes and there is no adaptation",
        "lower discriminator_rate, raise classifier_rate, or shorten lambda_horizon",
    ),
    "ascent": AlarmKind(
        "some class loss is always negative, so that each step undoes learning",
        "enlarge batch_size or ybars_per_sample, lower classifier_rate, or try complementary_loss=non-negative",
    ),
    "no-progress": AlarmKind(
        "the training has no effect",
        "change classifier_rate (in stage 1 stage1.rate) by a factor of ten, and check the data and its labels",
    ),
}
NO_ALARMS: Sequence[Alarmed] = ()


class AlarmMonitor:
    """Observe every event of one attempt. A new stage has new networks, so it ends all open alarms."""

    def __init__(self, iterations_total: int = 0) -> None:
        self._total = iterations_total
        """Iterations of the whole run, if known: a longer run may start more slowly."""
        self._stage = rules.Stage(patience=self._patience())
        self._window = rules.Window()
        self._first: rules.Window | None = None
        """The first iterations of a stage that started in this attempt."""
        self._open: set[str] = set()

    def observe(self, event: Event) -> Sequence[Alarmed]:
        """Return the alarms that start or end with this event."""
        match event:
            case Stepped():
                return self._step(event)
            case Evaluated():
                collapsed, overconfident = rules.collapse(event, self._stage), rules.overconfident(event, self._stage)
                return self._update(event, {"collapse": collapsed, "overconfident": overconfident})
            case Started():
                self._total = event.iterations_total
            case StageStarted():
                self._stage = rules.Stage(start=event.iteration, patience=self._patience())
                self._window, self._first = rules.Window(), rules.Window()
                return self._update(event, dict.fromkeys(ALARM_KINDS, ""))
            case Resumed():
                self._stage.start = event.from_iteration
        return NO_ALARMS

    def _step(self, event: Stepped) -> Sequence[Alarmed]:
        measured, window = event.measured, self._window
        if self._first is not None:
            self._first.add(measured)
            if self._first.count == rules.FIRST:
                self._stage.first_loss, self._first = self._first.mean_loss(), None
        total = sum(measured.values())
        if total - total != 0.0:  # a metric is not finite
            self._window = rules.Window()
            return self._update(event, {"not-finite": rules.not_finite(measured) or None})
        window.add(measured)
        if window.count < rules.WINDOW:
            return NO_ALARMS
        self._window = rules.Window()
        results = {
            "not-finite": "",
            "ascent": rules.ascent(window),
            "discriminator-blind": rules.blind(window),
            "discriminator-unbeaten": rules.unbeaten(window),
            "no-progress": rules.no_progress(window, self._stage, event.iteration),
        }
        return self._update(event, results)

    def _patience(self) -> int:
        return max(rules.PATIENCE, int(rules.PATIENCE_SHARE * self._total))

    def _update(
        self, event: Stepped | Evaluated | StageStarted, results: dict[str, rules.RuleResult]
    ) -> Sequence[Alarmed]:
        """Return the alarms whose state the results change."""
        alarms = []
        for name, result in results.items():
            if result is None or bool(result) == (name in self._open):
                continue
            self._open ^= {name}
            over = not result
            alarms.append(
                Alarmed(
                    kind=name,
                    message="is over" if over else f"{result}: {ALARM_KINDS[name].meaning}",
                    advice="" if over else ALARM_KINDS[name].advice,
                    iteration=event.iteration,
                    over=over,
                    seconds=event.seconds,
                )
            )
        return alarms
