"""Scenes, examples and checkpoints that several tests need, made by the project itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import torch
from hypothesis import strategies as st

from veriscene import models
from veriscene.config import Config, ModelConfig
from veriscene.scenes.nlvr import Example
from veriscene.scenes.scene import BOX_EXTENT, Box, Color, Item, Scene, Shape, Size
from veriscene.tensors.vocabulary import Vocabulary
from veriscene.training.checkpoint import Checkpoint


def random_box(rng: random.Random, most: int = 8) -> Box:
    """Up to `most` items that lie inside the box and not over one another."""
    items: list[Item] = []
    for _ in range(rng.randint(1, most)):
        size = rng.choice(list(Size))
        item = Item(
            x=rng.randint(0, BOX_EXTENT - size.value),
            y=rng.randint(0, BOX_EXTENT - size.value),
            size=size,
            shape=rng.choice(list(Shape)),
            color=rng.choice(list(Color)),
        )
        if all(item.distance(other) >= 1 for other in items):
            items.append(item)
    return Box(tuple(items))


def random_scene(rng: random.Random, most: int = 8) -> Scene:
    return Scene((random_box(rng, most), random_box(rng, most), random_box(rng, most)))


# The presets are tuned; these settings take that back, for tests of the machinery.
UNTUNED = [
    "model.forget_bias=0.0",
    "training.learning_rate=1e-4",
    "training.weight_decay=0.0",
    "training.label_smoothing=0.0",
    "training.average=0.0",
    "training.evaluate_every=0",
    "training.policy_weight=1.0",
    "training.agreement=0.0",
    "training.precision=tf32",
]


def yellow_circle_examples(count: int, seed: int = 0) -> list[Example]:
    """A task that a small model learns: is there a circle of the named colour?"""
    rng = random.Random(seed)
    examples = []
    for number in range(count):
        scene, color = random_scene(rng, most=4), rng.choice(list(Color))
        truth = any(item.shape is Shape.CIRCLE and item.color is color for item in scene.items)
        statement = rng.choice(["There is a {} circle.", "There is at least one {} circle"])
        examples.append(Example(f"{number // 4}-{number % 4}", statement.format(color.name.lower()), scene, truth))
    return examples


scenes = st.builds(lambda seed: random_scene(random.Random(seed)), st.integers(0, 2**32))
identifiers = st.builds(lambda n, m: f"{n}-{m}", st.integers(0, 9999), st.integers(0, 3))
statements = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text.strip() != "")
examples = st.builds(
    Example,
    identifier=identifiers,
    statement=statements,
    scene=scenes,
    label=st.none() | st.booleans(),
    directory=st.none() | st.integers(0, 99).map(str),
)


def write_corpus(folder: Path, train: list[Example], dev: list[Example]) -> Path:
    from veriscene.scenes import nlvr

    nlvr.write(folder / "train" / "train.json", train)
    nlvr.write(folder / "dev" / "dev.json", dev)
    return folder


def fresh_checkpoint(name: str, examples: Sequence[Example]) -> Checkpoint:
    """A small model of that kind which has learnt nothing yet, and knows all words of the examples."""
    torch.manual_seed(1)
    vocabulary = Vocabulary.of((example.statement for example in examples), minimum_count=1)
    sizes = ModelConfig(name=name, embedding=4, hidden=6, item=4, joint=6, mlp=5)
    return Checkpoint(models.build(sizes, vocabulary=vocabulary), Config(model=sizes), vocabulary, {})
