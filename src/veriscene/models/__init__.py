"""The registry of models: Batch -> Judgement. Adding a model is one file and two lines: import and entry in MODELS.

Models of other packages come from plug-ins (`register`) and from the entry points `veriscene.models`.
"""

from __future__ import annotations

import math
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from veriscene import config as configuration
from veriscene.config import Changes, Config, ModelConfig
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.errors import InputError
from veriscene.models.base import Judgement as Judgement
from veriscene.models.base import Model as Model
from veriscene.models.base import Order as Order
from veriscene.models.base import check_weights
from veriscene.models.baselines import CNNRNN, ImageFeatRNN, RelationNet
from veriscene.models.biatt import BiATT, BiDAF, BiENC
from veriscene.models.biatt_pointer import BiATTPointer
from veriscene.models.cnn_biatt import CNNBiATT, CNNBiENC
from veriscene.models.maxent import MLP, MaxEnt
from veriscene.models.nmn import NMN
from veriscene.models.spatial import Spatial
from veriscene.world.schema import World

MODELS: dict[str, type[Model]] = {
    "maxent": MaxEnt,
    "mlp": MLP,
    "imagefeat-rnn": ImageFeatRNN,
    "relation-net": RelationNet,
    "bidaf": BiDAF,
    "bienc": BiENC,
    "biatt": BiATT,
    "biatt-pointer": BiATTPointer,
    "cnn-rnn": CNNRNN,
    "cnn-bienc": CNNBiENC,
    "cnn-biatt": CNNBiATT,
    "nmn": NMN,
    "spatial": Spatial,
}


def register(kind: type[Model]) -> None:
    """Makes a model known by the name in its Config; raises InputError if that is the name of another model, or if the
    class lacks what every model states."""
    for stated in ("Config", "summary"):
        if not hasattr(kind, stated):
            raise InputError(f"{kind.__qualname__} has no {stated}", allowed="docs/extending.md shows a model")
    name = kind.Config.__dataclass_fields__["name"].default
    known = MODELS.get(name) if isinstance(name, str) else None
    if not isinstance(name, str) or (known is not None and known.__qualname__ != kind.__qualname__):
        what = f"{kind.__qualname__} has no name of its own"
        raise InputError(what, allowed="give Config.name a default that no other model has")
    MODELS[name] = kind


@cache
def _load_entry_points() -> None:
    for point in entry_points(group="veriscene.models"):
        register(point.load())


def load_preset(name: str | Path, changes: Changes = ()) -> Config:
    """Loads the preset of that name, or the TOML file at that path, and applies `section.key` changes."""
    return configuration.load_preset(name, changes, _kinds())


def read_config(tree: object, *, where: str) -> Config:
    """Reads a configuration from nested mappings; errors name the key, its value and what is allowed."""
    return configuration.from_json(tree, where=where, kinds=_kinds())


def build(config: ModelConfig, *, vocabulary: Vocabulary, world: World) -> Model:
    """Builds a fresh model of the configured kind; InputError if it is absurdly large, before memory is allocated."""
    with _Construction(config):
        return MODELS[config.name](config, vocabulary, world)


def check(config: ModelConfig, world: World) -> None:
    """Raises InputError if such a model cannot be trained: too large, or a library or weights file is missing."""
    with torch.device("meta"):  # tensors have shapes but no memory
        build(config, vocabulary=Vocabulary(SPECIAL), world=world).check_requirements()


class _Construction(TorchFunctionMode):
    """Counts the weights of a model under construction; InputError, before memory is allocated, if there are too many.

    On the meta device `normal_` has no effect: there it would import torch's compiler, which takes seconds.
    """

    FACTORIES = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config, self.count = config, 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if function in self.FACTORIES:
            shape = args[0] if args and not isinstance(args[0], int) else args
            self.count += math.prod(shape or given.get("size", ()))
            widths = [f"model.{key}={value}" for key, value in vars(self.config).items() if type(value) is int]
            check_weights(self.count, what=self.config.name, allowed=f"lower {' or '.join(widths) or 'the vocabulary'}")
        if function in (nn.init.normal_, Tensor.normal_):
            tensor = [*args, *given.values()][0]
            if tensor.is_meta:
                return tensor
        return function(*args, **given)


def _kinds() -> dict[str, type[ModelConfig]]:
    _load_entry_points()
    return {name: kind.Config for name, kind in MODELS.items()}


def encoder(config: Config, vocabulary: Vocabulary, world: World) -> Encoder:
    """Returns the encoder that makes tensors of examples for the configured model, in inference."""
    return Encoder(vocabulary, world, MODELS[config.model.name].inputs, ItemOrder(config.data.order))
