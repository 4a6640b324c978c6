"""Anything that can be said of a scene or of a box: counts, shares, values and places; and the rule that says it."""

from __future__ import annotations

from veriscene.english import attributes, counts, places, shares
from veriscene.english.clauses import EACH_BOX, Content, tell
from veriscene.english.domains import domain
from veriscene.english.speaker import Domain, Sentence, Speaker

_CONTENTS = (*counts.CONTENTS, *shares.CONTENTS, *attributes.CONTENTS, *places.CONTENTS)


def content(say: Speaker, where: Domain = EACH_BOX, *, things: bool = False) -> Content:
    """Draws something that can be said of a domain; `things`: in a wording that follows "has"."""
    while True:
        found = say.weighted(*_CONTENTS)(say, where)
        # "A box where circles: two" is not English.
        is_note = found is not None and where is EACH_BOX and (":" in found.clause or "?" in found.clause)
        if found is not None and not is_note and (found.things or not things):
            return found


def short_content(say: Speaker) -> Content:
    """Contents of each box in few words and without commas, to be said next to others."""
    while True:
        found = counts.how_many(say, EACH_BOX, 3) if say.chance(0.75) else content(say, things=True)
        if "," not in found.things and " and " not in found.things and len(found.things.split()) < 8:
            return found


def stated(say: Speaker) -> Sentence | None:
    """ "There are two circles"; "in every box, most circles are blue"; "the left box has the same number of both"."""
    where = domain(say)
    found = content(say, where)
    if found.is_negative and where.is_negative:
        return None  # "no box has no circle" is rare
    text = tell(say, where, found)
    return Sentence(text, where.bind(found.test)) if text else None


RULES = ((60.0, stated),)
