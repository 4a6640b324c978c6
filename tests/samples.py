"""Scenes, examples and checkpoints that several tests need, made by the project itself.

Tests on a GPU machine import this file too, where hypothesis is not installed: its strategies are in strategies.py.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from veriscene import models
from veriscene.config import Config, ModelConfig
from veriscene.data.vocabulary import Vocabulary
from veriscene.models.biatt_pointer import Choose
from veriscene.world.examples import Example, write
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds.nlvr.looks import BOX_EXTENT, WORLD, Color, SceneKind, Shape, Size, make_item
from veriscene.worlds.nlvr.scenes import draw_scenes

if TYPE_CHECKING:
    from veriscene.judge.checkpoint import Checkpoint


def random_box(rng: random.Random, most: int = 8) -> Box:
    """Up to `most` items that lie inside the box and do not overlap."""
    items: list[Item] = []
    for _ in range(rng.randint(1, most)):
        size = rng.choice(list(Size))
        x, y = rng.randint(0, BOX_EXTENT - size.extent), rng.randint(0, BOX_EXTENT - size.extent)
        item = make_item(x, y, size, rng.choice(list(Shape)), rng.choice(list(Color)))
        if all(item.distance(other) >= 1 for other in items):
            items.append(item)
    return Box(tuple(items))


def random_scene(rng: random.Random, most: int = 8) -> Scene:
    return Scene((random_box(rng, most), random_box(rng, most), random_box(rng, most)))


def drawn_scene(seed: int, kind: SceneKind) -> Scene:
    """A scene as the teacher draws it, which is determined by the seed."""
    return draw_scenes(np.random.default_rng(seed), kind, 1).scenes()[0]


# Changes that undo the tuning of the presets, for tests of the machinery.
UNTUNED = [
    "model.forget_bias=0.0",
    "training.learning_rate=1e-4",
    "training.weight_decay=0.0",
    "training.label_smoothing=0.0",
    "training.ema=0.0",
    "training.evaluate_every=0",
    "training.policy_weight=1.0",
    "training.r_drop=0.0",
    "training.precision=tf32",
]


def yellow_circle_examples(count: int, seed: int = 0) -> list[Example]:
    """A task that a small model learns: is there a circle of the named colour?"""
    rng = random.Random(seed)
    examples = []
    for number in range(count):
        scene, color = random_scene(rng, most=4), rng.choice(list(Color))
        truth = any(item["shape"] == Shape.CIRCLE and item["color"] == color for item in scene.items)
        statement = rng.choice(["There is a {} circle.", "There is at least one {} circle"])
        examples.append(Example(f"{number // 4}-{number % 4}", statement.format(color), scene, truth))
    return examples


def write_corpus(folder: Path, train: list[Example], dev: list[Example]) -> Path:
    write(folder / "train" / "train.json", train, WORLD)
    write(folder / "dev" / "dev.json", dev, WORLD)
    return folder


def small_config(name: str, **changes: Any) -> ModelConfig:
    """The settings of a small model of that kind; sizes that it does not have are left out."""
    sizes = {"embedding": 4, "hidden": 6, "item": 4, "joint": 6, "mlp": 5, "filters": 7}
    kind = models.MODELS[name].Config
    return kind(name=name, **{f.name: sizes[f.name] for f in fields(kind) if f.name in sizes} | changes)


def vocabulary_of(examples: Sequence[Example]) -> Vocabulary:
    """All words of the examples."""
    return Vocabulary.of((example.statement for example in examples), minimum_count=1)


def fresh_checkpoint(name: str, examples: Sequence[Example]) -> Checkpoint:
    """A small untrained model of that kind, which knows all words of the examples."""
    from veriscene.judge.checkpoint import Checkpoint

    torch.manual_seed(1)
    config, vocabulary = Config(model=small_config(name)), vocabulary_of(examples)
    model = models.build(config.model, vocabulary=vocabulary, world=WORLD).eval()
    return Checkpoint(model, config, models.encoder(config, vocabulary, WORLD), {})


def given(order: torch.Tensor) -> Choose:
    """A pointer's choice that follows an order chosen elsewhere."""
    return lambda place, _log_p: order[:, :, place]
