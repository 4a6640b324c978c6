"""The registry of models: Batch -> Judgement. Adding a model is one file and two lines: import and entry in MODELS.

Models of other packages come from plug-ins (`register`) and from the entry points `veriscene.models`.
"""

from __future__ import annotations

import math
from dataclasses import asdict
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
from veriscene.models.base import Judgement, Model, Order, check_weights
from veriscene.models.biatt import BiATT
from veriscene.models.biatt_pointer import BiATTPointer
from veriscene.models.bidaf import BiDAF
from veriscene.models.bienc import BiENC
from veriscene.models.cnn_biatt import CNNBiATT
from veriscene.models.cnn_bienc import CNNBiENC
from veriscene.models.cnn_rnn import CNNRNN
from veriscene.models.imagefeat_rnn import ImageFeatRNN
from veriscene.models.maxent import MaxEnt
from veriscene.models.mlp import MLP
from veriscene.models.nmn import NMN
from veriscene.models.relation_net import RelationNet
from veriscene.models.spatial import Spatial
from veriscene.world.schema import World

__all__ = [
    "MODELS",
    "Judgement",
    "Model",
    "Order",
    "build",
    "check",
    "encoder",
    "load_preset",
    "read_config",
    "register",
]

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
    """Makes a model known by the name in its Config; raises InputError if that is the name of another model."""
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
    """The preset of that name, or the TOML file at that path, with `section.key` changes applied."""
    return configuration.load_preset(name, changes, _kinds())


def read_config(tree: object, *, where: str) -> Config:
    """A configuration from nested mappings; errors name the key, its value and what is allowed."""
    return configuration.from_json(tree, where=where, kinds=_kinds())


def build(config: ModelConfig, *, vocabulary: Vocabulary, world: World) -> Model:
    """A fresh model of the configured kind; InputError if it is absurdly large, before memory is allocated."""
    with _CountedWeights(config):
        return _construct(config, vocabulary, world)


def check(config: ModelConfig, world: World) -> None:
    """Raises InputError if such a model cannot be trained: too large, or a library or weights file is missing."""
    check_size(config, Vocabulary(SPECIAL), world).check_requirements()


def check_size(config: ModelConfig, vocabulary: Vocabulary, world: World) -> Model:
    """The model on the meta device, which has shapes but no memory; InputError if it has too many weights."""
    with torch.device("meta"), _NoNormalValues():
        model = _construct(config, vocabulary, world)
    _check_count(sum(tensor.numel() for tensor in model.state_dict().values()), config)  # buffers included
    return model


def _check_count(weights: int, config: ModelConfig) -> None:
    widths = [f"model.{key}={value}" for key, value in asdict(config).items() if type(value) is int]
    check_weights(weights, what=config.name, allowed=f"lower {' or '.join(widths) or 'the vocabulary'}")


class _CountedWeights(TorchFunctionMode):
    """Raises InputError, before memory is allocated, as soon as a model under construction has too many weights."""

    FACTORIES = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config, self.count = config, 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in self.FACTORIES:
            shape = args[0] if args and not isinstance(args[0], int) else args
            self.count += math.prod(shape if shape else (kwargs or {}).get("size", ()))
            _check_count(self.count, self.config)
        return function(*args, **(kwargs or {}))


class _NoNormalValues(TorchFunctionMode):
    """Tensors on the meta device have no values; there, `normal_` imports torch's compiler, which takes seconds."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if function in (nn.init.normal_, Tensor.normal_):
            return [*args, *given.values()][0]
        return function(*args, **given)


def _construct(config: ModelConfig, vocabulary: Vocabulary, world: World) -> Model:
    if config.name not in MODELS:
        raise InputError(f"unknown model {config.name!r}", allowed=f"choose from {', '.join(sorted(MODELS))}")
    settings = {key: value for key, value in asdict(config).items() if key != "name"}
    return MODELS[config.name](vocabulary=vocabulary, world=world, **settings)


def _kinds() -> dict[str, type[ModelConfig]]:
    _load_entry_points()
    return {name: kind.Config for name, kind in MODELS.items()}


def encoder(config: Config, vocabulary: Vocabulary, world: World) -> Encoder:
    """How examples become tensors for the configured model, in inference."""
    return Encoder(vocabulary, world, MODELS[config.model.name].inputs, ItemOrder(config.data.order))
