"""One run as it goes: where it stands, what it has said, and how it is saved and taken up again."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from core.config import RunConfig
from core.data.task_data import TaskData
from core.errors import DISK_FULL, InputError
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
from core.methods import find_method
from core.methods.algorithm import Algorithm, StageProblem, load_algorithm
from core.methods.registry import GAC
from core.metrics import is_reproducible
from core.training import checkpoint
from core.training.device_data import hash_labels, load_device_data
from core.training.evaluate import evaluate_classifier, label_accuracy, predict_logits
from core.training.metric_events import MetricQueue, is_finite
from core.training.plan import StagePlan, make_plan


@dataclass(frozen=True)
class Hooks:
    """What the run asks the world: where to save, whether to stop, what time it is."""

    checkpoint_dir: Path | None
    should_stop: Callable[[], bool]
    before_checkpoint: Callable[[], None]
    clock: Callable[[], float]


@dataclass
class RunProgress:
    """Where the run stands, as plain numbers: all that a checkpoint needs beside the networks."""

    iteration: int = 0
    """Iterations done."""
    announced: int = 0
    """The stage that was last announced."""
    evaluated: int = 0
    """The epoch that was last evaluated."""
    labelled: bool = False
    """Whether stage 1's labels were told."""
    seconds: float = 0.0


