"""What can be said about where items are: at walls, in corners, above, left of or touching others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from veriscene.english import meaning as mean
from veriscene.english.clauses import Content, tell
from veriscene.english.meaning import Unfit
from veriscene.english.parts import Parts, contents_of
from veriscene.english.predicates import Predicate, being, doing, having, negative
from veriscene.english.speaker import Domain, Kind, Sentence, Speaker
from veriscene.english.tables import Row, tables

_TABLES = tables(__name__)

# ---------------------------------------------------------------- relations between items


@dataclass(frozen=True)
class Relation:
    """Relates an item to other items of its box. `others` are those that the item is so related to."""

    others: str  # program text
    words: str  # after "is", before the other
    back: str  # after the other, in "has a circle … it"
    verbs: tuple[str, str, str] | None
    rest: str  # between verb and other


_TOUCHES = ("touches", "touch", "touching")


def _relations(name: str) -> list[Relation]:
    """The relations of a table; after "+" are the three forms of a verb, and what stands between it and the other."""
    found = []
    for _, row in _TABLES[name].rows:
        (words, back), (does, do, participle, rest, *_) = row.wordings, (*row.clauses, *[""] * 4)
        verbs = (does, do, participle) if does else None
        found.append(Relation(row.columns[0], words, back, verbs, rest))
    return found


_VERTICAL, _SIDEWAYS, _CONTACT, _DEPTH = map(_relations, ("vertical", "sideways", "contact", "depth"))


@dataclass(frozen=True)
class Objects:
    """Names the other items of a relation, with a quantity; `holds` gives the condition on those of an item."""

    words: str
    holds: Callable[[str], str]
    given: str = ""


def objects(say: Speaker, where: Domain, kind: Kind, sort: str, *, after_has: bool = False) -> Objects:
    """Draws the other items; `sort`: of the subject's quantity, which some quantities cannot be combined with."""
    one, kinds = kind.singular, kind.plural
    if not kind.condition and say.chance(0.7):
        words = "(anything|anything else|any other {})" if sort == "no" else "(something|something else|another {})"
        return Objects(words.format(one), lambda others: f"exist({others})")
    is_simple, is_kind = sort in ("some", "every", "the"), bool(kind.condition)
    how = say.weighted(
        (6, "some"),
        (1.3 * (is_simple and is_kind), "every"),
        (1.0 * (is_simple or sort == "no"), "number"),
        (0.9 * (sort in ("some", "the") and after_has), "no"),
        (0.8 * (where.items == mean.ALL_ITEMS and is_kind), "the"),
    )
    if how == "every":
        box = where.box or "@.box"
        same = (
            ""
            if where.box or say.world.boxes[1] == 1
            else f" (in the same {say.box}|in <its> {say.box}|of <its> {say.box})"
        )
        words = f"(every {one}|all the {kinds}|all {kinds}|all of the {kinds}|each {one}|every single {one}){same}"
        return Objects(words, lambda others: f"contained({kind.among(box)}, {others})")
    if how == "number":
        quantity = say.quantity(low=2, high=3, negative=False)
        return Objects(quantity.of(kind), lambda others: quantity.holds(kind.among(others)))
    if how == "no":
        return Objects(f"no {say.pick(one, kinds)}", lambda others: mean.none(others, kind.condition))
    if how == "the":
        given = f"count({kind.among(where.items)}) == 1"
        return Objects(f"the [only] {one}", lambda others: mean.some(others, kind.condition), given)
    words = f"(a {one}|a {one}|a {one}|at least one {one}|one of the {kinds}|some {one})"
    if sort == "no":
        words = f"(a {one}|a {one}|any {one}|any {kinds}|any of the {kinds})"
    return Objects(words, lambda others: mean.some(others, kind.condition))


