"""Counts of looks around items, in boxes and in scenes: what counting the scene's own items gives."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from samples import random_scene
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.models.layers.geometry import (
    count_feature_count,
    count_features,
    look_count,
    looks,
    neighbour_feature_count,
    neighbour_features,
    pair_features,
)
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds.nlvr.looks import WORLD, Color, Shape, Size

ENCODE = Encoder(Vocabulary(SPECIAL), WORLD, order=ItemOrder.FILE)
SCENES = st.randoms(use_true_random=False).map(random_scene)
KINDS = [
    lambda i: True,
    *(lambda i, look=look: look in dict(i.values).values() for look in (*Color, *Shape, *Size)),
    *(lambda i, c=color, s=shape: i["color"] == c and i["shape"] == s for color in Color for shape in Shape),
]


def thresholds(items: Sequence[Item], most: int) -> list[float]:
    counts = [sum(map(kind, items)) for kind in KINDS]
    return [float(count >= least) for count in counts for least in range(1, most + 1)]


def expected_neighbours(i: Item, box: Box) -> list[float]:
    others = [j for j in box.items if j is not i]
    sides = [
        [j for j in others if j.right <= i.x],
        [j for j in others if j.x >= i.right],
        [j for j in others if j.y >= i.lower],
        [j for j in others if j.lower <= i.y],
    ]
    close = [j for j in others if WORLD.touches(i, j, margin=4)]
    groups = [
        *sides,
        *([j for j in side if j in close] for side in sides),
        [j for j in others if WORLD.touches(i, j)],
        close,
    ]
    return [value for group in groups for value in thresholds(group, 3)]


def expected_counts(box: Box, scene: Scene) -> list[float]:
    everything = [item for each in scene.boxes for item in each.items]
    sizes, size = [len(each.items) for each in scene.boxes], len(box.items)
    as_many = sizes.count(size) - 1
    compared = [as_many >= 1, as_many >= 2, size == min(sizes), size == max(sizes)]
    return [*thresholds(box.items, 8), *thresholds(everything, 8), *map(float, compared)]


@settings(deadline=None, max_examples=30)
@given(SCENES)
def test_counts_are_those_of_the_scene_whatever_the_padding_holds(scene):
    items = ENCODE([Example("1-1", "a", scene)]).items
    noise = torch.randint(0, 2, items.features.shape).float()
    items = replace(items, features=torch.where(items.mask[..., None], items.features, noise))
    kinds = looks(items, WORLD)
    neighbours, counts = (
        neighbour_features(pair_features(items.features, WORLD), kinds)[0],
        count_features(kinds, WORLD, None)[0],
    )
    assert kinds.shape[-1] == look_count(WORLD)
    assert neighbours.shape[-1] == neighbour_feature_count(WORLD) and counts.shape[-1] == count_feature_count(WORLD)
    for box, whole in enumerate(scene.boxes):
        for place, item in enumerate(whole.items):
            assert kinds[0, box, place].tolist() == [float(kind(item)) for kind in KINDS]
            assert_close(neighbours[box, place], torch.tensor(expected_neighbours(item, whole)), atol=1e-5, rtol=0)
            assert counts[box, place].tolist() == expected_counts(whole, scene)
