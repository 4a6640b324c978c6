"""Random small corpora, and the items that a batch says were read."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch.testing import assert_close

from veriscene.data.batch import Batch, required
from veriscene.data.vocabulary import Vocabulary
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds.nlvr.looks import BOX_EXTENT, WORLD, Color, Shape, Size, make_item

WORDS = ("there", "is", "a", "black", "box", "with", "3", "items")
VOCABULARY = Vocabulary.of(WORDS, minimum_count=1)
QUICK = settings(deadline=None, max_examples=60)


@st.composite
def items(draw: st.DrawFn) -> Item:
    size = draw(st.sampled_from(Size))
    place = st.integers(0, BOX_EXTENT - size.extent)
    return make_item(draw(place), draw(place), size, draw(st.sampled_from(Shape)), draw(st.sampled_from(Color)))


BOXES = st.lists(items(), min_size=1, max_size=8, unique_by=lambda item: (item.x, item.y)).map(tuple).map(Box)
SCENES = st.tuples(BOXES, BOXES, BOXES).map(Scene)
EXAMPLES = st.builds(
    Example,
    identifier=st.just("1-1"),
    statement=st.lists(st.sampled_from((*WORDS, "never-seen")), min_size=1, max_size=9).map(" ".join),
    scene=SCENES,
    label=st.booleans(),
)
CORPORA = st.lists(EXAMPLES, min_size=1, max_size=4)


def assert_same(one: Batch, other: Batch) -> None:
    assert len(one.tensors()) == len(other.tensors())
    for mine, theirs in zip(one.tensors(), other.tensors(), strict=True):
        assert_close(mine, theirs, atol=0, rtol=0)


def items_read(batch: Batch, examples: Sequence[Example]) -> list[list[list[Item]]]:
    """The items of each box in the order of `positions`; features must be theirs, and zero beyond the last."""
    encoded, read = required(batch.items), []
    for row, example in enumerate(examples):
        read.append([])
        for box, whole in enumerate(example.scene.boxes):
            count = len(whole.items)
            places = encoded.positions[row, box, :count].tolist()
            assert sorted(places) == list(range(count))
            in_order = [whole.items[place] for place in places]
            features = torch.tensor([WORLD.features(item) for item in in_order])
            assert_close(encoded.features[row, box, :count], features, atol=0, rtol=0)
            assert not encoded.features[row, box, count:].any()
            read[-1].append(in_order)
    return read