def relation(say: Speaker, where: Domain, kind: Kind, sort: str) -> Predicate:
    """Says "Is above a circle"; "has two circles to its left"."""
    other = other_kind(say, kind)
    options = [*_VERTICAL, *_SIDEWAYS * (not say.is_tower), *_CONTACT, *_DEPTH * say.world.overlap]
    how = say.rng.choice(options)
    form = say.weighted((3, "is"), (1.5, "has"), (2.0 * (how.verbs is not None), "verb"))
    if "directly" in how.others and sort in ("some", "every", "the"):
        sort = "number"  # nothing rests on all the circles of its box
    which = objects(say, where, other, sort, after_has=form == "has")
    condition = which.holds(how.others)
    if form == "has":
        return having(f"{which.words} {how.back}", condition, given=which.given)
    if form == "verb" and how.verbs is not None:
        return doing(how.verbs, f"{how.rest} {which.words}", condition, given=which.given)
    return being(f"{how.words} {which.words}", condition, verbs=how in options[:2], given=which.given)


def other_kind(say: Speaker, kind: Kind) -> Kind:
    """Draws a plain kind that differs from another."""
    while True:
        found = say.kind(plain=True, generic=0.08)
        if found.condition != kind.condition or say.chance(0.02):
            return found


def _around(condition: str, *pairs: tuple[str, str]) -> str:
    """One such item on either side of an item: left and right of it, or above and below."""
    sides = [[mean.some(f"get_box_all_{each}(@)", condition) for each in pair] for pair in pairs]
    return mean.either(*(mean.both(*each) for each in sides))


def between(say: Speaker, kind: Kind) -> Predicate:
    """Says "Is between two circles": one on either side, or one above and one below."""
    other, row = other_kind(say, kind), _TABLES["between_in_towers" if say.is_tower else "between"].draw(say)
    pairs = {"beside": ("left", "right"), "above": ("above", "below")}
    words = row.say(say, y=other.a, Ys=other.plural)
    condition = _around(other.condition, *(pairs[each] for each in row.columns[1].split()))
    return having(words, condition) if row.columns[0] == "has" else being(words, condition, verbs=False)


# ---------------------------------------------------------------- walls, corners and the ends of a box

_RESTS = ("(rests|sits|stands|lies)", "(rest|sit|stand|lie)", "(resting|sitting|standing|lying)")
_VERBS = {"touch": _TOUCHES, "rest": _RESTS}
_SIDES = {"LEFT": "left", "RIGHT": "right", "TOP": "(top|upper)", "BOTTOM": "(bottom|lower)"}


def wall(say: Speaker) -> Predicate:
    """Says "Touches the left wall"; "is in a corner"; "is on the floor"."""
    row, side = _TABLES["walls"].draw(say), say.rng.choice(list(_SIDES))
    height, end = say.pick("TOP", "BOTTOM"), say.pick("LEFT", "RIGHT")
    condition, how = row.columns[0].format(side=side, height=height, end=end), row.columns[1]
    words = {"side": _SIDES[side], "height": _SIDES[height], "end": _SIDES[end]}
    text = row.say(say, of_box=f"[(of|in) (<its> {say.box}|the {say.box})]", **words)
    if how in _VERBS:
        return doing(_VERBS[how], text, condition)
    return replace(being(text, condition, verbs=how != "is"), is_there=how == "there")


# Words for the item at an end of its box: before a noun, after "is", after a noun, before "everything else", and after
# "nothing is".
_END_WORDS = ("highest", "furthest", "at_end", "higher", "beyond")
_ENDS = {row.columns[0]: dict(zip(_END_WORDS, row.wordings, strict=True)) for _, row in _TABLES["ends"].rows}


def end(say: Speaker, where: Domain) -> Predicate:
    """Says "Is furthest left in its box"; "is at the top of its tower"."""
    test = say.rng.choice([each for each in _ENDS if not (say.is_tower and each.endswith("most"))])
    words = f"at the [very] {'top' if test == 'is_top' else 'bottom'}" if say.is_tower else _ENDS[test]["furthest"]
    place = "" if where.box or say.world.boxes[1] == 1 else f"{'of' if say.is_tower else 'in'} <its> {say.box}"
    return being(f"{words} {place}", f"{test}(@)", verbs=False, that="{}")


