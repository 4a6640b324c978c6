"""What items have to do with walls and one another, how many there are, and where: what the scene itself says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from toy import batch_of, mixed_toys, toy_model

from samples import random_scene
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.data.items import CORNER
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.models.layers.geometry import (
    count_features,
    encode_positions,
    looks,
    neighbour_features,
    pair_features,
    wall_features,
)
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Item, Scene, Side
from veriscene.worlds.nlvr.looks import BOX_EXTENT, WORLD, Color, Shape, Size, make_item

# ---------------------------------------------------------------- walls and pairs

ENCODE = Encoder(Vocabulary(SPECIAL), WORLD, order=ItemOrder.FILE)
WALLS = (Side.LEFT, Side.RIGHT, Side.BOTTOM, Side.TOP)
SCENES = st.randoms(use_true_random=False).map(random_scene)


def expected_walls(item: Item) -> list[float]:
    gaps = (item.x, BOX_EXTENT - item.right, BOX_EXTENT - item.lower, item.y)
    features = [gap / BOX_EXTENT for gap in gaps]
    for margin in (0, 4):
        touched = WORLD.walls_of(item, margin)
        features += [*(float(side in touched) for side in WALLS), float(bool(touched)), float(len(touched) == 2)]
    return features


def expected_pair(i: Item, j: Item, *, same_box: bool) -> list[float]:
    gaps = (i.x - j.right, j.x - i.right, j.y - i.lower, i.y - j.lower)
    within = [
        *(gap / BOX_EXTENT for gap in gaps),
        *(float(gap >= 0) for gap in gaps),
        float(min(map(abs, gaps)) <= 4),
        float(WORLD.touches(i, j)),
        float(WORLD.touches(i, j, margin=4)),
        float(max(gaps[:2]) < 0),
        float(max(gaps[2:]) < 0),
    ]
    if i is j or not same_box:
        within = [0.0] * len(within)
    looks = [float(i[name] == j[name]) for name in ("color", "shape", "size")]
    return [*within, *looks, (i.width - j.width) / BOX_EXTENT, float(same_box), float(i is j)]


@settings(deadline=None, max_examples=60)
@given(SCENES)
def test_features_are_those_of_the_scene(scene):
    features = ENCODE([Example("1-1", "a", scene)]).items.features
    walls, pairs, fullest = wall_features(features, WORLD)[0], pair_features(features, WORLD)[0], features.size(2)
    placed = [
        (box * fullest + k, box, item) for box, whole in enumerate(scene.boxes) for k, item in enumerate(whole.items)
    ]
    for row, box, i in placed:
        assert_close(walls[box, row % fullest], torch.tensor(expected_walls(i)), atol=1e-5, rtol=0)
        for column, other_box, j in placed:
            expected = torch.tensor(expected_pair(i, j, same_box=box == other_box))
            assert_close(pairs[row, column], expected, atol=1e-5, rtol=0)


# ---------------------------------------------------------------- counts of looks

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
    for box, whole in enumerate(scene.boxes):
        for place, item in enumerate(whole.items):
            assert kinds[0, box, place].tolist() == [float(kind(item)) for kind in KINDS]
            assert_close(neighbours[box, place], torch.tensor(expected_neighbours(item, whole)), atol=1e-5, rtol=0)
            assert counts[box, place].tolist() == expected_counts(whole, scene)


# ---------------------------------------------------------------- coordinates

EDGES = st.integers(0, BOX_EXTENT)


@given(st.sampled_from(Size), EDGES, EDGES, st.sampled_from(Shape), st.sampled_from(Color))
def test_contact_is_the_share_of_the_way_from_wall_to_wall_halved_unless_the_item_touches(size, x, y, shape, color):
    last = BOX_EXTENT - size.extent
    x, y = min(x, last), min(y, last)
    features = torch.tensor(WORLD.features(make_item(x, y, size, shape, color)))
    way = [2 * edge / last - 1 for edge in (x, y)]
    expected = [w if edge in (0, last) else w / 2 for w, edge in zip(way, (x, y), strict=True)]
    contact = encode_positions(features, "contact", WORLD)
    assert contact[CORNER].tolist() == pytest.approx(expected, abs=1e-6)
    assert torch.equal(contact[CORNER.stop :], features[CORNER.stop :])
    assert torch.equal(encode_positions(features, "corner", WORLD), features)


@pytest.mark.parametrize("name", ["bienc", "biatt", "biatt-pointer", "bidaf", "relation-net"])
def test_a_model_reads_positions_in_its_coordinates(name):
    batch = batch_of(mixed_toys())
    features = encode_positions(batch.items.features, "contact", WORLD)
    encoded = replace(batch, items=replace(batch.items, features=features))
    contact, corner = (toy_model(name, coordinates=each).eval() for each in ("contact", "corner"))
    torch.testing.assert_close(contact(batch).logits, corner(encoded).logits)
    assert not torch.allclose(contact(batch).logits, corner(batch).logits)
