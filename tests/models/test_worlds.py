"""Models that read items work in every world: other attributes, any number of boxes, empty boxes, free extents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.testing import assert_close
from toy import toy_config

from some_worlds import NLVR, ODD, SHELF, scenes_of
from veriscene import models
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Encoder, Input, ItemOrder
from veriscene.data.items import Attributes, extents
from veriscene.data.vocabulary import Vocabulary
from veriscene.models import MODELS, Model
from veriscene.models.biatt_pointer import BiATTPointer, greedy
from veriscene.models.layers.geometry import COMPARISONS, count_features, looks
from veriscene.models.layers.pooling import POOLINGS
from veriscene.models.maxent import NO_FEATURE, agreements, quantities
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Scene
from veriscene.world.schema import World
from veriscene.world.world_file import world_of

# A categorical attribute gives extents of unequal proportions; there is nothing else to tell items apart.
BRICKS: World = world_of(
    {
        "name": "bricks",
        "canvas": [60, 80],
        "boxes": [1, 3],
        "items": [0, 4],
        "attributes": {"brick": {"values": {"lying": {"extent": [20, 8]}, "standing": {"extent": [8, 20]}}}},
    },
    where="tests",
)
# Ordered extents whose proportions differ.
SIGNS: World = world_of(
    {
        "name": "signs",
        "canvas": [60, 80],
        "boxes": 2,
        "items": [1, 4],
        "attributes": {
            "format": {
                "kind": "ordered",
                "values": {"slim": {"extent": [5, 30]}, "square": {"extent": [12, 12]}, "wide": {"extent": [40, 6]}},
            }
        },
    },
    where="tests",
)
NAMES = [name for name, kind in MODELS.items() if Input.ITEMS in kind.inputs]
WORLDS = [NLVR, SHELF, ODD, BRICKS, SIGNS]
CLOSE = {"atol": 1e-9, "rtol": 1e-9}
STATEMENTS = ("there are two of them", "there is no such thing", "a thing", "exactly 3 things touch the wall here")
BOXES = [world for world in WORLDS if world.boxes[0] < world.boxes[1]]


def examples_of(world: World, count: int = 24, seed: int = 1) -> list[Example]:
    """Scenes with every number of boxes, some of them empty where the world allows it."""
    rng = random.Random(seed)
    found = []
    for number, scene in enumerate(scenes_of(world, count, seed)):
        boxes = list(scene.boxes)
        if world.items[0] == 0 and number % 3 == 0:
            boxes[rng.randrange(len(boxes))] = Box(())
        found.append(Example(f"{number}-0", STATEMENTS[number % 4], Scene(tuple(boxes)), number % 5 < 2, world=world))
    assert len({len(example.scene.boxes) for example in found}) == world.boxes[1] - world.boxes[0] + 1
    return found


def model_in(world: World, name: str, **changes: object) -> tuple[Model, Encoder]:
    """A small model with random weights, in inference and in float64, and its encoder."""
    examples = examples_of(world)
    vocabulary = Vocabulary.of((example.statement for example in examples), minimum_count=1)
    encoder = Encoder(vocabulary, world, MODELS[name].inputs, ItemOrder.FILE)
    torch.manual_seed(0)
    model = models.build(toy_config(name, **changes), vocabulary=vocabulary, world=world)
    model.prepare(encoder(examples))
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for tensor in (*model.parameters(), *([model.weights] if name == "maxent" else [])):  # type: ignore[list-item]
            tensor.copy_(0.7 * torch.randn(tensor.shape, generator=generator))
        if name == "maxent":
            model.weights[NO_FEATURE] = 0  # type: ignore[operator]
    return model.double().eval(), encoder


def logits_of(model: Model, batch: Batch) -> Tensor:
    items = required(batch.items)
    with torch.no_grad():
        return model(replace(batch, items=replace(items, features=items.features.double()))).logits


def together_and_alone(model: Model, encoder: Encoder, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    alone = torch.cat([logits_of(model, encoder([example])) for example in examples])
    return logits_of(model, encoder(examples)), alone


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("name", NAMES)
def test_a_verdict_is_finite_and_independent_of_padding_and_the_rest_of_the_batch(name: str, world: World) -> None:
    model, encoder = model_in(world, name)
    examples = examples_of(world)
    together, alone = together_and_alone(model, encoder, examples)
    assert together.isfinite().all() and together.unique().numel() > 5
    assert_close(together, alone, **CLOSE)
    whole = encoder(examples)
    smaller = torch.tensor([number for number, each in enumerate(examples) if len(each.scene.items) < 4] or [0])
    assert_close(logits_of(model, whole[smaller]), alone[smaller], **CLOSE)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("name", [name for name in NAMES if "pooling" in vars(MODELS[name].Config())])
def test_every_pooling_excludes_boxes_that_do_not_exist(name: str, pooling: str) -> None:
    if name == "bienc" and pooling not in ("max", "mean"):
        return
    model, encoder = model_in(SHELF, name, pooling=pooling)
    examples = examples_of(SHELF)
    batch = encoder(examples)
    items = required(batch.items)
    before = logits_of(model, batch)
    noise = torch.randn(items.features.shape, generator=torch.Generator().manual_seed(1))
    features = torch.where(required(items.box_mask)[..., None, None], items.features, noise)
    after = logits_of(model, replace(batch, items=replace(items, features=features)))
    assert_close(after, before, **CLOSE)


@pytest.mark.parametrize("world", BOXES, ids=lambda world: world.name)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("maxent", "mlp")])  # these count
def test_an_empty_box_differs_from_no_box_and_from_a_box_with_an_item(name: str, world: World) -> None:
    """An empty box is something that statements are about; a box that does not exist is not."""
    model, encoder = model_in(world, name, **({"pooling": "mean"} if "pooling" in vars(MODELS[name].Config()) else {}))
    scene = next(e.scene for e in examples_of(world) if len(e.scene.boxes) == 1 and e.scene.items)
    item = scene.items[0]
    scenes = [scene, Scene((*scene.boxes, Box(()))), Scene((*scene.boxes, Box((item,))))]
    batch = encoder([Example(f"{number}-0", STATEMENTS[0], each) for number, each in enumerate(scenes)])
    if name == "imagefeat-rnn":  # its flat vector has free slots for both
        assert not torch.equal(*logits_of(model, batch)[1:].split(1))
    else:
        assert logits_of(model, batch).unique().numel() == 3


@pytest.mark.parametrize("world", [NLVR, SHELF, ODD], ids=lambda world: world.name)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "maxent"])
def test_gradients_are_finite_and_a_few_steps_reduce_the_loss(name: str, world: World) -> None:
    model, encoder = model_in(world, name)
    torch.manual_seed(3)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    # Whether a scene has a full first box is something that each of these models can see.
    examples = [
        replace(each, statement=STATEMENTS[0], label=len(each.scene.boxes[0].items) >= 2)
        for each in examples_of(world, 48)
    ]
    batch = encoder(examples)
    items = required(batch.items)
    batch = replace(batch, items=replace(items, features=items.features.double()))
    labels = required(batch.labels).double()
    assert 0 < labels.mean() < 1
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    losses = []
    for _ in range(60):
        judgement = model.train().judge(batch, greedy) if isinstance(model, BiATTPointer) else model.train()(batch)
        loss = binary_cross_entropy_with_logits(judgement.logits, labels)
        surrogate = loss if judgement.log_probability is None else loss - 1e-3 * judgement.log_probability.mean()
        optimizer.zero_grad()
        surrogate.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
        optimizer.step()
        losses.append(loss.item())
        if losses[-1] < 0.9 * losses[0]:
            break
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_features_say_how_large_items_are(world: World) -> None:
    items = [item for example in examples_of(world) for item in example.scene.items]
    features = torch.tensor([world.features(item) for item in items], dtype=torch.float64)
    expected = torch.tensor([[item.width, item.height] for item in items], dtype=torch.float64)
    assert_close(extents(features, world), expected)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_counts_compare_only_boxes_that_exist(world: World) -> None:
    examples = examples_of(world)
    batch = Encoder(Vocabulary.of(STATEMENTS, minimum_count=1), world, order=ItemOrder.FILE)(examples)
    items = required(batch.items)
    compared = count_features(looks(items, world), world, items.box_mask)[:, :, 0, -COMPARISONS:]
    attributes = Attributes.of(items, world)
    image, boxes = quantities(attributes, items, world)
    for row, example in enumerate(examples):
        sizes = [len(box.items) for box in example.scene.boxes]
        for box, size in enumerate(sizes):
            as_many = sizes.count(size) - 1
            expected = [as_many >= 1, as_many >= 2, size == min(sizes), size == max(sizes)]
            assert compared[row, box].bool().tolist() == expected
        for number in range(4):
            agree = agreements(torch.full((len(examples), 1), number), image, boxes, items.box_mask)[row, 0]
            # The last count of a box is that of its items.
            assert bool(agree[-1]) == (number <= min(sizes))
            assert bool(agree[-1 - boxes.size(-1)]) == (number in sizes)
