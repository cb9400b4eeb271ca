"""The model of a run before its first iteration, for comparison with what it has learned."""

import msgspec

from core.methods import find_method
from core.methods.algorithm import seeded
from core.models.info import ModelInfo
from core.models.model import Model
from core.networks import build_classifier, network_options
from core.random_streams import stream_seed


def initial_model(info: ModelInfo, device: str = "cpu") -> Model:
    """Return the model with the initial weights of the run's first stage, which its seed decides."""
    config = info.run_config
    stage = find_method(config.method).stages[0]
    seed = config.stage1.seed if stage.stage1 else config.seed
    with seeded(stream_seed(seed, stage.name, "G and F")):
        network = build_classifier(
            config.network,
            info.shape,
            len(info.classes),
            config.weights,
            **network_options(config),
        )
    first = msgspec.structs.replace(info, iteration=0, epoch=0, selection="initial weights", is_averaged=False)
    return Model(network.requires_grad_(False), first, device)
