"""The length of a run: its stages, epochs and iterations, known before it starts."""

from dataclasses import dataclass

from core.config import RunConfig
from core.errors import InputError
from core.methods import MethodSpec, StageSpec


@dataclass(frozen=True)
class StagePlan:
    """One stage in numbers. Iterations and epochs count from 1 over the whole run."""

    spec: StageSpec
    index: int
    seed: int
    batch_size: int
    iterations_per_epoch: int
    warmup_epochs: int
    epochs: int
    """Epochs of this stage, its warm-up included."""
    epochs_before: int
    iterations_before: int

    @property
    def iterations(self) -> int:
        return self.epochs * self.iterations_per_epoch

    @property
    def last_iteration(self) -> int:
        return self.iterations_before + self.iterations

    @property
    def last_epoch(self) -> int:
        return self.epochs_before + self.epochs

    @property
    def adaptation_iterations(self) -> int:
        return (self.epochs - self.warmup_epochs) * self.iterations_per_epoch

    def epoch_of(self, iteration: int) -> int:
        """Return the epoch, over the whole run, of an iteration."""
        return self.epochs_before + (iteration - self.iterations_before - 1) // self.iterations_per_epoch + 1

    def adaptation_epoch_of(self, epoch: int) -> int | None:
        """Return the epochs since adaptation started; None in warm-up and in stage 1."""
        if self.spec.stage1:
            return None
        count = epoch - self.epochs_before - self.warmup_epochs
        return count if count > 0 else None

    def phase_of(self, iteration: int) -> tuple[str, int, int]:
        """Return its phase, "warm-up" until the stage adapts, how many iterations of it came before, and its length."""
        name = "adaptation" if self.adaptation_step_of(iteration) > 0 else "warm-up"
        done = iteration - self.iterations_before - 1
        warmup = self.warmup_epochs * self.iterations_per_epoch
        return (name, done, warmup) if done < warmup else (name, done - warmup, self.iterations - warmup)

    def adaptation_step_of(self, iteration: int) -> int:
        """Return i of λ: adaptation iterations so far, this one included; 0 in warm-up and without adaptation."""
        warmup = self.warmup_epochs * self.iterations_per_epoch
        return max(0, iteration - self.iterations_before - warmup) if self.spec.adapts else 0


def make_plan(config: RunConfig, method: MethodSpec, source_size: int, target_size: int) -> tuple[StagePlan, ...]:
    """Return the stages for this many images; a batch larger than a domain is an InputError."""
    stages: list[StagePlan] = []
    for index, spec in enumerate(method.stages, start=1):
        batch_size = config.stage1.batch_size if spec.stage1 else config.batch_size
        warmup = 0 if spec.stage1 else config.warmup_epochs
        sizes = {"source": source_size} | ({"target": target_size} if spec.adapts else {})
        for name, size in sizes.items():
            if size < batch_size:
                setting = "stage1.batch_size" if spec.stage1 else "batch_size"
                raise InputError(f"{setting}: a batch of {batch_size} is more than the {size} images of the {name}")
        # By default, the complete batches of the longer domain; the shorter one restarts.
        iterations = config.epoch_iterations or max(size // batch_size for size in sizes.values())
        stages.append(
            StagePlan(
                spec=spec,
                index=index,
                seed=config.stage1.seed if spec.stage1 else config.seed,
                batch_size=batch_size,
                iterations_per_epoch=iterations,
                warmup_epochs=warmup,
                epochs=config.stage1.epochs if spec.stage1 else warmup + config.epochs,
                epochs_before=stages[-1].last_epoch if stages else 0,
                iterations_before=stages[-1].last_iteration if stages else 0,
            )
        )
    return tuple(stages)
