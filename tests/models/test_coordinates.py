"""The ways to say where an item is."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toy import batch_of, mixed_toys, toy_model

from veriscene import models
from veriscene.config import load_preset
from veriscene.errors import InputError
from veriscene.models.layers.coordinates import COORDINATES, placed
from veriscene.scenes.scene import BOX_EXTENT, Color, Item, Shape, Size
from veriscene.tensors.features import item_features

SIZES = st.sampled_from(Size)
CORNERS = st.tuples(st.integers(0, BOX_EXTENT), st.integers(0, BOX_EXTENT))


@given(SIZES, CORNERS, st.sampled_from(Shape), st.sampled_from(Color))
def test_a_place_is_the_corner_the_centre_or_how_far_the_item_is_from_wall_to_wall(size, corner, shape, color):
    x, y = (min(place, BOX_EXTENT - size.value) for place in corner)
    features = torch.tensor(item_features(Item(x, y, size, shape, color)))
    walls = [2 * x / (100 - size.value) - 1, 2 * y / (100 - size.value) - 1]
    expected = {
        "corner": [x / 50 - 1, y / 50 - 1],
        "centre": [(x + size.value / 2) / 50 - 1, (y + size.value / 2) / 50 - 1],
        "walls": walls,
        "contact": [way if edge in (0, 100 - size.value) else way / 2 for way, edge in zip(walls, (x, y), strict=True)],
    }
    assert set(expected) == set(COORDINATES)
    for coordinates, place in expected.items():
        told = placed(features, coordinates)
        assert told.tolist() == pytest.approx([*place, *features[2:].tolist()], abs=1e-6)
        assert (told.abs() <= 1 + 1e-6).all()


@pytest.mark.parametrize("name", ["bienc", "biatt", "biatt-pointer", "bidaf", "relation-net"])
def test_a_model_reads_items_where_its_coordinates_put_them(name):
    batch = batch_of(mixed_toys())
    for coordinates in COORDINATES:
        model = toy_model(name, coordinates=coordinates).eval()
        as_told = toy_model(name).eval()  # the same weights, items that were put there before
        moved = batch.__class__(**{**vars(batch), "items": placed(batch.items, coordinates)})
        torch.testing.assert_close(model(batch).logits, as_told(moved).logits)
        if coordinates != "corner":
            assert not torch.allclose(model(batch).logits, as_told(batch).logits)


def test_unknown_coordinates_are_one_line():
    with pytest.raises(InputError, match=r"unknown coordinates 'polar'; choose from corner, centre, walls, contact"):
        models.check(load_preset("biatt", ["model.coordinates=polar"]).model)
    with pytest.raises(InputError, match=r"model.coordinates has no effect on mlp"):
        models.check(load_preset("mlp", ["model.coordinates=walls"]).model)
