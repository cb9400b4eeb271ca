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
from core.methods.algorithm import Algorithm, Problem, load_algorithm
from core.methods.registry import GAC
from core.metrics import is_reproducible
from core.training import checkpoint
from core.training.device_data import gather, hash_labels
from core.training.evaluate import agreement, evaluate_classifier, logits_of
from core.training.metric_events import Meter, finite
from core.training.plan import StagePlan, make_plan


@dataclass(frozen=True)
class Surroundings:
    """What the run asks the world: where to save, whether to stop, what time it is."""

    checkpoint_dir: Path | None
    should_stop: Callable[[], bool]
    before_checkpoint: Callable[[], None]
    clock: Callable[[], float]


@dataclass
class Position:
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
        around: Surroundings,
    ) -> None:
        self.config = config
        self.around = around
        self.method = find_method(config.method)
        self.device = device
        self.material = gather(config, data, self.device)
        self.plan = make_plan(config, self.method, len(self.material.source), len(self.material.target))
        labels = {stage.labels for stage in self.method.stages}
        if "true" in labels:
            self.material.true_labels(config.method)
        if pseudo_labels is not None and "pseudo" not in labels:
            raise InputError(f"pseudo_labels: {self.method.name} takes none")
        self.position = Position()
        self.pseudo_labels = None if pseudo_labels is None else self.material.given_labels(pseudo_labels)
        self.meter = Meter(self.device)
        self.algorithm: Algorithm | None = None
        self.last: Evaluated | None = None
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
        material, modules = self.material, self.algorithm.modules.values()
        return Started(
            method=self.method.name,
            task=self.config.task,
            seed=self.config.seed,
            device=str(self.device),
            classes=list(material.data.classes),
            shape=list(material.data.shape),
            source_size=len(material.source),
            target_size=len(material.target),
            test_size=len(material.target_test.y),
            parameters=sum(parameter.numel() for module in modules for parameter in module.parameters()),
            label_hash=material.label_hash,
            priors=material.priors.tolist(),
            stages=[spec.name for spec in self.method.stages],
            epochs_total=self.plan.epochs_total,
            iterations_total=self.plan.iterations_total,
            notes=list(material.data.notes),
        )

    def resume(self) -> Iterator[Event]:
        if self.around.checkpoint_dir is None:
            raise InputError("resume: there is no folder of checkpoints to go on from")
        state, notice = checkpoint.load_latest(self.around.checkpoint_dir, self.config)
        self.position = Position(**state["position"])
        self.meter.restore(msgspec.json.decode(state["pending"], type=list[Stepped]))
        if state["label_hash"] != self.material.label_hash:
            raise InputError("resume: the data or its labels are not those of the checkpoint")
        if state["pseudo_labels"] is not None:
            self.pseudo_labels = state["pseudo_labels"].numpy()
        if state["last"] is not None:
            self.last = msgspec.json.decode(state["last"], type=Evaluated)
        self._enter(self.plan.stages[state["stage"] - 1])
        assert self.algorithm is not None
        self.algorithm.load_state(state["algorithm"])
        self._began = self.around.clock() - self.position.seconds
        self._saved = self.around.clock()
        yield Resumed(from_iteration=self.position.iteration - len(self.meter.pending), seconds=self.seconds)
        if notice:
            yield Noticed(iteration=self.position.iteration, message=notice, seconds=self.seconds)
        yield from self._deliver()

    @property
    def seconds(self) -> float:
        return self.around.clock() - self._began

    @property
    def _bf16(self) -> bool:
        return self.config.precision == "bf16"

    @property
    def stage(self) -> StagePlan:
        assert self.algorithm is not None
        return self.algorithm.problem.stage_plan

    def _enter(self, stage: StagePlan) -> None:
        """Fresh networks for a stage; a checkpoint's state may be put in afterwards."""
        problem = Problem(
            config=self.config,
            stage_plan=stage,
            shape=self.material.data.shape,
            classes=self.material.classes,
            priors=self.material.priors,
            device=self.device,
        )
        self.algorithm = load_algorithm(stage.spec)(problem)
        self.meter.begin_block(self.seconds)

    # -- going on ------------------------------------------------------------------------------------------------

    def run(self) -> Iterator[Event]:
        """From where the run stands to its end."""
        while not self.ended:
            stage = self.stage
            if self.position.announced < stage.index:
                self.position.announced = stage.index
                yield StageStarted(
                    stage=stage.spec.name,
                    index=stage.index,
                    iteration=self.position.iteration,
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
            done = self.position.iteration - stage.iterations_before
            epoch, start = divmod(done, stage.iterations_per_epoch)
            if start == 0 and epoch > 0:
                yield from self._evaluate_if_due(stage, stage.epochs_before + epoch)
            if self.ended or epoch == stage.epochs:
                return
            yield from self._train_epoch(stage, epoch, start)
            if self.ended:
                return

    def _train_epoch(self, stage: StagePlan, epoch: int, start: int) -> Iterator[Event]:
        for batch in self.material.batches(stage, epoch, start, self._labels(stage)):
            if self.around.should_stop():
                yield from self._stop()
                return
            if self._checkpoint_due():
                yield from self._checkpoint()
                if self.ended:
                    return
            self._step(stage, batch)
            if self.meter.due(self.seconds):
                yield from self._drain()
                if self.ended:
                    return
        yield from self._drain()

    def _step(self, stage: StagePlan, batch: Any) -> None:
        assert self.algorithm is not None
        iteration = self.position.iteration + 1
        self.algorithm.set_rates(iteration)
        measured = self.algorithm.step(batch, stage.adaptation_step_of(iteration))
        self.meter.take(stage, iteration, self.seconds, measured)
        self.position.iteration = iteration

    def _labels(self, stage: StagePlan) -> torch.Tensor | None:
        match stage.spec.labels:
            case "complementary":
                return None
            case "true":
                return self.material.true_labels(self.method.name)
            case "pseudo":
                assert self.pseudo_labels is not None
                return torch.from_numpy(self.pseudo_labels).to(self.device)

    # -- metrics -------------------------------------------------------------------------------------------------

    def _drain(self) -> Iterator[Event]:
        self.meter.collect(self.stage, self.seconds)
        yield from self._deliver()

    def _deliver(self) -> Iterator[Event]:
        """Yield what waits, each once; a value that is not finite ends the run unless told otherwise."""
        for event in self.meter.deliver():
            yield event
            if self.config.on_nan == "fail" and not finite(event):
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
        if epoch > self.position.evaluated and (last or epoch % self.config.evaluate_every == 0):
            self.last = self._evaluate(stage, epoch)
            self.position.evaluated = epoch
            yield self.last

    def _evaluate(self, stage: StagePlan, epoch: int) -> Evaluated:
        assert self.algorithm is not None
        material = self.material
        found = evaluate_classifier(
            self.algorithm.classifier, material.source_test, material.target_test, material.priors, self._bf16
        )
        self.meter.begin_block(self.seconds)
        return Evaluated(
            iteration=self.position.iteration,
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
        if not self.position.labelled:
            logits = logits_of(self.algorithm.classifier, self.material.source, self.device, self._bf16)
            self.pseudo_labels = logits.argmax(dim=1).cpu().numpy()
            self.position.labelled = True
            yield self._labelled(self.pseudo_labels, given=False)

    def _skip_stage1(self) -> Iterator[Event]:
        """Labels were given: the run stands where stage 1 would have ended."""
        assert self.pseudo_labels is not None
        stage1 = self.plan.stages[0]
        self.position = Position(iteration=stage1.last_iteration, announced=1, evaluated=stage1.epochs, labelled=True)
        self._enter(self.plan.stages[1])
        yield self._labelled(self.pseudo_labels, given=True)

    def _labelled(self, labels: NDArray[np.int64], given: bool) -> PseudoLabelled:
        return PseudoLabelled(
            iteration=self.position.iteration,
            label_hash=hash_labels(labels),
            accuracy=self._pseudo_label_accuracy(),
            given=given,
            labels=labels.tolist(),
            seconds=self.seconds,
        )

    def _pseudo_label_accuracy(self) -> float | None:
        if self.pseudo_labels is None:
            return None
        return agreement(self.pseudo_labels, self.material.data.source_train.y)

    # -- saving and ending ---------------------------------------------------------------------------------------

    def _checkpoint_due(self) -> bool:
        minutes = (self.around.clock() - self._saved) / 60
        return self.around.checkpoint_dir is not None and minutes >= self.config.checkpoint_minutes

    def _checkpoint(self) -> Iterator[Event]:
        yield from self._drain()
        if self.ended:
            return
        at: dict[str, Any] = {"iteration": self.position.iteration, "seconds": self.seconds}
        try:
            path = self.save()
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            self._saved = self.around.clock()  # the next one is due as always
            yield Noticed(message=f"there was no room for a checkpoint ({error.strerror}): make some", **at)
            return
        if path:
            yield Checkpointed(path=path.name, **at)

    def save(self) -> Path | None:
        """Write the whole state, unless there is nowhere to, nothing yet, or a value that is not finite."""
        folder, algorithm = self.around.checkpoint_dir, self.algorithm
        if folder is None or algorithm is None or self.ended:
            return None
        self.meter.collect(self.stage, self.seconds)
        state = algorithm.state()
        if not self.meter.finite() or not finite_state(state["modules"]):
            return None
        self.position.seconds = self.seconds
        self.around.before_checkpoint()
        labels = None if self.pseudo_labels is None else torch.from_numpy(self.pseudo_labels)
        path = checkpoint.save(
            folder,
            self.config,
            {
                "position": msgspec.to_builtins(self.position),
                "stage": self.stage.index,
                "algorithm": state,
                "pending": msgspec.json.encode(list(self.meter.pending)).decode(),
                "label_hash": self.material.label_hash,
                "pseudo_labels": labels,
                "last": None if self.last is None else msgspec.json.encode(self.last).decode(),
            },
        )
        self._saved, self._saved_path = self.around.clock(), str(path)
        return path

    def _stop(self) -> Iterator[Event]:
        yield from self._checkpoint()
        if not self.ended:
            self.ended = True
            yield Stopped(iteration=self.position.iteration, seconds=self.seconds)

    def _finish(self) -> Iterator[Event]:
        yield from self._checkpoint()
        if self.ended:
            return
        self.ended = True
        yield Finished(
            iteration=self.position.iteration,
            epoch=self.plan.epochs_total,
            target_accuracy=self.last.target_accuracy if self.last else None,
            source_accuracy=self.last.source_accuracy if self.last else None,
            seconds=self.seconds,
        )


def finite_state(modules: dict[str, Any]) -> bool:
    """Whether every weight is a finite number."""
    return all(
        bool(tensor.isfinite().all())
        for state in modules.values()
        for tensor in state.values()
        if tensor.is_floating_point()
    )
