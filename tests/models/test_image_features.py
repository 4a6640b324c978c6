"""The flat vector of ImageFeat+RNN agrees with a slow reference, slot by slot."""

from __future__ import annotations

import random

import pytest
import torch
from padding import with_random_padding

from samples import random_scene
from veriscene import worlds
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.models.rnn_baselines import image_feature_count, image_features
from veriscene.world.examples import Example
from veriscene.world.scene import Scene, Side
from veriscene.worlds.nlvr.looks import MAX_ITEMS, WORLD, Color, Shape, Size

ENCODER = Encoder(Vocabulary(SPECIAL), WORLD, order=ItemOrder.FILE)


def reference(scene: Scene) -> list[float]:
    numbers: list[bool] = []
    for box in scene.boxes:
        slots = [*box.items, *[None] * (MAX_ITEMS - len(box.items))]
        for item in slots:
            numbers.append(item is not None)
            numbers += [item is not None and item["color"] == color for color in Color]
            numbers += [item is not None and item["shape"] == shape for shape in Shape]
            numbers += [item is not None and item["size"] == size for size in Size]
            numbers += [item is not None and side in WORLD.walls_of(item) for side in Side]
            for other in slots:
                both = item is not None and other is not None
                numbers += [
                    both and item.x < other.x,
                    both and item.x > other.x,
                    both and item.y < other.y,
                    both and item.y > other.y,
                ]
    return [float(number) for number in numbers]


def examples_of(scenes: list[Scene]) -> list[Example]:
    return [Example(f"{number}-0", "so it is", scene) for number, scene in enumerate(scenes)]


@pytest.mark.parametrize("most", [1, 3, MAX_ITEMS])
def test_the_vector_is_that_of_the_reference(most):
    rng = random.Random(most)
    scenes = [random_scene(rng, most) for _ in range(30)]
    batch = ENCODER(examples_of(scenes))
    expected = torch.tensor([reference(scene) for scene in scenes])
    assert expected.shape == (30, image_feature_count(WORLD))
    assert torch.equal(image_features(batch.items, WORLD), expected)
    assert torch.equal(
        image_features(with_random_padding(batch, more_items=MAX_ITEMS - batch.items.features.size(2)).items, WORLD),
        expected,
    )


def test_the_vector_is_that_of_the_reference_on_nlvr(nlvr_folder):
    examples = worlds.read(nlvr_folder / "dev" / "dev.json")[::10]
    expected = torch.tensor([reference(example.scene) for example in examples])
    vectors = image_features(ENCODER(examples).items, WORLD)
    assert torch.equal(vectors, expected)
    per_slot = expected.view(-1, image_feature_count(WORLD) // (3 * MAX_ITEMS))
    assert per_slot[:, : 11 + len(Side)].any(dim=0).all()  # every kind of item and of contact occurs
