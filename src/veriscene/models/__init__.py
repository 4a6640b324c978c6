"""Every model: Batch -> Judgement. This file is the only place that reads a model's configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict

from torch import nn

from veriscene.config import ModelConfig
from veriscene.errors import InputError
from veriscene.models.biatt import BiATT
from veriscene.models.bienc import BiENC
from veriscene.models.judgement import Judgement
from veriscene.models.pointer import BiATTPointer
from veriscene.tensors.vocabulary import Vocabulary

__all__ = ["MODELS", "Judgement", "build"]

# A model's parameters say what it reads: settings, and `vocabulary` (how many words it knows) or `words` themselves.
MODELS: dict[str, Callable[..., nn.Module]] = {
    "bienc": BiENC,
    "biatt": BiATT,
    "biatt-pointer": BiATTPointer,
}


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


def _kind(config: ModelConfig) -> Callable[..., nn.Module]:
    if config.name not in MODELS:
        raise InputError(f"unknown model {config.name!r}; choose from {', '.join(sorted(MODELS))}")
    return MODELS[config.name]
