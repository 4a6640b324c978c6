"""Small examples and small models. No two sizes are equal, so that mixing up two dimensions cannot go unnoticed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
import torch

from veriscene import models
from veriscene.config import ModelConfig
from veriscene.data.batch import Batch, Statement
from veriscene.data.encoder import Input
from veriscene.data.items import Items
from veriscene.data.vocabulary import SPECIAL, Vocabulary, spell
from veriscene.models import MODELS, Model
from veriscene.models.layers.pooling import POOLINGS, SCORE_COMBINATIONS
from veriscene.worlds.nlvr.looks import WORLD

VOCABULARY = Vocabulary((*SPECIAL, *"abcdefghi"))
# Of any length.
SPELLING = torch.from_numpy(spell(["", "x", *(letter * length for length, letter in enumerate("abcdefghi", 1))]))
SIZES = {"embedding": 5, "hidden": 4, "item": 3, "joint": 7, "mlp": 6}
# Models of boxes, with every pooling that they have.
POOLED = (
    *(("bienc", pooling) for pooling in SCORE_COMBINATIONS),
    *((name, pooling) for name in ("biatt", "relation-net", "bidaf", "spatial") for pooling in POOLINGS),
    ("biatt-pointer", "max"),
    ("biatt-pointer", "joint"),
)
# Those that see boxes or items in fixed places, which padding and permutations of these tests are not about.
SLOTTED = {"maxent", "mlp", "imagefeat-rnn"}
# A model that is added is tested by default.
KINDS = (
    *POOLED,
    *(
        (name, "max")
        for name, kind in MODELS.items()
        if Input.ITEMS in kind.inputs and name not in SLOTTED | {name for name, _ in POOLED}
    ),
)


@dataclass(frozen=True)
class Toy:
    """An example without padding: word numbers, and for each box the features of its items."""

    words: list[int]
    boxes: list[np.ndarray]  # three times (item, WORLD.feature_count)
    label: bool

    @property
    def counts(self) -> list[int]:
        return [len(box) for box in self.boxes]


def toys(seed: int, *, counts: Sequence[Sequence[int]], lengths: Sequence[int]) -> list[Toy]:
    rng = np.random.default_rng(seed)
    return [
        Toy(
            words=rng.integers(1, len(VOCABULARY), length).tolist(),
            boxes=[rng.uniform(-1, 1, (count, WORLD.feature_count)) for count in of_boxes],
            label=bool(rng.integers(2)),
        )
        for of_boxes, length in zip(counts, lengths, strict=True)
    ]


def mixed_toys(seed: int = 0) -> list[Toy]:
    """Lengths and counts differ between and within the examples, from the smallest possible on."""
    counts = [(1, 4, 2), (3, 3, 1), (5, 1, 1), (2, 2, 3), (1, 1, 1)]
    return toys(seed, counts=counts, lengths=[4, 7, 1, 2, 5])


def batch_of(examples: Sequence[Toy], *, more_words: int = 0, more_items: int = 0) -> Batch:
    """One batch in float64. The padding holds random values, which no model may read."""
    random = np.random.default_rng(99)
    longest = max(len(example.words) for example in examples) + more_words
    fullest = max(max(example.counts) for example in examples) + more_items
    words = random.integers(0, len(VOCABULARY), (len(examples), longest))
    features = random.normal(0, 5, (len(examples), 3, fullest, WORLD.feature_count))
    for row, example in enumerate(examples):
        words[row, : len(example.words)] = example.words
        for box, own in enumerate(example.boxes):
            features[row, box, : len(own)] = own
    return Batch(
        statement=Statement(
            words=torch.from_numpy(words),
            lengths=torch.tensor([len(example.words) for example in examples]),
            characters=SPELLING[torch.from_numpy(words)],
        ),
        items=Items(
            features=torch.from_numpy(features),
            counts=torch.tensor([example.counts for example in examples]),
            positions=torch.arange(fullest).expand(len(examples), 3, fullest),
        ),
        labels=torch.tensor([float(example.label) for example in examples], dtype=torch.float64),
    )


def toy_config(name: str, *, sizes: dict[str, int] = SIZES, **changes: Any) -> ModelConfig:
    """Sizes that the model does not have are left out."""
    kind = MODELS[name].Config
    return kind(**{f.name: sizes[f.name] for f in fields(kind) if f.name in sizes} | changes)


def toy_model(
    name: str, pooling: str = "max", *, dropout: float = 0.0, coordinates: str = "corner", seed: int = 0, **more: object
) -> Model:
    """A model in float64 whose parameters, biases included, are all random and large enough to matter.

    Settings that the model does not have are left out.
    """
    own, settings = vars(MODELS[name].Config()), {"dropout": dropout, "pooling": pooling, "coordinates": coordinates}
    config = toy_config(name, **{key: value for key, value in settings.items() if key in own}, **more)
    model = models.build(config, vocabulary=VOCABULARY, world=WORLD).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            scale = 2.0 if key.startswith("pointer.") else 0.7  # a pointer far from uniform
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def with_visible_dropout(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """Replaces dropout by a fixed factor for each unit, which shows where it is applied; returns it for a reference."""

    def drop(vector: Any) -> Any:
        factors = 0.6 + 0.1 * np.arange(vector.shape[-1])
        return vector * (torch.from_numpy(factors) if isinstance(vector, torch.Tensor) else factors)

    def fixed_dropout(vector: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        return drop(vector) if training else vector

    monkeypatch.setattr(torch.nn.functional, "dropout", fixed_dropout)
    return drop
