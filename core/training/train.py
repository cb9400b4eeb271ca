"""The training loop: a generator that trains any method and yields its events.

`train` opens a run, `Session.run` takes it through its stages to its end, and `Session._train_stage` is the loop over
epochs and iterations. What follows are the steps of that loop: metrics, evaluation, pseudo-labels, checkpoints.
"""

import hashlib
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from core import events
from core.config import RunConfig
from core.data.batches import Images, ResidentImages, StreamedImages, shuffled_batches
from core.data.images import ProgressCallback
from core.data.labels import class_priors, label_hash, label_weights
from core.data.load import load_task
from core.data.task_data import ImageSet, TaskData
from core.device import TrainingSettings, find_device
from core.errors import DISK_FULL, InputError
from core.events import Evaluated, Event, FailureKind, Stepped
from core.files import partial_path, replace_file
from core.methods import GAC, find_method
from core.methods.algorithm import Algorithm, Batch, StageProblem, StepMetrics, load_algorithm
from core.methods.plan import StagePlan, make_plan
from core.metrics import METRICS, is_reproducible
from core.models import checkpoint
from core.models.model import MODEL_FILE, describe_model, encode_weights, epoch_file
from core.training import cuda_graph
from core.training.evaluate import TestSet, evaluate_domain, predict_logits

CAPACITY, MAX_AGE = 256, 0.25
"""Iterations and seconds after which metrics are fetched from the device."""


def prepare(config: RunConfig, data_dir: Path | str, progress: ProgressCallback | None = None) -> tuple[str, TaskData]:
    """Return the device and the data of a run before it is trained."""
    device = find_device(config.device)  # first: without it, no data is read or generated
    data = load_task(config, Path(data_dir), progress)
    make_plan(config, find_method(config.method), len(data.source_train), len(data.target_train))  # raises InputError
    return str(device), data


def train(
    config: RunConfig,
    *,
    data_dir: Path | str | None = None,
    data: TaskData | None = None,
    checkpoint_dir: Path | None = None,
    resume: bool = False,
    pseudo_labels: Sequence[int] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    before_checkpoint: Callable[[], None] = lambda: None,
    progress: ProgressCallback | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Event]:
    """Train a run and yield an event for each iteration, and others between them.

    Nothing is recorded: `clarinet_tui.record` does that. Closing the generator saves a checkpoint; events that were
    not yielded come first when the run is resumed, and a resumed run gives the numbers of an uninterrupted one.

    Generators of one thread can take turns: each trains with its own number of threads and precision, and between two
    events torch has the caller's settings. Threads of one process share them: train several runs at once in processes.

    Args:
        config: A complete configuration, from `resolve`.
        data_dir: The folder of the data; by default the environment variable CLARINET_DATA, or ./data.
        data: The data itself, instead of `data_dir`.
        checkpoint_dir: An existing folder for checkpoints and final weights; None writes no files.
        resume: Continue from the newest complete checkpoint in `checkpoint_dir`.
        pseudo_labels: Classes of the source images, which replace stage 1 of a two-step method.
        should_stop: Called before each iteration; if it returns True, all metrics are yielded, the state is saved
            and the generator ends with `Stopped`.
        before_checkpoint: Called before a state is written, so that the caller can store the yielded events first.
        progress: Called with what is read or generated, how much of it is done and the total.
        clock: The time in seconds.

    Returns:
        A generator of `core.events`. The first is `Started` or `Resumed`, the last `Finished`, `Stopped` or `Failed`.

    Raises:
        InputError: The data, the device, the checkpoint or the pseudo-labels cannot be used.
        OSError: A file cannot be written for another reason than a full disk, which is a `Noticed` or `Failed` event.

    Example:
        >>> from pathlib import Path
        >>> from core import resolve, train
        >>> folder = Path("my-run")
        >>> folder.mkdir()
        >>> config = resolve(method="clarinet", task="Y->D", preset="smoke", warmup_epochs=1, epochs=1)
        >>> for event in train(config, checkpoint_dir=folder):
        ...     last = event
        >>> type(last).__name__
        'Finished'
        >>> sorted(path.name for path in folder.iterdir())
        ['checkpoint.pt', 'model.safetensors']
    """
    device = find_device(config.device)  # first: without it, no data is read or generated
    with TrainingSettings(config.threads, config.precision) as settings:
        if data is None:
            data = load_task(config, Path(data_dir or os.environ.get("CLARINET_DATA") or "data"), progress)
        hooks = Hooks(checkpoint_dir, should_stop, before_checkpoint, clock)
        session = Session(config, data, device, pseudo_labels, hooks, settings.notices)
        try:
            for event in session.run(resume):
                settings.suspend()
                yield event
                while settings.notices and isinstance(event, Stepped | Evaluated):
                    yield events.Noticed(
                        iteration=event.iteration, message=settings.notices.pop(0), seconds=event.seconds
                    )
                if not session.metrics.pending:  # switching takes 20 µs: once for a block of iterations
                    settings.resume()
        except GeneratorExit:
            settings.resume()
            session.save()
            raise
        finally:
            session.data.close()


