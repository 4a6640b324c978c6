"""Rules about towers: their heights, tops and bases."""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.speaker import Sentence, Speaker


def on_top(say: Speaker) -> Sentence:
    """ "Every tower has a black block on top"."""
    where, kind = say.quantified(), say.kind(plain=True)
    has = "have" if where.plural else "has"
    meaning = where.bind(mean.some("#", mean.both("is_top(@)", kind.condition)))
    return Sentence(f"{where.subject} ~{has} {kind.a} (on top|at the top)", meaning)


RULES = ((1.0, on_top),)
