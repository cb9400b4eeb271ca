"""The first event of a test's run."""

from core.config import RunConfig
from core.events import Started


def started(config: RunConfig, epochs: int, steps: int) -> Started:
    return Started(
        method=config.method,
        task=config.task,
        seed=config.seed,
        device="cpu",
        classes=list("0123456789"),
        shape=[28, 28, 1],
        source_size=6000,
        target_size=1437,
        test_size=360,
        parameters=431_080,
        label_hash=f"draw{config.seed}",
        priors=[0.1] * 10,
        stages=["clarinet"],
        epochs_total=epochs,
        iterations_total=epochs * steps,
        notes=["source images are rendered from fonts"],
    )
