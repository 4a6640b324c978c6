"""Every model: Batch -> Judgement. This file is the only place that reads a model's configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Protocol, runtime_checkable

from torch import nn

from veriscene.config import ModelConfig
from veriscene.errors import InputError
from veriscene.models.biatt import BiATT
from veriscene.models.bidaf import BiDAF
from veriscene.models.bienc import BiENC
from veriscene.models.imagefeat_rnn import ImageFeatRNN
from veriscene.models.judgement import Judgement
from veriscene.models.maxent import MaxEnt
from veriscene.models.mlp import MLP
from veriscene.models.pointer import BiATTPointer
from veriscene.models.relation import RelationNet
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import Vocabulary

__all__ = [
    "MODELS",
    "Fitted",
    "Judgement",
    "Prepared",
    "build",
    "check",
    "check_changes",
    "chooses_order",
    "has_effect",
    "is_fitted",
    "reads_in_order",
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

    def fit(self, corpus: Batch) -> None: ...


def build(config: ModelConfig, *, vocabulary: Vocabulary) -> nn.Module:
    """A fresh model of the configured kind for these words."""
    given = {**asdict(config), "vocabulary": len(vocabulary), "words": vocabulary}
    kind = _kind(config)
    return kind(**{name: given[name] for name in inspect.signature(kind).parameters})


def check(config: ModelConfig) -> None:
    """InputError for an unknown model, a setting that it does not read, or settings that do not go together."""
    build(config, vocabulary=Vocabulary.of((), minimum_count=1))
    read, usual = inspect.signature(_kind(config)).parameters, asdict(ModelConfig(name=config.name))
    for key, value in asdict(config).items():
        if key not in read and value != usual[key]:
            settings = ", ".join(f"model.{name}" for name in usual if name in read)
            raise InputError(f"model.{key} has no effect on {config.name}; what it reads is {settings}")


def reads_in_order(model: object) -> bool:
    """Whether it makes a difference to a model, or to models of a kind, in which order items come."""
    return bool(getattr(model, "reads_in_order", True))


def chooses_order(model: object) -> bool:
    """Whether a model reads items in an order of its own choice."""
    return bool(getattr(model, "chooses_order", False))


def has_effect(config: ModelConfig, key: str) -> bool:
    """Whether the setting of that name, `section.key`, makes a difference to what such a model becomes."""
    kind, (section, _, name) = _kind(config), key.partition(".")
    if section == "model":
        return name == "name" or name in inspect.signature(kind).parameters
    if key == "data.order":
        return reads_in_order(kind)
    if key == "training.policy_weight":
        return chooses_order(kind)
    # What is fitted has no steps that anything could change, only words and examples.
    return not is_fitted(config) or key in ("data.minimum_count", "data.statements", "data.level", "data.corpus_seed")


def check_changes(config: ModelConfig, changes: Iterable[str]) -> None:
    """InputError for a `section.key=value` that makes no difference: who asks for it believes that it does."""
    for change in changes:
        key = change.partition("=")[0].strip()
        if not key.startswith("model.") and not has_effect(config, key):  # of the model's own `check` says more
            raise InputError(f"--set {change}: {key} has no effect on {config.name}")


def is_fitted(config: ModelConfig) -> bool:
    """Whether models of this kind are Fitted."""
    return hasattr(_kind(config), "fit")


def _kind(config: ModelConfig) -> Callable[..., nn.Module]:
    if config.name not in MODELS:
        raise InputError(f"unknown model {config.name!r}; choose from {', '.join(sorted(MODELS))}")
    return MODELS[config.name]
