"""How the positions of items are encoded."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toy import batch_of, mixed_toys, toy_model

from veriscene.data.items import CORNER
from veriscene.models.layers.geometry import encode_positions
from veriscene.worlds.nlvr.looks import BOX_EXTENT, WORLD, Color, Shape, Size, make_item

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
