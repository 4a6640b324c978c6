"""Features of walls and pairs: what the scene's own geometry says, pixel by pixel."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from samples import random_scene
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.models.layers.geometry import WALL_FEATURES, pair_feature_count, pair_features, wall_features
from veriscene.world.examples import Example
from veriscene.world.scene import Item, Side
from veriscene.worlds.nlvr.looks import BOX_EXTENT, WORLD

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
    assert walls.shape[-1] == WALL_FEATURES and pairs.shape[-1] == pair_feature_count(WORLD)
    placed = [
        (box * fullest + k, box, item) for box, whole in enumerate(scene.boxes) for k, item in enumerate(whole.items)
    ]
    for row, box, i in placed:
        assert_close(walls[box, row % fullest], torch.tensor(expected_walls(i)), atol=1e-5, rtol=0)
        for column, other_box, j in placed:
            expected = torch.tensor(expected_pair(i, j, same_box=box == other_box))
            assert_close(pairs[row, column], expected, atol=1e-5, rtol=0)
