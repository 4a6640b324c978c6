"""Small examples and small models. Every size differs from every other, so that no mix-up of two goes unseen."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from veriscene.models import MODELS
from veriscene.models.layers.pooling import POOLINGS
from veriscene.tensors.batch import Batch
from veriscene.tensors.features import ITEM_FEATURES

VOCABULARY = 11
SIZES = {"vocabulary": VOCABULARY, "embedding": 5, "hidden": 4, "item": 3}
# With the paper's equations written out in reference.py; those of the other models stand in their own tests.
KINDS = (
    *(("bienc", pooling) for pooling in ("max", "mean")),
    *(("biatt", pooling) for pooling in POOLINGS),
    ("biatt-pointer", "max"),
)
ALL_KINDS = (*KINDS, *((name, pooling) for name in ("relation-net", "bidaf") for pooling in POOLINGS))


@dataclass(frozen=True)
class Toy:
    """An example without padding: word numbers, and for each box the features of its items."""

    words: list[int]
    boxes: list[np.ndarray]  # three times (item, ITEM_FEATURES)
    label: bool

    @property
    def counts(self) -> list[int]:
        return [len(box) for box in self.boxes]


def toys(seed: int, *, counts: Sequence[Sequence[int]], lengths: Sequence[int]) -> list[Toy]:
    rng = np.random.default_rng(seed)
    return [
        Toy(
            words=rng.integers(1, VOCABULARY, length).tolist(),
            boxes=[rng.uniform(-1, 1, (count, ITEM_FEATURES)) for count in of_boxes],
            label=bool(rng.integers(2)),
        )
        for of_boxes, length in zip(counts, lengths, strict=True)
    ]


def mixed_toys(seed: int = 0) -> list[Toy]:
    """Lengths and counts that differ between and within the examples; the shortest and the longest among them."""
    counts = [(1, 4, 2), (3, 3, 1), (5, 1, 1), (2, 2, 3), (1, 1, 1)]
    return toys(seed, counts=counts, lengths=[4, 7, 1, 2, 5])


def batch_of(examples: Sequence[Toy], *, more_words: int = 0, more_items: int = 0) -> Batch:
    """One batch in float64. The padding holds rubbish, which no model may see."""
    rubbish = np.random.default_rng(99)
    longest = max(len(example.words) for example in examples) + more_words
    fullest = max(max(example.counts) for example in examples) + more_items
    words = rubbish.integers(0, VOCABULARY, (len(examples), longest))
    items = rubbish.normal(0, 5, (len(examples), 3, fullest, ITEM_FEATURES))
    for row, example in enumerate(examples):
        words[row, : len(example.words)] = example.words
        for box, features in enumerate(example.boxes):
            items[row, box, : len(features)] = features
    return Batch(
        words=torch.from_numpy(words),
        lengths=torch.tensor([len(example.words) for example in examples]),
        items=torch.from_numpy(items),
        counts=torch.tensor([example.counts for example in examples]),
        positions=torch.arange(fullest).expand(len(examples), 3, fullest),
        labels=torch.tensor([float(example.label) for example in examples], dtype=torch.float64),
    )


def toy_model(
    name: str, pooling: str = "max", *, dropout: float = 0.0, coordinates: str = "corner", seed: int = 0
) -> nn.Module:
    """A model in float64 whose every parameter, biases included, is random and large enough to matter."""
    sizes = {**SIZES, "joint": 7, "mlp": 6}
    read = inspect.signature(MODELS[name]).parameters
    own = {key: sizes[key] for key in sizes if key in read}
    model = MODELS[name](**own, dropout=dropout, pooling=pooling, coordinates=coordinates)
    model.double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            scale = 2.0 if key.startswith("pointer.") else 0.7  # a pointer that has preferences
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def make_dropout_show(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """Makes dropout a fixed factor for each unit, which shows where it was applied; gives that for a reference."""

    def drop(vector: Any) -> Any:
        factors = 0.6 + 0.1 * np.arange(vector.shape[-1])
        return vector * (torch.from_numpy(factors) if isinstance(vector, torch.Tensor) else factors)

    def fixed_dropout(vector: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        return drop(vector) if training else vector

    monkeypatch.setattr(torch.nn.functional, "dropout", fixed_dropout)
    return drop
