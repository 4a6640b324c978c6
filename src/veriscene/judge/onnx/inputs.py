"""The inputs of a written graph: item features with encoded positions, lengths and masks."""

from __future__ import annotations

import numpy as np

from veriscene.data.items import CORNER, ITEM_FEATURES, SIZE, SIZE_STEP
from veriscene.judge.onnx.graph import INT32, Graph, real, whole
from veriscene.models.layers.coordinates import AT_A_WALL
from veriscene.world.scene import BOX_EXTENT, Size


class Inputs:
    """The inputs as all models need them. A row is a box of an example; in sequences the step comes first."""

    def __init__(self, graph: Graph, coordinates: str) -> None:
        self.items = _encode_positions(graph, coordinates)  # (batch, box, item, feature)
        self.lengths = graph("Cast", "lengths", to=INT32)
        self.counts = graph("Cast", graph("Reshape", "counts", whole(-1)), to=INT32)  # (row,)
        self.fullest = graph("Gather", graph("Shape", "features"), np.array(2))
        longest = graph("Gather", graph("Shape", "words"), np.array(1))
        self.item_numbers = graph("Range", np.array(0), self.fullest, np.array(1))
        word_numbers = graph("Range", np.array(0), longest, np.array(1))
        is_word = graph("Less", word_numbers, graph("Unsqueeze", "lengths", whole(1)))  # (batch, word)
        self.is_item = graph("Less", self.item_numbers, graph("Unsqueeze", "counts", whole(2)))  # (batch, box, item)
        # Bars are added to scores: zero, and minus infinity beyond the end.
        bar = graph("Where", is_word, real(0), real(-np.inf))
        self.word_bar = graph("Unsqueeze", bar, whole(1))  # (batch, 1, word)
        self.item_bar = graph("Where", self.is_item, real(0), real(-np.inf))  # (batch, box, item)

    def given_order(self, graph: Graph) -> str:
        """(batch, box, item): the order of a model that reads the items as they come."""
        return graph("Expand", self.item_numbers, graph("Shape", self.is_item))


def _encode_positions(graph: Graph, coordinates: str) -> str:
    """What `coordinates.encode_positions` computes."""
    if coordinates == "corner":
        return "features"

    def part(first: int, end: int) -> str:
        return graph("Slice", "features", whole(first), whole(end), whole(3))

    corner, size, rest = part(0, CORNER.stop), part(SIZE, SIZE + 1), part(CORNER.stop, ITEM_FEATURES)
    scale, offset = SIZE_STEP / BOX_EXTENT, Size.MEDIUM.value / BOX_EXTENT
    extent = graph("Add", graph("Mul", size, real(scale)), real(offset))  # in units of BOX_EXTENT
    way = graph("Sub", graph("Div", graph("Add", corner, real(1)), graph("Sub", real(1), extent)), real(1))
    touches = graph("Greater", graph("Abs", way), real(AT_A_WALL))
    return graph("Concat", graph("Where", touches, way, graph("Mul", way, real(0.5))), rest, axis=3)
