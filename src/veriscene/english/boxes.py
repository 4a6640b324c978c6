"""Rules about particular boxes and about how items are distributed over boxes."""

from __future__ import annotations

from veriscene.english.speaker import Sentence, Speaker


def fullest(say: Speaker) -> Sentence | None:
    """ "The left box has the most circles"."""
    if say.world.boxes[1] < 2:
        return None
    where, kind = say.which(), say.kind(plain=True)
    meaning = (
        f"not exist(filter_obj(all_boxes, lambda b1: b1 != {where.box} and "
        f"count({kind.among('b1')}) >= count({kind.among(where.box)})))"
    )
    return Sentence(f"{where.subject} ~(has|contains|holds) the most {kind.plural}", meaning)


RULES = ((1.0, fullest),)
