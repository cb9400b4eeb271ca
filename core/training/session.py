"""A run from its start or checkpoint to its end, as a generator of events."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import DISK_FULL
from core.events import (
    Checkpointed,
    Evaluated,
    Event,
    Failed,
    FailureKind,
    Finished,
    Noticed,
    PseudoLabelled,
    Resumed,
    StageStarted,
    Started,
    Stepped,
    Stopped,
)
from core.methods import GAC
from core.methods.algorithm import Batch
from core.methods.plan import StagePlan
from core.metrics import is_reproducible
from core.models.weights_file import MODEL_FILE, epoch_file
from core.training.device_data import hash_labels
from core.training.evaluate import evaluate_classifier, label_accuracy, predict_logits
from core.training.metric_buffer import is_finite
from core.training.state import RunProgress, TrainingState


class Session(TrainingState):
    # -- start and resume ----------------------------------------------------------------------------------------

    def start(self) -> Iterator[Event]:
        self.enter_stage(self.plan.stages[0])
        yield self._make_started()
        if self.pseudo_labels is not None:
            yield from self._skip_stage1()

    def _make_started(self) -> Started:
        data, modules = self.data, self.algorithm.modules.values()
        return Started(
            method=self.method.name,
            task=self.config.task,
            seed=self.config.seed,
            device=str(self.device),
            classes=list(data.task_data.classes),
            shape=list(data.task_data.shape),
            source_size=len(data.source),
            target_size=len(data.target),
            test_size=len(data.target_test.y),
            parameters=sum(parameter.numel() for module in modules for parameter in module.parameters()),
            label_hash=data.label_hash,
            priors=data.priors.tolist(),
            stages=[spec.name for spec in self.method.stages],
            epochs_total=self.plan.epochs_total,
            iterations_total=self.plan.iterations_total,
            notes=list(data.task_data.notes),
        )

    def resume(self) -> Iterator[Event]:
        notice = self.restore()
        yield Resumed(from_iteration=self.progress.iteration - len(self.metrics.pending), seconds=self.seconds)
        if notice:
            yield Noticed(iteration=self.progress.iteration, message=notice, seconds=self.seconds)
        yield from self._yield_pending()

    # -- training ------------------------------------------------------------------------------------------------

    def run(self) -> Iterator[Event]:
        """Train from the current progress to the end."""
        while not self.has_ended:
            stage = self.stage
            if self.progress.announced < stage.index:
                self.progress.announced = stage.index
                yield StageStarted(
                    stage=stage.spec.name,
                    index=stage.index,
                    iteration=self.progress.iteration,
                    epoch=stage.epochs_before,
                    seconds=self.seconds,
                )
            yield from self._train_stage(stage)
            if self.has_ended:
                return
            is_last = stage.index == len(self.plan.stages)
            if not is_last or stage.spec == GAC:
                yield from self._label_source()
            if is_last:
                yield from self._finish()
            else:
                self._enter_next_stage()
                yield from self._checkpoint()

    def _enter_next_stage(self) -> None:
        following = self.plan.stages[self.stage.index]
        weights = self.algorithm.classifier.state_dict() if following.spec.continues else None
        self.enter_stage(following)
        if weights is not None:
            self.algorithm.load_classifier(weights)

    def _train_stage(self, stage: StagePlan) -> Iterator[Event]:
        while True:
            done = self.progress.iteration - stage.iterations_before
            epoch, start = divmod(done, stage.iterations_per_epoch)
            if start == 0 and epoch > 0:
                yield from self._evaluate_if_due(stage, stage.epochs_before + epoch)
            if self.has_ended or epoch == stage.epochs:
                return
            yield from self._train_epoch(stage, epoch, start)
            if self.has_ended:
                return

    def _train_epoch(self, stage: StagePlan, epoch: int, start: int) -> Iterator[Event]:
        for batch in self.data.batches(stage, epoch, start, self.stage_labels()):
            if self.hooks.should_stop():
                yield from self._stop()
                return
            if self.is_checkpoint_due():
                yield from self._checkpoint()
                if self.has_ended:
                    return
            self._step(stage, batch)
            if notice := self.runner.take_notice():
                yield Noticed(iteration=self.progress.iteration, message=notice, seconds=self.seconds)
            if self.metrics.is_due(self.seconds):
                yield from self._yield_metrics()
                if self.has_ended:
                    return
        yield from self._yield_metrics()

    def _step(self, stage: StagePlan, batch: Batch) -> None:
        iteration = self.progress.iteration + 1
        self.metrics.add(stage, iteration, self.seconds, self.runner.run(batch, iteration))
        self.progress.iteration = iteration

    def _yield_metrics(self) -> Iterator[Event]:
        self.metrics.fetch(self.stage)
        yield from self._yield_pending()

    def _yield_pending(self) -> Iterator[Event]:
        """Yield each pending event once; a value that is not finite ends the run unless on_nan is "continue"."""
        while self.metrics.pending:
            event = self.metrics.pending.popleft()
            yield event
            if self.config.on_nan == "fail" and not is_finite(event):
                yield from self._fail(event)
                return

    def _fail(self, event: Stepped) -> Iterator[Event]:
        self.has_ended = True
        values = ", ".join(f"{name} is {value}" for name, value in event.measured.items() if not math.isfinite(value))
        yield Failed(
            iteration=event.iteration,
            message=f"iteration {event.iteration}: {values}; lower the rates, or set on_nan = continue",
            kind=FailureKind.NOT_FINITE,
            terms={name: value for name, value in event.measured.items() if is_reproducible(name)},
            checkpoint=self.saved_path,
            seconds=self.seconds,
        )

    # -- evaluation and pseudo-labels ----------------------------------------------------------------------------

    def _evaluate_if_due(self, stage: StagePlan, epoch: int) -> Iterator[Event]:
        is_last = epoch == stage.epochs_before + stage.epochs
        if epoch > self.progress.evaluated and (is_last or epoch % self.config.evaluate_every == 0):
            data, classifier = self.data, self.algorithm.predictor
            values = evaluate_classifier(
                classifier,
                data.source_test,
                data.target_test,
                data.priors,
                self.uses_bf16,
                trained=stage.batch_size,
            )
            self.metrics.restart_speed(self.seconds)
            self.last_evaluation = Evaluated(
                iteration=self.progress.iteration,
                epoch=epoch,
                adaptation_epoch=stage.adaptation_epoch_of(epoch),
                stage=stage.spec.name,
                pseudo_label_accuracy=self._pseudo_label_accuracy(),
                seconds=self.seconds,
                **values,
            )
            self.progress.evaluated = epoch
            yield self.last_evaluation
            if self.config.checkpoints == "all":
                yield from self._save_epoch(epoch)

    def _label_source(self) -> Iterator[Event]:
        """Label the source with stage 1's classifier, for the next stage or, after GAC alone, for other runs."""
        if not self.progress.labelled:
            classifier, trained = self.algorithm.predictor, self.stage.batch_size
            logits = predict_logits(classifier, self.data.source, self.device, self.uses_bf16, trained=trained)
            wrong = self.data.weights > 0
            if not self.stage.spec.labels_exclude_ybar:  # where one class is left, it is the true label
                wrong &= wrong.sum(dim=1, keepdim=True) == self.data.classes - 1
            self.pseudo_labels = logits.masked_fill(wrong, -math.inf).argmax(dim=1).cpu().numpy()
            self.progress.labelled = True
            yield self._make_labelled(self.pseudo_labels, given=False)

    def _skip_stage1(self) -> Iterator[Event]:
        """Continue with the given labels where stage 1 would have ended."""
        assert self.pseudo_labels is not None
        stage1 = self.plan.stages[0]
        self.progress = RunProgress(
            iteration=stage1.last_iteration, announced=1, evaluated=stage1.epochs, labelled=True
        )
        self.enter_stage(self.plan.stages[1])
        yield self._make_labelled(self.pseudo_labels, given=True)

    def _make_labelled(self, labels: NDArray[np.int64], given: bool) -> PseudoLabelled:
        return PseudoLabelled(
            iteration=self.progress.iteration,
            label_hash=hash_labels(labels),
            accuracy=self._pseudo_label_accuracy(),
            given=given,
            labels=labels.tolist(),
            seconds=self.seconds,
        )

    def _pseudo_label_accuracy(self) -> float | None:
        if self.pseudo_labels is None:
            return None
        return label_accuracy(self.pseudo_labels, self.data.task_data.source_train.y)

    # -- checkpoint and end --------------------------------------------------------------------------------------

    def _checkpoint(self) -> Iterator[Event]:
        yield from self._yield_metrics()
        if self.has_ended:
            return
        position: dict[str, Any] = {"iteration": self.progress.iteration, "seconds": self.seconds}
        try:
            path = self.save()
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            self.saved_at = self.hooks.clock()  # try again after the usual interval
            yield Noticed(message=f"no disk space for a checkpoint ({error.strerror}): free some", **position)
            return
        if path:
            yield Checkpointed(path=path.name, **position)

    def _save_epoch(self, epoch: int) -> Iterator[Event]:
        try:
            self.save_model(epoch_file(epoch))
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            message = f"no disk space for the weights of epoch {epoch} ({error.strerror}): free some"
            yield Noticed(iteration=self.progress.iteration, seconds=self.seconds, message=message)

    def _stop(self) -> Iterator[Event]:
        yield from self._checkpoint()
        if not self.has_ended:
            self.has_ended = True
            yield Stopped(iteration=self.progress.iteration, seconds=self.seconds)

    def _finish(self) -> Iterator[Event]:
        yield from self._checkpoint()
        if self.has_ended:
            return
        self.has_ended = True
        position: dict[str, Any] = {"iteration": self.progress.iteration, "seconds": self.seconds}
        try:
            if not self.save_model(MODEL_FILE):
                yield Noticed(message="no model was saved: its weights are not finite", **position)
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            advice = "free some space and " + ("resume the run" if self.keeps_checkpoints else "start it again")
            message = f"the training is complete, but its weights could not be saved: {advice}"
            yield Failed(message=message, kind=FailureKind.DISK_FULL, checkpoint=self.saved_path, **position)
            return
        evaluation = self.last_evaluation
        yield Finished(
            iteration=self.progress.iteration,
            epoch=self.plan.epochs_total,
            target_accuracy=evaluation.target_accuracy if evaluation else None,
            source_accuracy=evaluation.source_accuracy if evaluation else None,
            seconds=self.seconds,
        )
