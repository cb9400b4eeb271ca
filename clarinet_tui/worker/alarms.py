"""Alarms: the worker tells what its run says, and hears what to warn of. Nothing here waits, reads or writes."""

from collections.abc import Sequence
from dataclasses import dataclass

from clarinet_tui.worker import alarm_rules as rules
from core.events import Alarmed, Evaluated, Event, Resumed, StageStarted, Started, Stepped


@dataclass(frozen=True)
class Kind:
    """What a kind of trouble means, and what to try."""

    meaning: str
    advice: str


KINDS = {
    "not-finite": Kind(
        "the weights are of no use from here on",
        "lower classifier_rate and discriminator_rate (in stage 1 stage1.rate), and begin again",
    ),
    "collapse": Kind(
        "the classes of the target are no longer told apart",
        "lower classifier_rate, lengthen warmup_epochs or lambda_horizon, or give more labels (ybars_per_sample)",
    ),
    "overconfident": Kind(
        "the classifier grows sure of the target while it forgets the source",
        "raise lambda_horizon or lower discriminator_rate, so that the adaptation pulls less",
    ),
    "discriminator-blind": Kind(
        "it says the same of every image, so that nothing adapts",
        "raise discriminator_rate, or lower classifier_rate if the features have died",
    ),
    "discriminator-unbeaten": Kind(
        "it tells the domains apart without fail, so that its gradient vanishes and nothing adapts",
        "lower discriminator_rate, raise classifier_rate, or shorten lambda_horizon",
    ),
    "ascent": Kind(
        "some class loss is always below zero, so that the batch undoes what it should teach",
        "enlarge batch_size or ybars_per_sample, lower classifier_rate, or try complementary_loss=non-negative",
    ),
    "no-progress": Kind(
        "nothing is learned",
        "change classifier_rate (in stage 1 stage1.rate) by a factor of ten, and look at the data and its labels",
    ),
}
NOTHING: Sequence[Alarmed] = ()


class Watch:
    """Hears every event of one sitting. A new stage has new networks: what was wrong with the old ones is over."""

    def __init__(self, iterations_total: int = 0) -> None:
        self._total = iterations_total
        """Of the whole run, as far as it is known: a longer one begins more slowly."""
        self._stage = rules.Stage(patience=self._patience())
        self._window = rules.Window()
        self._first: rules.Window | None = None
        """The first iterations of a stage whose beginning we have seen."""
        self._open: set[str] = set()

    def hear(self, event: Event) -> Sequence[Alarmed]:
        """What is to be said about it; nearly always nothing."""
        match event:
            case Stepped():
                return self._step(event)
            case Evaluated():
                collapsed, overconfident = rules.collapse(event, self._stage), rules.overconfident(event, self._stage)
                return self._judged(event, {"collapse": collapsed, "overconfident": overconfident})
            case Started():
                self._total = event.iterations_total
            case StageStarted():
                return self._new_stage(event)
            case Resumed():
                self._stage.began = event.from_iteration
        return NOTHING

    def _step(self, event: Stepped) -> Sequence[Alarmed]:
        measured, window = event.measured, self._window
        if self._first is not None:
            self._begin(self._first, measured)
        total = sum(measured.values())
        if total - total != 0.0:  # one of them is not finite
            self._window = rules.Window()
            return self._judged(event, {"not-finite": rules.not_finite(measured) or None})
        window.add(measured)
        if window.count < rules.WINDOW:
            return NOTHING
        self._window = rules.Window()
        judgements = {
            "not-finite": "",
            "ascent": rules.ascent(window),
            "discriminator-blind": rules.blind(window),
            "discriminator-unbeaten": rules.unbeaten(window),
            "no-progress": rules.no_progress(window, self._stage, event.iteration),
        }
        return self._judged(event, judgements)

    def _begin(self, first: rules.Window, measured: dict[str, float]) -> None:
        first.add(measured)
        if first.count == rules.FIRST:
            self._stage.first_loss, self._first = first.mean_loss(), None

    def _new_stage(self, event: StageStarted) -> Sequence[Alarmed]:
        self._stage = rules.Stage(began=event.iteration, patience=self._patience())
        self._window, self._first = rules.Window(), rules.Window()
        return self._judged(event, dict.fromkeys(KINDS, ""))

    def _patience(self) -> int:
        return max(rules.PATIENCE, int(rules.SHARE * self._total))

    def _judged(
        self, event: Stepped | Evaluated | StageStarted, judgements: dict[str, rules.Judgement]
    ) -> Sequence[Alarmed]:
        """Those that begin or end with this event."""
        said = []
        for name, judgement in judgements.items():
            if judgement is None or bool(judgement) == (name in self._open):
                continue
            self._open ^= {name}
            over = not judgement
            said.append(
                Alarmed(
                    kind=name,
                    message="is over" if over else f"{judgement}: {KINDS[name].meaning}",
                    advice="" if over else KINDS[name].advice,
                    iteration=event.iteration,
                    over=over,
                    seconds=event.seconds,
                )
            )
        return said