class Session:
    def __init__(
        self,
        config: RunConfig,
        data: TaskData,
        device: torch.device,
        pseudo_labels: Sequence[int] | None,
        around: Hooks,
    ) -> None:
        self.config = config
        self.hooks = around
        self.method = find_method(config.method)
        self.device = device
        self.data = load_device_data(config, data, self.device)
        self.plan = make_plan(config, self.method, len(self.data.source), len(self.data.target))
        labels = {stage.labels for stage in self.method.stages}
        if "true" in labels:
            self.data.true_labels(config.method)
        if pseudo_labels is not None and "pseudo" not in labels:
            raise InputError(f"pseudo_labels: {self.method.name} takes none")
        self.progress = RunProgress()
        self.pseudo_labels = None if pseudo_labels is None else self.data.given_labels(pseudo_labels)
        self.metrics = MetricQueue(self.device)
        self.algorithm: Algorithm | None = None
        self.last_evaluation: Evaluated | None = None
        self.ended = False
        self._began = around.clock()
        self._saved = self._began
        self._saved_path: str | None = None

    # -- beginning -----------------------------------------------------------------------------------------------

    def start(self) -> Iterator[Event]:
        self._enter(self.plan.stages[0])
        yield self._started()
        if self.pseudo_labels is not None:
            yield from self._skip_stage1()

    def _started(self) -> Started:
        assert self.algorithm is not None
        material, modules = self.data, self.algorithm.modules.values()
        return Started(
            method=self.method.name,
            task=self.config.task,
            seed=self.config.seed,
            device=str(self.device),
            classes=list(material.task_data.classes),
            shape=list(material.task_data.shape),
            source_size=len(material.source),
            target_size=len(material.target),
            test_size=len(material.target_test.y),
            parameters=sum(parameter.numel() for module in modules for parameter in module.parameters()),
            label_hash=material.label_hash,
            priors=material.priors.tolist(),
            stages=[spec.name for spec in self.method.stages],
            epochs_total=self.plan.epochs_total,
            iterations_total=self.plan.iterations_total,
            notes=list(material.task_data.notes),
        )

    def resume(self) -> Iterator[Event]:
        if self.hooks.checkpoint_dir is None:
            raise InputError("resume: there is no folder of checkpoints to go on from")
        state, notice = checkpoint.load_latest(self.hooks.checkpoint_dir, self.config)
        self.progress = RunProgress(**state["position"])
        self.metrics.restore(msgspec.json.decode(state["pending"], type=list[Stepped]))
        if state["label_hash"] != self.data.label_hash:
            raise InputError("resume: the data or its labels are not those of the checkpoint")
        if state["pseudo_labels"] is not None:
            self.pseudo_labels = state["pseudo_labels"].numpy()
        if state["last"] is not None:
            self.last_evaluation = msgspec.json.decode(state["last"], type=Evaluated)
        self._enter(self.plan.stages[state["stage"] - 1])
        assert self.algorithm is not None
        self.algorithm.load_state(state["algorithm"])
        self._began = self.hooks.clock() - self.progress.seconds
        self._saved = self.hooks.clock()
        yield Resumed(from_iteration=self.progress.iteration - len(self.metrics.pending), seconds=self.seconds)
        if notice:
            yield Noticed(iteration=self.progress.iteration, message=notice, seconds=self.seconds)
        yield from self._deliver()

    @property
    def seconds(self) -> float:
        return self.hooks.clock() - self._began

    @property
    def _bf16(self) -> bool:
        return self.config.precision == "bf16"

    @property
    def stage(self) -> StagePlan:
        assert self.algorithm is not None
        return self.algorithm.problem.stage_plan

    def _enter(self, stage: StagePlan) -> None:
        """Fresh networks for a stage; a checkpoint's state may be put in afterwards."""
        problem = StageProblem(
            config=self.config,
            stage_plan=stage,
            shape=self.data.task_data.shape,
            classes=self.data.classes,
            priors=self.data.priors,
            device=self.device,
        )
        self.algorithm = load_algorithm(stage.spec)(problem)
        self.metrics.restart_speed(self.seconds)

    # -- going on ------------------------------------------------------------------------------------------------

    def run(self) -> Iterator[Event]:
        """From where the run stands to its end."""
        while not self.ended:
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
            if self.ended:
                return
            last = stage.index == len(self.plan.stages)
            if not last or stage.spec == GAC:
                yield from self._label_source()
            if last:
                yield from self._finish()
            else:
                self._enter(self.plan.stages[stage.index])
                yield from self._checkpoint()

    def _train_stage(self, stage: StagePlan) -> Iterator[Event]:
        while True:
            done = self.progress.iteration - stage.iterations_before
            epoch, start = divmod(done, stage.iterations_per_epoch)
            if start == 0 and epoch > 0:
                yield from self._evaluate_if_due(stage, stage.epochs_before + epoch)
            if self.ended or epoch == stage.epochs:
                return
            yield from self._train_epoch(stage, epoch, start)
            if self.ended:
                return

    def _train_epoch(self, stage: StagePlan, epoch: int, start: int) -> Iterator[Event]:
        for batch in self.data.batches(stage, epoch, start, self._labels(stage)):
            if self.hooks.should_stop():
                yield from self._stop()
                return
            if self._checkpoint_due():
                yield from self._checkpoint()
                if self.ended:
                    return
            self._step(stage, batch)
            if self.metrics.is_due(self.seconds):
                yield from self._drain()
                if self.ended:
                    return
        yield from self._drain()

    def _step(self, stage: StagePlan, batch: Any) -> None:
        assert self.algorithm is not None
        iteration = self.progress.iteration + 1
        self.algorithm.set_rates(iteration)
        measured = self.algorithm.step(batch, stage.adaptation_step_of(iteration))
        self.metrics.add(stage, iteration, self.seconds, measured)
        self.progress.iteration = iteration

    def _labels(self, stage: StagePlan) -> torch.Tensor | None:
        match stage.spec.labels:
            case "complementary":
                return None
            case "true":
                return self.data.true_labels(self.method.name)
            case "pseudo":
                assert self.pseudo_labels is not None
                return torch.from_numpy(self.pseudo_labels).to(self.device)

    # -- metrics -------------------------------------------------------------------------------------------------

    def _drain(self) -> Iterator[Event]:
        self.metrics.fetch(self.stage, self.seconds)
        yield from self._deliver()

    def _deliver(self) -> Iterator[Event]:
        """Yield what waits, each once; a value that is not finite ends the run unless told otherwise."""
        for event in self.metrics.take_all():
            yield event
            if self.config.on_nan == "fail" and not is_finite(event):
                yield from self._fail(event)
                return

    def _fail(self, event: Stepped) -> Iterator[Event]:
        self.ended = True
        terms = {name: value for name, value in event.measured.items() if not math.isfinite(value)}
        named = ", ".join(f"{name} is {value}" for name, value in terms.items())
        yield Failed(
            iteration=event.iteration,
            message=f"iteration {event.iteration}: {named}; lower the rates, or set on_nan = continue",
            kind=FailureKind.NOT_FINITE,
            terms={name: value for name, value in event.measured.items() if is_reproducible(name)},
            checkpoint=self._saved_path,
            seconds=self.seconds,
        )

    # -- evaluation ----------------------------------------------------------------------------------------------

    def _evaluate_if_due(self, stage: StagePlan, epoch: int) -> Iterator[Event]:
        last = epoch == stage.epochs_before + stage.epochs
        if epoch > self.progress.evaluated and (last or epoch % self.config.evaluate_every == 0):
            self.last_evaluation = self._evaluate(stage, epoch)
            self.progress.evaluated = epoch
            yield self.last_evaluation

    def _evaluate(self, stage: StagePlan, epoch: int) -> Evaluated:
        assert self.algorithm is not None
        material = self.data
        found = evaluate_classifier(
            self.algorithm.classifier, material.source_test, material.target_test, material.priors, self._bf16
        )
        self.metrics.restart_speed(self.seconds)
        return Evaluated(
            iteration=self.progress.iteration,
            epoch=epoch,
            adaptation_epoch=stage.adaptation_epoch_of(epoch),
            stage=stage.spec.name,
            pseudo_label_accuracy=self._pseudo_label_accuracy(),
            seconds=self.seconds,
            **found,
        )

    # -- stage 1's labels ----------------------------------------------------------------------------------------

    def _label_source(self) -> Iterator[Event]:
        """Stage 1 ends: its classifier labels the source, for the next stage or, of GAC alone, for other runs."""
        assert self.algorithm is not None
        if not self.progress.labelled:
            logits = predict_logits(self.algorithm.classifier, self.data.source, self.device, self._bf16)
            self.pseudo_labels = logits.argmax(dim=1).cpu().numpy()
            self.progress.labelled = True
            yield self._labelled(self.pseudo_labels, given=False)

    def _skip_stage1(self) -> Iterator[Event]:
        """Labels were given: the run stands where stage 1 would have ended."""
        assert self.pseudo_labels is not None
        stage1 = self.plan.stages[0]
        self.progress = RunProgress(
            iteration=stage1.last_iteration, announced=1, evaluated=stage1.epochs, labelled=True
        )
        self._enter(self.plan.stages[1])
        yield self._labelled(self.pseudo_labels, given=True)

    def _labelled(self, labels: NDArray[np.int64], given: bool) -> PseudoLabelled:
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

    # -- saving and ending ---------------------------------------------------------------------------------------

    def _checkpoint_due(self) -> bool:
        minutes = (self.hooks.clock() - self._saved) / 60
        return self.hooks.checkpoint_dir is not None and minutes >= self.config.checkpoint_minutes

    def _checkpoint(self) -> Iterator[Event]:
        yield from self._drain()
        if self.ended:
            return
        at: dict[str, Any] = {"iteration": self.progress.iteration, "seconds": self.seconds}
        try:
            path = self.save()
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            self._saved = self.hooks.clock()  # the next one is due as always
            yield Noticed(message=f"there was no room for a checkpoint ({error.strerror}): make some", **at)
            return
        if path:
            yield Checkpointed(path=path.name, **at)

    def save(self) -> Path | None:
        """Write the whole state, unless there is nowhere to, nothing yet, or a value that is not finite."""
        folder, algorithm = self.hooks.checkpoint_dir, self.algorithm
        if folder is None or algorithm is None or self.ended:
            return None
        self.metrics.fetch(self.stage, self.seconds)
        state = algorithm.state()
        if not self.metrics.is_finite() or not has_finite_weights(state["modules"]):
            return None
        self.progress.seconds = self.seconds
        self.hooks.before_checkpoint()
        labels = None if self.pseudo_labels is None else torch.from_numpy(self.pseudo_labels)
        path = checkpoint.save(
            folder,
            self.config,
            {
                "position": msgspec.to_builtins(self.progress),
                "stage": self.stage.index,
                "algorithm": state,
                "pending": msgspec.json.encode(list(self.metrics.pending)).decode(),
                "label_hash": self.data.label_hash,
                "pseudo_labels": labels,
                "last": None if self.last_evaluation is None else msgspec.json.encode(self.last_evaluation).decode(),
            },
        )
        self._saved, self._saved_path = self.hooks.clock(), str(path)
        return path

    def _stop(self) -> Iterator[Event]:
        yield from self._checkpoint()
        if not self.ended:
            self.ended = True
            yield Stopped(iteration=self.progress.iteration, seconds=self.seconds)

    def _finish(self) -> Iterator[Event]:
        yield from self._checkpoint()
        if self.ended:
            return
        self.ended = True
        yield Finished(
            iteration=self.progress.iteration,
            epoch=self.plan.epochs_total,
            target_accuracy=self.last_evaluation.target_accuracy if self.last_evaluation else None,
            source_accuracy=self.last_evaluation.source_accuracy if self.last_evaluation else None,
            seconds=self.seconds,
        )


def has_finite_weights(modules: dict[str, Any]) -> bool:
    """Whether every weight is a finite number."""
    return all(
        bool(tensor.isfinite().all())
        for state in modules.values()
        for tensor in state.values()
        if tensor.is_floating_point()
    )
