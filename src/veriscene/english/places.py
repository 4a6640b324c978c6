"""Rules about where items are, and how they compare: walls, corners, relations, the highest, the biggest."""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.speaker import Kind, Sentence, Speaker


def placed_kind(say: Speaker, kind: Kind) -> Kind | None:
    """Returns the kind with words about its place: "touching the wall", "above a circle"."""
    if not say.world.walls:
        return None
    return kind.that("touching (the|a) wall", "touching (the|a) wall", "is_touching_wall(@)")


def above(say: Speaker) -> Sentence:
    """ "A circle is above a square"."""
    first, second = say.two_kinds()
    condition = mean.some("get_box_all_below(@)", second.condition)
    return Sentence(f"{first.a} ~is (above|higher than) {second.a}", mean.some("all_items", mean.both(first.condition, condition)))


RULES = ((1.0, above),)
