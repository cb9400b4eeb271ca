"""The state of a run in training: its data, networks and progress, and how checkpoints and models store them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

from core.config import RunConfig
from core.data.task_data import TaskData
from core.errors import InputError
from core.events import Evaluated, Stepped
from core.methods import find_method
from core.methods.algorithm import Algorithm, StageProblem, load_algorithm
from core.methods.plan import StagePlan, make_plan
from core.models import checkpoint
from core.models.weights_file import ModelInfo, model_scores, write_weights
from core.networks import choose_network
from core.training.cuda_graph import make_runner
from core.training.device_data import load_device_data
from core.training.metric_buffer import MetricBuffer, is_finite


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


class TrainingState:
    """Everything that decides the rest of a run."""

    def __init__(
        self,
        config: RunConfig,
        task_data: TaskData,
        device: torch.device,
        pseudo_labels: Sequence[int] | None,
        hooks: Hooks,
    ) -> None:
        self.config = config
        self.hooks = hooks
        self.device = device
        self.method = find_method(config.method)
        self.data = load_device_data(config, task_data, device)
        self.plan = make_plan(config, self.method, len(self.data.source), len(self.data.target))
        labels = {stage.labels for stage in self.method.stages}
        if "true" in labels:
            self.data.true_labels(config.method)
        if pseudo_labels is not None and "pseudo" not in labels:
            raise InputError(f"pseudo_labels: {self.method.name} takes none")
        if pseudo_labels is not None and any(stage.continues for stage in self.method.stages):
            raise InputError(f"pseudo_labels: {self.method.name} also needs the weights of its stage 1")
        self.progress = RunProgress()
        self.pseudo_labels = None if pseudo_labels is None else self.data.check_pseudo_labels(pseudo_labels)
        self.metrics = MetricBuffer(device, lambda: self.seconds)
        self.last_evaluation: Evaluated | None = None
        self.has_ended = False
        self.saved_at = hooks.clock()
        self.saved_path: str | None = None
        self._started_at = self.saved_at
        self._algorithm: Algorithm | None = None

    @property
    def algorithm(self) -> Algorithm:
        assert self._algorithm is not None, "no stage was entered"
        return self._algorithm

    @property
    def stage(self) -> StagePlan:
        return self.algorithm.problem.stage_plan

    @property
    def seconds(self) -> float:
        """Training time so far, over all attempts."""
        return self.hooks.clock() - self._started_at

    @property
    def uses_bf16(self) -> bool:
        return self.config.precision == "bf16"

    def enter_stage(self, stage: StagePlan) -> None:
        """Build a stage's networks, freshly initialised; a checkpoint's state may be loaded afterwards."""
        problem = StageProblem(
            config=self.config,
            stage_plan=stage,
            shape=self.data.task_data.shape,
            classes=self.data.classes,
            priors=self.data.priors,
            device=self.device,
        )
        self._algorithm = load_algorithm(stage.spec)(problem)
        self.runner = make_runner(self._algorithm)
        self.metrics.restart_speed(self.seconds)

    def stage_labels(self) -> torch.Tensor | None:
        """Return the true or pseudo-labels that the current stage learns from; None if it takes complementary ones."""
        match self.stage.spec.labels:
            case "complementary":
                return None
            case "true":
                return self.data.true_labels(self.method.name)
            case "pseudo":
                assert self.pseudo_labels is not None
                return torch.from_numpy(self.pseudo_labels).to(self.device)

    # -- checkpoints ---------------------------------------------------------------------------------------------

    @property
    def keeps_checkpoints(self) -> bool:
        return self.hooks.checkpoint_dir is not None and self.config.checkpoints != "none"

    def is_checkpoint_due(self) -> bool:
        minutes = (self.hooks.clock() - self.saved_at) / 60
        return self.keeps_checkpoints and minutes >= self.config.checkpoint_minutes

    def save(self) -> Path | None:
        """Write a checkpoint, unless there is no folder, no stage was entered, or a value is not finite."""
        folder, algorithm = self.hooks.checkpoint_dir, self._algorithm
        if folder is None or not self.keeps_checkpoints or algorithm is None or self.has_ended:
            return None
        self.metrics.fetch(self.stage)
        state = algorithm.state()
        if not all(map(is_finite, self.metrics.pending)) or not checkpoint.has_finite_weights(state["modules"]):
            return None
        self.progress.seconds = self.seconds
        self.hooks.before_checkpoint()
        labels, evaluation = self.pseudo_labels, self.last_evaluation
        content = {
            "position": msgspec.to_builtins(self.progress),
            "stage": self.stage.index,
            "device": self.device.type,
            "algorithm": state,
            "pending": msgspec.json.encode(list(self.metrics.pending)).decode(),
            "label_hash": self.data.label_hash,
            "pseudo_labels": None if labels is None else torch.from_numpy(labels),
            "last": None if evaluation is None else msgspec.json.encode(evaluation).decode(),
        }
        path = checkpoint.save(folder, self.config, content)
        self.saved_at, self.saved_path = self.hooks.clock(), str(path)
        return path

    def save_model(self, name: str) -> bool:
        """Write the weights that predict, with their description; return False if a weight is not finite."""
        folder, network, evaluation = self.hooks.checkpoint_dir, self.algorithm.predictor, self.last_evaluation
        if folder is None:
            return True
        if not checkpoint.has_finite_weights({"predictor": network.state_dict()}):
            return False
        shape = self.data.task_data.shape
        info = ModelInfo(
            network=choose_network(shape) if self.config.network == "auto" else self.config.network,
            shape=shape,
            classes=self.data.task_data.classes,
            is_averaged=network is not self.algorithm.classifier,
            label_hash=self.data.label_hash,
            iteration=self.progress.iteration,
            epoch=self.progress.evaluated,
            config=msgspec.to_builtins(self.config),
            **model_scores({} if evaluation is None else msgspec.structs.asdict(evaluation)),
        )
        write_weights(folder / name, network, info)
        return True

    def restore(self) -> str | None:
        """Load the newest complete checkpoint; return a notice if a newer one is damaged or the run is not exact."""
        if self.hooks.checkpoint_dir is None:
            raise InputError("resume: no checkpoint directory was given")
        state: dict[str, Any]
        state, notice = checkpoint.load_latest(self.hooks.checkpoint_dir, self.config)
        self.progress = RunProgress(**state["position"])
        self.metrics.pending.extend(msgspec.json.decode(state["pending"], type=list[Stepped]))
        if state["label_hash"] != self.data.label_hash:
            raise InputError("resume: the data or its labels differ from those of the checkpoint")
        if state["pseudo_labels"] is not None:
            self.pseudo_labels = state["pseudo_labels"].numpy()
        if state["last"] is not None:
            self.last_evaluation = msgspec.json.decode(state["last"], type=Evaluated)
        self.enter_stage(self.plan.stages[state["stage"] - 1])
        notice = self._load_algorithm(state) or notice
        self.saved_at = self.hooks.clock()
        self._started_at = self.saved_at - self.progress.seconds
        self.metrics.restart_speed(self.seconds)
        return notice

    def _load_algorithm(self, state: dict[str, Any]) -> str | None:
        """Load networks, optimizers and random streams; the streams of another type of device are reseeded."""
        recorded = state.get("device") or _device_type(state["algorithm"]["dropout"])
        if recorded == self.device.type:
            self.algorithm.load_state(state["algorithm"])
            return None
        self.algorithm.load_state(state["algorithm"], reseed_at=self.progress.iteration)
        return (
            f"the checkpoint was written on {recorded} and the run continues on {self.device.type}, "
            "whose random streams differ: its numbers are not those of an uninterrupted run"
        )


def _device_type(dropout: torch.Tensor) -> str:
    """Return where a random state comes from that was stored before checkpoints recorded it: the CPU's is larger."""
    return "cpu" if dropout.numel() > 1000 else "cuda"
