"""Every model: Batch -> Judgement. This file is the only place that reads a model's configuration."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from veriscene.config import ModelConfig
from veriscene.errors import InputError
from veriscene.models.biatt import BiATT
from veriscene.models.bienc import BiENC
from veriscene.models.judgement import Judgement
from veriscene.models.pointer import BiATTPointer

__all__ = ["MODELS", "Judgement", "build"]


def _bienc(config: ModelConfig, vocabulary: int) -> BiENC:
    return BiENC(
        vocabulary=vocabulary,
        embedding=config.embedding,
        hidden=config.hidden,
        item=config.item,
        dropout=config.dropout,
        pooling=config.pooling,
    )


def _biatt(config: ModelConfig, vocabulary: int) -> BiATT:
    return BiATT(
        vocabulary=vocabulary,
        embedding=config.embedding,
        hidden=config.hidden,
        item=config.item,
        joint=config.joint,
        mlp=config.mlp,
        dropout=config.dropout,
        pooling=config.pooling,
    )


def _biatt_pointer(config: ModelConfig, vocabulary: int) -> BiATTPointer:
    return BiATTPointer(comprehension=_biatt(config, vocabulary), hidden=config.hidden, dropout=config.dropout)


MODELS: dict[str, Callable[[ModelConfig, int], nn.Module]] = {
    "bienc": _bienc,
    "biatt": _biatt,
    "biatt-pointer": _biatt_pointer,
}


def build(config: ModelConfig, *, vocabulary: int) -> nn.Module:
    """A fresh model of the configured kind for so many words."""
    if config.name not in MODELS:
        raise InputError(f"unknown model {config.name!r}; choose from {', '.join(sorted(MODELS))}")
    return MODELS[config.name](config, vocabulary)
