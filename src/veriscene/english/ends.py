"""Rules about the highest, lowest, leftmost and rightmost items of a box."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from veriscene.english import meaning as mean
from veriscene.english.clauses import Content, fill, tell
from veriscene.english.predicates import Predicate, being
from veriscene.english.speaker import Domain, Sentence, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)


@dataclass(frozen=True)
class End:
    """Words for the item at an end of its box."""

    highest: str  # before a noun
    furthest: str  # after "is"
    at_end: str  # after a noun
    higher: str  # before "everything else"
    beyond: str  # after "nothing is"


_ENDS = {row.columns[0]: End(*row.wordings) for _, row in _TABLES["ends"].rows}


def end(say: Speaker, where: Domain) -> Predicate:
    """ "Is furthest left in its box"; "is at the top of its tower"."""
    test = say.rng.choice([each for each in _ENDS if not (say.is_tower and each.endswith("most"))])
    words = f"at the [very] {'top' if test == 'is_top' else 'bottom'}" if say.is_tower else _ENDS[test].furthest
    place = "" if where.box or say.world.boxes[1] == 1 else f"{'of' if say.is_tower else 'in'} <its> {say.box}"
    return being(f"{words} {place}", f"{test}(@)", verbs=False, that="{}")


def extreme(say: Speaker) -> Sentence | None:
    """ "The highest thing in the left box is blue"; "in every box a circle is further left than everything else"."""
    if say.is_tower:  # their tops and bases have rules of their own
        return None
    where = Domain(mean.ALL_ITEMS, f"in the {say.box}", f"the {say.box}", box="all_boxes[0]")
    if say.world.boxes[1] > 1:
        where = say.which() if say.chance(0.6) else say.quantified(simple=True)
    test, end = say.rng.choice(list(_ENDS.items()))
    kind, found = say.kind(plain=True, generic=0), say.property()
    is_kind = say.chance(0.55)
    words = {"p": kind.a if is_kind else found.singular, "thing": f"({say.item}|thing|one)", "things": say.items}
    words |= {"a": kind.a} if is_kind else {}
    words |= {} if where.is_quantified else {"of": f"of {where.subject}"}
    clause = fill(say, _TABLES["extremes"].wordings, kind, **asdict(end), **words)
    condition = kind.condition if is_kind else found.condition
    meaning = where.bind(f"All({mean.those(where.items, f'{test}(@)')}, {mean.bind(condition)})")
    if where.is_negative or (is_kind and say.chance(0.15)):
        has, its = ("have", "their") if where.plural else ("has", "its")
        text = _TABLES["having"].wordings[is_kind].format(box=where.subject, has=has, its=its, **asdict(end), **words)
        return Sentence(text, meaning)
    told = tell(say, where, Content("", clause=clause))
    return Sentence(told, meaning) if told else None


RULES = ((2.0, extreme),)
