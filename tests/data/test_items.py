"""Items as numbers: the feature layout, its inverse, and items in another order."""

from collections import Counter
from itertools import permutations, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_corpora import CORPORA, QUICK, VOCABULARY, items_read
from torch.testing import assert_close

from some_worlds import WORLDS, scenes_of
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.data.items import Attributes, Items, take_items
from veriscene.language.bulk.arrays import ITEM, STATE, SceneArrays
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Scene, Side
from veriscene.world.schema import World
from veriscene.worlds.nlvr.looks import BOX_EXTENT, WORLD, Color, Shape, Size, make_item

ENCODE = Encoder(VOCABULARY, WORLD, order=ItemOrder.FILE)


def test_features_are_distinct_bounded_and_linear_in_the_position():
    everything = [
        make_item(x, y, size, shape, color)
        for size, shape, color in product(Size, Shape, Color)
        for x in range(BOX_EXTENT - size.extent + 1)
        for y in range(0, BOX_EXTENT - size.extent + 1, 5)
    ]
    features = torch.tensor([WORLD.features(item) for item in everything])
    assert features.shape == (len(everything), WORLD.feature_count) == (len(everything), 9)
    assert len(features.unique(dim=0)) == len(everything)
    assert features.abs().max() <= 1
    for one_hot in (features[:, WORLD.columns["shape"]], features[:, WORLD.columns["color"]]):
        assert_close(one_hot.sum(1), torch.ones(len(features)))
        assert set(one_hot.unique().tolist()) == {0.0, 1.0}
    at = {(item.x, item.y): row[:2].tolist() for item, row in zip(everything, features, strict=True)}
    assert at[0, 0] == [-1, -1] and at[50, 25] == [0, -0.5] and at[90, 0] == pytest.approx([0.8, -1])
    sizes = {item["size"]: row[WORLD.columns["size"]].item() for item, row in zip(everything, features, strict=True)}
    assert sizes[Size.SMALL] < sizes[Size.MEDIUM] < sizes[Size.LARGE]


@QUICK
@given(CORPORA)
def test_attributes_invert_the_features(examples):
    attributes = Attributes.of(ENCODE(examples).items, WORLD)
    for row, example in enumerate(examples):
        for box, whole in enumerate(example.scene.boxes):
            for place, item in enumerate(whole.items):
                at = (row, box, place)
                assert (attributes.x[at], attributes.y[at]) == (item.x, item.y)
                for attribute in WORLD.attributes:
                    expected = [item[attribute.name] == choice.name for choice in attribute.choices]
                    assert attributes.values[attribute.name][at].tolist() == expected
                assert attributes.walls[at].tolist() == [side in WORLD.walls_of(item) for side in Side]
            tensors = (attributes.x, attributes.y, attributes.walls, *attributes.values.values())
            assert not any(tensor[row, box, len(whole.items) :].any() for tensor in tensors)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_fields_and_single_items_have_the_same_features(world: World) -> None:
    scenes = scenes_of(world, 30)
    arrays = SceneArrays.of(world, scenes)
    fields = torch.from_numpy(arrays.fields)
    columns = {name: fields[place] for name, place in arrays.layout.columns.items()}
    items = Items.of_fields(world, columns, fields[STATE] == ITEM, None)
    assert items.counts.tolist() == arrays.mask.sum(axis=2).tolist()
    for row, scene in enumerate(scenes):
        for box, whole in enumerate(scene.boxes):
            expected = torch.zeros(items.features.shape[2:])
            for place, item in enumerate(whole.items):
                expected[place] = torch.tensor(world.features(item))
            assert_close(items.features[row, box], expected, atol=1e-6, rtol=0)


@QUICK
@given(CORPORA, st.randoms(use_true_random=False))
def test_positions_follow_the_items_through_any_order(examples, rng):
    items = ENCODE(examples).items
    fullest = items.features.size(2)

    def permuted(count: int) -> list[int]:
        return [*rng.sample(range(count), count), *range(count, fullest)]

    order = torch.tensor([[permuted(count) for count in boxes] for boxes in items.counts.tolist()])
    once = items.reordered(order)
    assert_close(once.positions, order)
    back = once.reordered(order.argsort(dim=2))
    assert all(map(torch.equal, back.tensors(), items.tensors()))
    twice = once.reordered(order)
    assert_close(take_items(items.features, twice.positions), twice.features)


@QUICK
@given(CORPORA, st.integers(0, 2**40))
def test_a_shuffle_is_a_permutation_that_follows_from_its_keys(examples, seed):
    corpus = ENCODE(examples)
    keys = torch.rand(corpus.items.features.shape[:3], generator=torch.Generator().manual_seed(seed))
    shuffled = corpus.items.shuffled(keys)
    items_read(type(corpus)(corpus.statement, shuffled), examples)
    assert torch.equal(shuffled.counts, corpus.items.counts)
    assert all(map(torch.equal, shuffled.tensors(), corpus.items.shuffled(keys).tensors()))


def test_random_keys_give_every_permutation_with_equal_probability():
    three = Box(tuple(make_item(x, 0, Size.SMALL, Shape.CIRCLE, Color.BLACK) for x in (0, 30, 60)))
    one = Example("1-1", "a", Scene((three, three, Box(three.items[:1]))))
    items = ENCODE([one] * 3000).items
    positions = items.shuffled(torch.rand(3000, 3, 3, generator=torch.Generator().manual_seed(0))).positions
    for box in range(2):
        seen = Counter(map(tuple, positions[:, box].tolist()))
        assert set(seen) == set(permutations(range(3)))
        assert sum((count - 500) ** 2 / 500 for count in seen.values()) < 25.7  # 5 degrees of freedom, 1 in 10,000
    assert (positions[:, 0] == positions[:, 1]).all(dim=1).float().mean() < 0.25  # boxes are independent
