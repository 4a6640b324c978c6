"""Every model: Batch -> Judgement. This file is the only place that reads a model's configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from veriscene.config import SIZES, ModelConfig
from veriscene.errors import InputError
from veriscene.models.base import Judgement
from veriscene.models.biatt import BiATT
from veriscene.models.biatt_pointer import BiATTPointer
from veriscene.models.bidaf import BiDAF
from veriscene.models.bienc import BiENC
from veriscene.models.imagefeat_rnn import ImageFeatRNN
from veriscene.models.maxent import MaxEnt
from veriscene.models.mlp import MLP
from veriscene.models.relation_net import RelationNet
from veriscene.models.size import check_size
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import Vocabulary

__all__ = [
    "MODELS",
    "Fitted",
    "Judgement",
    "Prepared",
    "build",
    "check",
    "chooses_order",
    "is_fitted",
    "reads_in_order",
    "settings_read",
]

# A model's parameters say what it reads: settings, and `vocabulary` (how many words it knows) or `words` themselves.
MODELS: dict[str, Callable[..., nn.Module]] = {
    "maxent": MaxEnt,
    "mlp": MLP,
    "imagefeat-rnn": ImageFeatRNN,
    "relation-net": RelationNet,
    "bidaf": BiDAF,
    "bienc": BiENC,
    "biatt": BiATT,
    "biatt-pointer": BiATTPointer,
}


@runtime_checkable
class Prepared(Protocol):
    """A model that must see the training corpus before it can be trained."""

    def prepare(self, corpus: Batch) -> None: ...


@runtime_checkable
class Fitted(Prepared, Protocol):
    """A model that finds its best weights by itself, without steps."""

    def check_libraries(self) -> None:
        """InputError if one that `fit` needs is not installed; to judge, a model needs none."""

    def fit(self, corpus: Batch) -> None: ...


def build(config: ModelConfig, *, vocabulary: Vocabulary) -> nn.Module:
    """A fresh model of the configured kind for these words."""
    given = {**asdict(config), "vocabulary": len(vocabulary), "words": vocabulary}
    kind = _kind(config)
    return kind(**{name: given[name] for name in inspect.signature(kind).parameters})


def check(config: ModelConfig) -> None:
    """InputError if such a model cannot be trained.

    It is unknown, too large, does not read a setting, has settings that do not go together, or needs what is not
    installed.
    """
    with torch.device("meta"):  # weights of which all but the numbers are there, so none is too large
        model = build(config, vocabulary=Vocabulary.of((), minimum_count=1))
    sizes = [f"model.{name}={getattr(config, name)}" for name in SIZES if name in settings_read(config)]
    check_size(
        sum(weight.numel() for weight in model.parameters()), what=config.name, cure=f"lower some of {', '.join(sizes)}"
    )
    if isinstance(model, Fitted):
        model.check_libraries()
    read, usual = settings_read(config), asdict(ModelConfig(name=config.name))
    for key, value in asdict(config).items():
        if key not in ("name", *read) and value != usual[key]:
            settings = ", ".join(f"model.{name}" for name in read)
            raise InputError(f"model.{key} has no effect on {config.name}; what it reads is {settings}")


def settings_read(config: ModelConfig) -> list[str]:
    """The names of those settings that models of this kind read."""
    parameters = inspect.signature(_kind(config)).parameters
    return [setting.name for setting in fields(ModelConfig) if setting.name in parameters]


def reads_in_order(model: object) -> bool:
    """Whether it makes a difference to a model, or to models of a kind, in which order items come."""
    return bool(getattr(model, "reads_in_order", True))


def chooses_order(model: object) -> bool:
    """Whether a model reads items in an order of its own choice."""
    return bool(getattr(model, "chooses_order", False))


def is_fitted(config: ModelConfig) -> bool:
    """Whether models of this kind are Fitted."""
    return hasattr(_kind(config), "fit")


def _kind(config: ModelConfig) -> Callable[..., nn.Module]:
    if config.name not in MODELS:
        raise InputError(f"unknown model {config.name!r}; choose from {', '.join(sorted(MODELS))}")
    return MODELS[config.name]