def place(say: Speaker, where: Domain, kind: Kind, sort: str) -> Predicate | None:
    """Draws a predicate of where items are, for a subject with this sort of quantity."""
    has_walls = say.world.walls and not say.is_tower
    how = say.weighted((4, "relation"), (4 * has_walls, "wall"), (0.7, "between"), (0.7 * (sort != "some"), "end"))
    if how == "wall":
        return wall(say)
    if how == "between":
        return between(say, kind)
    return end(say, where) if how == "end" else relation(say, where, kind, sort)


# ---------------------------------------------------------------- rules


def placed_kind(say: Speaker, kind: Kind) -> Kind | None:
    """Returns the kind with words about its place: "touching the wall", "above a circle"."""
    predicate = place(say, say.scene(), kind, "number")
    if predicate is None or predicate.given:
        return None
    if say.chance(0.15):
        predicate = negative(say, predicate)
    return predicate.restrict(say, kind)


class _Pair(Parts):
    """Two kinds, of which {X} is {above} {Y}, and {Y} {below} {X}; {higher} compares it."""

    has_two_kinds = True

    def __init__(self, say: Speaker, row: Row, where: Domain) -> None:
        super().__init__(say, row, where)
        if "all" in self.meaning and not where.box:
            raise Unfit
        how = say.rng.choice(_TABLES["directions"].rows[: 2 if say.is_tower else 4])[1]
        names = ("above", "below", "higher", "all_above", "before")
        self |= dict(zip(names, map(say.expand, how.wordings), strict=False))
        self.others = how.columns[0]
        side = say.pick("", "", *_SIDES)
        if say.world.walls and not say.is_tower:
            edge = f"the {_SIDES[side]} (wall|edge|side)" if side else ""
            self |= {"edge": edge or "a (wall|edge)", "any_edge": edge or "any wall"}
            self |= {"edges": edge or "(the walls|the edges|all walls)"}
        self.edge = f"is_touching_wall(@, Side.{side})" if side else "is_touching_wall(@)"

    def meant(self, what: str, name: str, place: str = "") -> str:
        """Some x are above a y, touch one, touch a wall, are between two; all are above all."""
        x, y = self.kind("x"), self.kind("y")
        if what == "all":
            others = mean.negation(f"contained({y.among(self.where.items)}, {self.others})")
            return mean.none(self.where.items, mean.both(x.condition, others))
        pairs = (("left", "right"), ("above", "below"))[self.say.is_tower :]
        touching, above = (mean.some(others, y.condition) for others in ("get_touching(@)", self.others))
        conditions = {"above": above, "touching": touching, "edge": self.edge}
        conditions["between"] = _around(y.condition, *pairs)
        return mean.some(self.where.items, mean.both(x.condition, conditions[name]))


def extreme(say: Speaker) -> Sentence | None:
    """Says "The highest thing in the left box is blue"; "in every box a circle is further left than all others"."""
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
    clause = _TABLES["extremes"].say(say, X=kind.singular, Xs=kind.plural, at="{at}", **end, **words)
    condition = kind.condition if is_kind else found.condition
    meaning = where.bind(f"All({mean.those(where.items, f'{test}(@)')}, {mean.bind(condition)})")
    if where.is_negative or (is_kind and say.chance(0.15)):
        has, its = ("have", "their") if where.plural else ("has", "its")
        text = _TABLES["having"].wordings[is_kind].format(box=where.subject, has=has, its=its, **end, **words)
        return Sentence(text, meaning)
    told = tell(say, where, Content("", clause=clause))
    return Sentence(told, meaning) if told else None


CONTENTS = contents_of(_TABLES, _Pair, pairs=1.8, all_above=0.8, contacts=1.8, betweens=0.8)
RULES = ((2.0, extreme),)