@dataclass(frozen=True)
class Hooks:
    """The run's connections to its caller: where to save, whether to stop, and the time."""

    checkpoint_dir: Path | None
    should_stop: Callable[[], bool]
    before_checkpoint: Callable[[], None]
    clock: Callable[[], float]


@dataclass
class RunProgress:
    """How far the run is, in plain values; checkpoints store these names."""

    iteration: int = 0
    """Iterations done."""
    announced: int = 0
    """The index of the last stage whose start was yielded."""
    evaluated: int = 0
    """The last evaluated epoch."""
    labelled: bool = False
    """Whether stage 1's labels were yielded."""
    seconds: float = 0.0


class MetricBuffer:
    """Metrics of the latest iterations on the device, a row each, with the same names in every row."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._names: tuple[str, ...] = ()
        self._rows: list[tuple[int, float, torch.Tensor, dict[str, float]]] = []
        """The iteration, the seconds, and the numbers of the device and of the host."""
        self._block_start = 0.0
        self.pending: deque[Stepped] = deque()
        """Fetched events that were not yielded yet."""

    def add(self, stage: StagePlan, iteration: int, seconds: float, metrics: StepMetrics) -> None:
        """Add one iteration; its tensors stay on the device until `fetch`."""
        names = tuple(metrics.on_device)
        if self._rows and (names != self._names or len(self._rows) == CAPACITY):
            self.fetch(stage)
        self._names = names
        values = torch.stack([value.detach().float() for value in metrics.on_device.values()])
        self._rows.append((iteration, seconds, values, metrics.on_host))

    def is_due(self, seconds: float) -> bool:
        """Return whether the buffer is full or its first row is old enough to be fetched."""
        return bool(self._rows) and (len(self._rows) >= CAPACITY or seconds - self._rows[0][1] >= MAX_AGE)

    def restart_speed(self, seconds: float) -> None:
        """Measure speed from here: the time before was not spent on training."""
        self._block_start = seconds

    def fetch(self, stage: StagePlan) -> None:
        """Convert the rows to pending events: the one place where the host waits for the device."""
        if not self._rows:
            return
        values = torch.stack([row[2] for row in self._rows]).tolist()
        seconds = self._clock()  # after the wait: before it, iterations may not have been computed yet
        domains = 2 if stage.adaptation_step_of(self._rows[0][0]) > 0 else 1
        speed = domains * stage.batch_size * len(self._rows) / max(seconds - self._block_start, 1e-9)
        self._block_start = seconds
        for (iteration, added, _, on_host), numbers in zip(self._rows, values, strict=True):
            epoch = stage.epoch_of(iteration)
            event = Stepped(
                iteration=iteration,
                epoch=epoch,
                adaptation_epoch=stage.adaptation_epoch_of(epoch),
                stage=stage.spec.name,
                seconds=added,
                metrics=dict(zip(self._names, numbers, strict=True)) | on_host | {"samples_per_second": speed},
            )
            self.pending.append(event)
        self._rows.clear()


class DeviceData:
    """What a run trains and evaluates on, on the device; target labels are in `target_test` only."""

    def __init__(self, config: RunConfig, task_data: TaskData, device: torch.device) -> None:
        mask = task_data.source_train.ybar
        assert mask is not None, "load_task gives every source complementary labels"
        self.task_data = task_data
        self.device = device
        self.classes = len(task_data.classes)
        self.weights = torch.from_numpy(label_weights(mask)).to(device)
        self.priors = torch.from_numpy(class_priors(mask)).to(self.weights)
        self.label_hash = label_hash(mask)

        def place(images: NDArray[np.uint8]) -> Images:
            """Keep images on the device if they fit, stream them otherwise; their order is the same."""
            if images.nbytes > config.memory_limit_gb * 2**30:
                return StreamedImages(images, device, config.channels_last, config.workers)
            # Normalising once saves launches; floats are four times as large, and may take an eighth of a GPU's memory.
            normalised = device.type == "cuda" and 8 * 4 * images.nbytes <= torch.cuda.mem_get_info(device)[0]
            return ResidentImages(images, device, config.channels_last, normalised)

        def make_test_set(
            images: ImageSet, trained: ImageSet, placed: Images, mask: NDArray[np.bool_] | None
        ) -> TestSet:
            """A domain without test images is tested on those that it trains on, which are on the device already."""
            x = placed if images.x is trained.x else place(images.x)
            weights = None if mask is None else torch.from_numpy(label_weights(mask)).to(device)
            return TestSet(x, torch.from_numpy(images.y).to(device), weights)

        self.source, self.target = place(task_data.source_train.x), place(task_data.target_train.x)
        test = task_data.source_test
        self.source_test = make_test_set(test, task_data.source_train, self.source, test.ybar) if test else None
        self.target_test = make_test_set(task_data.target_test, task_data.target_train, self.target, None)

    def batches(self, stage: StagePlan, epoch: int, start: int, labels: torch.Tensor | None) -> Iterator[Batch]:
        """Yield the rest of an epoch of a stage, from batch `start`; `epoch` counts from 0 within the stage."""

        def shuffle(images: Images, domain: str) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
            name, count = f"{stage.spec.name}/{domain}", stage.iterations_per_epoch
            order = {"seed": stage.seed, "epoch": epoch, "start": start, "count": count}
            return shuffled_batches(images, name, stage.batch_size, self.device, **order)

        sources = shuffle(self.source, "source")
        targets = shuffle(self.target, "target") if stage.spec.adapts else repeat((None, None))
        for (images, chosen), (target_images, _) in zip(sources, targets, strict=stage.spec.adapts):
            if labels is None:
                yield Batch(images, target_images, weights=self.weights[chosen])
            else:
                yield Batch(images, target_images, labels=labels[chosen])

    def true_labels(self, method: str) -> torch.Tensor:
        y = self.task_data.source_train.y
        if (y < 0).any():
            raise InputError(f"method: {method} needs true source labels, but {int((y < 0).sum())} are unknown")
        return torch.from_numpy(y).to(self.device)

    def close(self) -> None:
        """End the processes that read streamed images."""
        tests = [test.images for test in (self.source_test, self.target_test) if test]
        for images in (self.source, self.target, *tests):
            if isinstance(images, StreamedImages):
                images.close()


class _RunEnded(Exception):  # noqa: N818 - it ends the loop and is no error
    """The last event of the run was yielded."""


class Session:
    """A run in training: everything that decides the rest of it, and the generator of its events."""

    algorithm: Algorithm

    def __init__(
        self,
        config: RunConfig,
        task_data: TaskData,
        device: torch.device,
        pseudo_labels: Sequence[int] | None,
        hooks: Hooks,
        notices: list[str],
    ) -> None:
        """`notices` gets messages for the user, which the caller yields."""
        self.config = config
        self.hooks = hooks
        self.notices = notices
        self.device = device
        self.method = find_method(config.method)
        self.data = DeviceData(config, task_data, device)
        self.stages = make_plan(config, self.method, len(self.data.source), len(self.data.target))
        labels = {stage.labels for stage in self.method.stages}
        if "true" in labels:
            self.data.true_labels(config.method)
        self.progress = RunProgress()
        self.pseudo_labels: NDArray[np.int64] | None = None
        if pseudo_labels is not None:
            if "pseudo" not in labels:
                raise InputError(f"pseudo_labels: {self.method.name} takes none")
            if any(stage.continues for stage in self.method.stages):
                raise InputError(f"pseudo_labels: {self.method.name} also needs the weights of its stage 1")
            self.pseudo_labels = np.asarray(pseudo_labels, dtype=np.int64)
            if self.pseudo_labels.shape != task_data.source_train.y.shape:
                count = self.pseudo_labels.size
                raise InputError(f"pseudo_labels: expected {len(task_data.source_train)} labels, got {count}")
            if self.pseudo_labels.min() < 0 or self.pseudo_labels.max() >= self.data.classes:
                raise InputError(f"pseudo_labels: expected classes from 0 to {self.data.classes - 1}")
        self.metrics = MetricBuffer(lambda: self.seconds)
        self.last_evaluation: Evaluated | None = None
        self.has_ended = False
        self.saved_at = hooks.clock()
        self.saved_path: str | None = None
        self._started_at = self.saved_at

    @property
    def stage(self) -> StagePlan:
        return self.algorithm.problem.stage_plan

    @property
    def seconds(self) -> float:
        """Training time so far, over all attempts."""
        return self.hooks.clock() - self._started_at

    @property
    def _position(self) -> dict[str, Any]:
        """The fields that every event has."""
        return {"iteration": self.progress.iteration, "seconds": self.seconds}

    # -- the loop ------------------------------------------------------------------------------------------------

    def run(self, resume: bool) -> Iterator[Event]:
        """Train from the start or the newest checkpoint to the end."""
        with suppress(_RunEnded):
            yield from self._resume() if resume else self._start()
            while True:
                stage = self.stage
                if self.progress.announced < stage.index:
                    self.progress.announced = stage.index
                    yield events.StageStarted(
                        stage=stage.spec.name, index=stage.index, epoch=stage.epochs_before, **self._position
                    )
                yield from self._train_stage(stage)
                is_last = stage is self.stages[-1]
                if not self.progress.labelled and (not is_last or stage.spec == GAC):
                    yield self._label_source()
                if is_last:
                    yield from self._finish()
                following = self.stages[stage.index]
                weights = self.algorithm.classifier.state_dict() if following.spec.continues else None
                self._enter_stage(following)
                if weights is not None:
                    self.algorithm.load_classifier(weights)
                yield from self._checkpoint()

    def _train_stage(self, stage: StagePlan) -> Iterator[Event]:
        """Train what is left of a stage, and evaluate after its epochs."""
        labels: torch.Tensor | None = None
        if stage.spec.labels == "true":
            labels = self.data.true_labels(self.method.name)
        elif stage.spec.labels == "pseudo":
            assert self.pseudo_labels is not None
            labels = torch.from_numpy(self.pseudo_labels).to(self.device)
        while True:
            epoch, start = divmod(self.progress.iteration - stage.iterations_before, stage.iterations_per_epoch)
            if start == 0 and epoch > 0:
                yield from self._evaluate_if_due(stage, stage.epochs_before + epoch)
            if epoch == stage.epochs:
                return
            for batch in self.data.batches(stage, epoch, start, labels):
                if self.hooks.should_stop():
                    yield from self._checkpoint()
                    yield from self._end(events.Stopped(**self._position))
                minutes = (self.hooks.clock() - self.saved_at) / 60
                if self._keeps_checkpoints and minutes >= self.config.checkpoint_minutes:
                    yield from self._checkpoint()
                iteration = self.progress.iteration + 1
                self.metrics.add(stage, iteration, self.seconds, self._iterate(batch, iteration))
                self.progress.iteration = iteration
                if self.metrics.is_due(self.seconds):
                    yield from self._yield_metrics()
            yield from self._yield_metrics()

    def _end(self, event: Event) -> Iterator[Event]:
        """Yield the last event of the run."""
        self.has_ended = True
        yield event
        raise _RunEnded

    # -- start and resume ----------------------------------------------------------------------------------------

    def _start(self) -> Iterator[Event]:
        self._enter_stage(self.stages[0])
        data, modules = self.data, self.algorithm.modules.values()
        yield events.Started(
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
            epochs_total=self.stages[-1].last_epoch,
            iterations_total=self.stages[-1].last_iteration,
            notes=list(data.task_data.notes),
        )
        if self.pseudo_labels is not None:  # continue where stage 1 would have ended
            stage1, stage2 = self.stages
            self.progress = RunProgress(stage1.last_iteration, announced=1, evaluated=stage1.epochs, labelled=True)
            self._enter_stage(stage2)
            yield self._labelled_event(given=True)

    def _enter_stage(self, stage: StagePlan) -> None:
        """Build a stage's networks, freshly initialised; a checkpoint's state may be loaded afterwards."""
        data = self.data
        problem = StageProblem(self.config, stage, data.task_data.shape, data.classes, data.priors, self.device)
        self.algorithm = load_algorithm(stage.spec)(problem)
        uses_graphs = self.config.cuda_graph != "off"
        iterate = cuda_graph.choose_iterate(self.algorithm, self.notices) if uses_graphs else self.algorithm.iterate
        self._iterate: Callable[[Batch, int], StepMetrics] = iterate
        self.metrics.restart_speed(self.seconds)

    def _resume(self) -> Iterator[Event]:
        """Load the newest complete checkpoint; a notice says if a newer one is damaged or the run is not exact."""
        if self.hooks.checkpoint_dir is None:
            raise InputError("resume: no checkpoint directory was given")
        state, notice = checkpoint.load_latest(self.hooks.checkpoint_dir, self.config)
        self.progress = RunProgress(**state["position"])
        self.metrics.pending.extend(msgspec.json.decode(state["pending"], type=list[Stepped]))
        if state["label_hash"] != self.data.label_hash:
            raise InputError("resume: the data or its labels differ from those of the checkpoint")
        if state["pseudo_labels"] is not None:
            self.pseudo_labels = state["pseudo_labels"].numpy()
        if state["last"] is not None:
            self.last_evaluation = msgspec.json.decode(state["last"], type=Evaluated)
        self._enter_stage(self.stages[state["stage"] - 1])
        is_same_device = state["device"] == self.device.type
        self.algorithm.load_state(state["algorithm"], reseed_at=None if is_same_device else self.progress.iteration)
        if not is_same_device:
            notice = (
                f"the checkpoint was written on {state['device']} and the run continues on {self.device.type}, "
                "whose random streams differ: its numbers are not those of an uninterrupted run"
            )
        self.saved_at = self.hooks.clock()
        self._started_at = self.saved_at - self.progress.seconds
        self.metrics.restart_speed(self.seconds)
        yield events.Resumed(from_iteration=self.progress.iteration - len(self.metrics.pending), seconds=self.seconds)
        if notice:
            yield events.Noticed(message=notice, **self._position)
        yield from self._yield_metrics()

    # -- metrics, evaluation and pseudo-labels -------------------------------------------------------------------

    def _yield_metrics(self) -> Iterator[Event]:
        """Yield each iteration once."""
        self.metrics.fetch(self.stage)
        while self.metrics.pending:
            event = self.metrics.pending.popleft()
            yield event
            if not event.is_finite:
                yield from self._fail_unless_finite(f"iteration {event.iteration}", event.iteration, event.metrics)

    def _fail_unless_finite(self, place: str, iteration: int, measured: Mapping[str, float]) -> Iterator[Event]:
        """End the run if a value is not finite, unless on_nan is "continue"."""
        values = ", ".join(f"{name} is {value}" for name, value in measured.items() if not math.isfinite(value))
        if values and self.config.on_nan == "fail":
            failed = events.Failed(
                iteration=iteration,
                message=f"{place}: {values}; lower the rates, or set on_nan = continue",
                kind=FailureKind.NOT_FINITE,
                terms={name: value for name, value in measured.items() if is_reproducible(name)},
                checkpoint=self.saved_path,
                seconds=self.seconds,
            )
            yield from self._end(failed)

    def _evaluate_if_due(self, stage: StagePlan, epoch: int) -> Iterator[Event]:
        is_due = epoch == stage.last_epoch or epoch % self.config.evaluate_every == 0
        if epoch <= self.progress.evaluated or not is_due:
            return
        tests = [test for test in (self.data.target_test, self.data.source_test) if test]
        target, *others = (evaluate_domain(self._predict(test.images), test, self.data.priors) for test in tests)
        source = others[0] if others else None
        self.metrics.restart_speed(self.seconds)
        self.last_evaluation = Evaluated(
            epoch=epoch,
            adaptation_epoch=stage.adaptation_epoch_of(epoch),
            stage=stage.spec.name,
            target_accuracy=target.accuracy,
            target_loss=target.loss,
            target_entropy=target.entropy,
            target_information=target.information,
            confusion=target.confusion,
            source_accuracy=source.accuracy if source else None,
            source_loss=source.loss if source else None,
            complementary_risk=source.complementary_risk if source else None,
            pseudo_label_accuracy=self._pseudo_label_accuracy(),
            **self._position,
        )
        self.progress.evaluated = epoch
        yield self.last_evaluation
        # The loss of a stage's last step is finite, and its weights may not be: only the evaluation shows it.
        scores = msgspec.structs.asdict(self.last_evaluation)
        measured = {name: value for name, value in scores.items() if name in METRICS and value is not None}
        yield from self._fail_unless_finite(f"evaluation of epoch {epoch}", self.progress.iteration, measured)
        if self.config.checkpoints == "all":
            try:
                self._save_model(epoch_file(epoch))
            except OSError as error:
                if error.errno not in DISK_FULL:
                    raise
                message = f"no disk space for the weights of epoch {epoch} ({error.strerror}): free some"
                yield events.Noticed(message=message, **self._position)

    def _predict(self, images: Images) -> torch.Tensor:
        bf16, trained = self.config.precision == "bf16", self.stage.batch_size
        return predict_logits(self.algorithm.predictor, images, self.device, bf16, trained=trained)

    def _label_source(self) -> events.PseudoLabelled:
        """Label the source with stage 1's classifier, for the next stage or, after GAC alone, for other runs."""
        logits = self._predict(self.data.source)
        wrong = self.data.weights > 0
        if not self.stage.spec.labels_exclude_ybar:  # where one class is left, it is the true label
            wrong &= wrong.sum(dim=1, keepdim=True) == self.data.classes - 1
        self.pseudo_labels = logits.masked_fill(wrong, -math.inf).argmax(dim=1).cpu().numpy()
        self.progress.labelled = True
        return self._labelled_event(given=False)

    def _labelled_event(self, given: bool) -> events.PseudoLabelled:
        assert self.pseudo_labels is not None
        return events.PseudoLabelled(
            label_hash=hashlib.blake2b(self.pseudo_labels.astype("<i8").tobytes(), digest_size=6).hexdigest(),
            accuracy=self._pseudo_label_accuracy(),
            given=given,
            labels=self.pseudo_labels.tolist(),
            **self._position,
        )

    def _pseudo_label_accuracy(self) -> float | None:
        """Return the percentage of labels that are right, among those whose true label is known."""
        if self.pseudo_labels is None:
            return None
        truth = self.data.task_data.source_train.y
        known = truth >= 0
        return 100 * float(np.mean(self.pseudo_labels[known] == truth[known])) if known.any() else None

    # -- checkpoints and the end ---------------------------------------------------------------------------------

    @property
    def _keeps_checkpoints(self) -> bool:
        return self.hooks.checkpoint_dir is not None and self.config.checkpoints != "none"

    def _checkpoint(self) -> Iterator[Event]:
        yield from self._yield_metrics()
        position = self._position
        try:
            path = self.save()
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            self.saved_at = self.hooks.clock()  # try again after the usual interval
            yield events.Noticed(message=f"no disk space for a checkpoint ({error.strerror}): free some", **position)
            return
        if path:
            yield events.Checkpointed(path=path.name, **position)

    def save(self) -> Path | None:
        """Write a checkpoint, unless there is no folder, the run has ended, or a value is not finite."""
        folder = self.hooks.checkpoint_dir
        if folder is None or not self._keeps_checkpoints or self.has_ended:
            return None
        self.metrics.fetch(self.stage)
        state, pending = self.algorithm.state(), self.metrics.pending
        if not all(event.is_finite for event in pending) or not checkpoint.has_finite_weights(state["modules"]):
            return None
        self.progress.seconds = self.seconds
        self.hooks.before_checkpoint()
        labels, evaluation = self.pseudo_labels, self.last_evaluation
        content = {
            "position": msgspec.to_builtins(self.progress),
            "stage": self.stage.index,
            "device": self.device.type,
            "algorithm": state,
            "pending": msgspec.json.encode(list(pending)).decode(),
            "label_hash": self.data.label_hash,
            "pseudo_labels": None if labels is None else torch.from_numpy(labels),
            "last": None if evaluation is None else msgspec.json.encode(evaluation).decode(),
        }
        path = checkpoint.save(folder, self.config, content)
        self.saved_at, self.saved_path = self.hooks.clock(), str(path)
        return path

    def _save_model(self, name: str) -> bool:
        """Write the weights that predict, with their description; return False if a weight is not finite."""
        folder, network, evaluation = self.hooks.checkpoint_dir, self.algorithm.predictor, self.last_evaluation
        assert evaluation is not None
        if folder is None:
            return True
        if not checkpoint.has_finite_weights({"predictor": network.state_dict()}):
            return False
        info = describe_model(
            self.config,
            self.data.task_data.shape,
            self.data.task_data.classes,
            msgspec.structs.asdict(evaluation),
            is_averaged=network is not self.algorithm.classifier,
            label_hash=self.data.label_hash,
            iteration=self.progress.iteration,
            epoch=self.progress.evaluated,
        )
        path = folder / name
        replace_file(path, encode_weights(network, info), temporary=partial_path(path))
        return True

    def _finish(self) -> Iterator[Event]:
        yield from self._checkpoint()
        self.has_ended = True
        position = self._position
        try:
            if not self._save_model(MODEL_FILE):
                yield events.Noticed(message="no model was saved: its weights are not finite", **position)
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            advice = "free some space and " + ("resume the run" if self._keeps_checkpoints else "start it again")
            message = f"the training is complete, but its weights could not be saved: {advice}"
            kind = FailureKind.DISK_FULL
            yield from self._end(events.Failed(message=message, kind=kind, checkpoint=self.saved_path, **position))
        evaluation = self.last_evaluation
        assert evaluation is not None, "every stage ends with one"
        epoch, target, source = evaluation.epoch, evaluation.target_accuracy, evaluation.source_accuracy
        finished = events.Finished(epoch=epoch, target_accuracy=target, source_accuracy=source, **self._position)
        yield from self._end(finished)
