"""Features of walls and pairs: what the scene's own geometry says, pixel by pixel."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from veriscene.worlds.nlvr.corpus import Example

from samples import random_scene
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.models.layers.geometry import PAIR_FEATURES, WALL_FEATURES, pair_features, wall_features
from veriscene.world.scene import BOX_EXTENT, Item, Side

ENCODE = Encoder(Vocabulary(SPECIAL), order=ItemOrder.FILE)
WALLS = (Side.LEFT, Side.RIGHT, Side.BOTTOM, Side.TOP)
SCENES = st.randoms(use_true_random=False).map(random_scene)


def expected_walls(item: Item) -> list[float]:
    gaps = (item.left, BOX_EXTENT - item.right, item.bottom, BOX_EXTENT - item.top)
    features = [gap / BOX_EXTENT for gap in gaps]
    for margin in (0, 4):
        touched = item.walls(margin)
        features += [*(float(side in touched) for side in WALLS), float(bool(touched)), float(len(touched) == 2)]
    return features


def expected_pair(i: Item, j: Item, *, same_box: bool) -> list[float]:
    gaps = (i.left - j.right, j.left - i.right, i.bottom - j.top, j.bottom - i.top)
    within = [
        *(gap / BOX_EXTENT for gap in gaps),
        *(float(gap >= 0) for gap in gaps),
        float(min(map(abs, gaps)) <= 4),
        float(i.touches(j)),
        float(i.touches(j, margin=4)),
        float(max(gaps[:2]) < 0),
        float(max(gaps[2:]) < 0),
    ]
    if i is j or not same_box:
        within = [0.0] * len(within)
    looks = [float(i.color is j.color), float(i.shape is j.shape), float(i.size is j.size)]
    return [*within, *looks, (i.size.value - j.size.value) / BOX_EXTENT, float(same_box), float(i is j)]


@settings(deadline=None, max_examples=60)
@given(SCENES)
def test_features_are_those_of_the_scene(scene):
    features = ENCODE([Example("1-1", "a", scene)]).items.features
    walls, pairs, fullest = wall_features(features)[0], pair_features(features)[0], features.size(2)
    assert walls.shape[-1] == WALL_FEATURES and pairs.shape[-1] == PAIR_FEATURES
    placed = [
        (box * fullest + k, box, item) for box, whole in enumerate(scene.boxes) for k, item in enumerate(whole.items)
    ]
    for row, box, i in placed:
        assert_close(walls[box, row % fullest], torch.tensor(expected_walls(i)), atol=1e-5, rtol=0)
        for column, other_box, j in placed:
            expected = torch.tensor(expected_pair(i, j, same_box=box == other_box))
            assert_close(pairs[row, column], expected, atol=1e-5, rtol=0)
