"""What can be said about where items are: at walls, in corners, above, left of or touching others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from veriscene.english import meaning as mean
from veriscene.english.clauses import Content, fill, slots, tell, two_kinds
from veriscene.english.predicates import Predicate, being, doing, having, negative
from veriscene.english.speaker import Domain, Kind, Sentence, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)

# ---------------------------------------------------------------- relations between items


@dataclass(frozen=True)
class Relation:
    """A relation to other items of the box. `others` are those that the item is so related to."""

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
    """The other items of a relation, with a quantity; `holds` gives the condition on those an item is related to."""

    words: str
    holds: Callable[[str], str]
    given: str = ""


def objects(say: Speaker, where: Domain, kind: Kind, sort: str, *, after_has: bool = False) -> Objects:
    """The other items; `sort`: of the subject's quantity, which some quantities cannot be combined with."""
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
    """ "Is above a circle"; "has two circles to its left"."""
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
    """A plain kind that differs from another."""
    while True:
        found = say.kind(plain=True, generic=0.08)
        if found.condition != kind.condition or say.chance(0.02):
            return found


def between(say: Speaker, kind: Kind) -> Predicate:
    """ "Is between two circles": one on either side, or one above and one below."""
    other = other_kind(say, kind)

    def around(first: str, second: str) -> str:
        return mean.both(
            mean.some(f"get_box_all_{first}(@)", other.condition),
            mean.some(f"get_box_all_{second}(@)", other.condition),
        )

    beside, above = around("left", "right"), around("above", "below")
    two = f"{say.pick('two', 'two', '2', 'a pair of', 'a couple of')} {other.plural}"
    words = f"(between|in between|sandwiched between|somewhere between) {two}"
    if say.is_tower:
        if say.chance(0.4):
            return having(
                f"{other.a} (above <it> and {other.a} below <it>|above <it> and another one below <it>)", above
            )
        return being(words, above, verbs=False)
    if say.chance(0.4):
        return having(f"{other.a} (on either side|on each side|on both sides|to the left and to the right)", beside)
    return being(words, mean.either(beside, above), verbs=False)


# ---------------------------------------------------------------- walls, corners and the ends of a box

_SIDES = {"LEFT": "left", "RIGHT": "right", "TOP": "(top|upper)", "BOTTOM": "(bottom|lower)"}


def wall(say: Speaker) -> Predicate:
    """ "Touches the left wall"; "is in a corner"; "is on the floor"."""
    box = say.box
    of_box = f"[(of|in) (<its> {box}|the {box})]"
    how = say.weighted((4, "wall"), (3, "side"), (3, "corner"), (1, "this corner"), (2, "floor"), (0.5, "ceiling"))
    condition = "is_touching_wall(@)"
    if how == "corner":
        words = f"(in (a|the|some|one) corner {of_box}|in one of the corners {of_box}|in the corner)"
        if say.chance(0.15):
            return being(f"(tucked|stuck) {words}", "is_touching_corner(@)", verbs=False)
        return replace(being(words, "is_touching_corner(@)"), is_there=True)
    if how == "this corner":
        height, side = say.pick("TOP", "BOTTOM"), say.pick("LEFT", "RIGHT")
        if say.chance(0.3):
            return being(f"in (a|some) {_SIDES[height]} corner {of_box}", f"is_touching_corner(@, Side.{height})")
        condition = f"is_touching_corner(@, Side.{height}) and is_touching_wall(@, Side.{side})"
        words = f"in the {_SIDES[height]}( |-){_SIDES[side]} corner {of_box}"
        return replace(being(words, condition), is_there=True)
    if how == "floor":
        condition = "is_touching_wall(@, Side.BOTTOM)"
        if say.chance(0.4):
            verbs = ("(rests|sits|stands|lies)", "(rest|sit|stand|lie)", "(resting|sitting|standing|lying)")
            return doing(verbs, f"on the (floor|ground|bottom wall|bottom edge) {of_box}", condition)
        words = f"on the (floor|floor|ground|bottom wall|bottom edge) {of_box}"
        return replace(being(words, condition), is_there=True)
    if how == "ceiling":
        return doing(_TOUCHES, f"the ceiling {of_box}", "is_touching_wall(@, Side.TOP)")
    words = f"(a wall|the wall|an edge|a wall|one of the walls|a side|the edge|the side|the border) {of_box}"
    if how == "side":
        side = say.rng.choice(list(_SIDES))
        condition = f"is_touching_wall(@, Side.{side})"
        words = f"the {_SIDES[side]} (wall|wall|edge|side|border) {of_box}"
    if say.chance(0.6):
        return doing(_TOUCHES, words, condition)
    return being(f"(against|up against|right up against|in contact with|right at) {words}", condition, verbs=False)


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


def place(say: Speaker, where: Domain, kind: Kind, sort: str) -> Predicate | None:
    """Something about where items are, for a subject with this sort of quantity."""
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


# The items that the first is related to; whether the first is left, right, above or below; and words for that.
_DIRECTIONS = (
    ("get_box_all_below(@)", "above", "(higher|higher up|upper)", "(above|higher than|higher up than)"),
    ("get_box_all_above(@)", "below", "(lower|lower down)", "(below|lower than|under|lower down than)"),
    ("get_box_all_right(@)", "to the left of", "(further left|more to the left)", "(left of|to the left of)"),
    ("get_box_all_left(@)", "to the right of", "(further right|more to the right)", "(right of|to the right of)"),
)


def pair(say: Speaker, where: Domain) -> Content:
    """ "Above a circle there is a square"; "a circle and a square are in one box, and the circle is higher"."""
    first, second = two_kinds(say)
    others, above, higher, _ = say.rng.choice(_DIRECTIONS[: 2 if say.is_tower else 4])
    text = say.rng.choice([each for each in _TABLES["pairs"].wordings if not where.box or "{at}" in each])
    clause = text.format(**slots(say, first, second), above=above, higher=higher, at="{at}")
    return Content(
        mean.some(where.items, mean.both(first.condition, mean.some(others, second.condition))), clause=clause
    )


def all_above(say: Speaker, where: Domain) -> Content | None:
    """ "All circles are above all squares", in a box."""
    if not where.box:
        return None
    first, second = two_kinds(say)
    others, _, _, above = say.rng.choice(_DIRECTIONS[: 2 if say.is_tower else 4])
    every = "(all|all the|all of the)"
    clause = say.pick(
        f"{every} {first.plural} ~are {above} {every} {second.plural}",
        f"(every|each|any) {first.singular} ~is {above} (every|each|any) {second.singular}",
        f"the {first.plural} ~are all {above} [all] the {second.plural}",
    )
    condition = f"contained({second.among(where.items)}, {others})"
    return Content(f"not exist({first.among(where.items, mean.negation(condition))})", clause=clause)


def contact(say: Speaker, where: Domain) -> Content:
    """ "A circle and a square touch"; "circles never touch squares"; "all circles stay off the walls"."""
    row, (first, second) = _TABLES["contacts"].draw(say), two_kinds(say)
    condition = mean.some("get_touching(@)", second.condition)
    words = {"y": second.a, "any": f"any {second.singular}", "ys": f"(the|all|all the) {second.plural}"}
    if say.world.walls and not say.is_tower and say.chance(0.4):
        side = say.pick("", "", *_SIDES)
        edge = f"the {_SIDES[side]} (wall|edge|side)" if side else ""
        condition = f"is_touching_wall(@, Side.{side})" if side else "is_touching_wall(@)"
        words = {
            "y": edge or "a (wall|edge)",
            "any": edge or "any wall",
            "ys": edge or "(the walls|the edges|all walls)",
        }
    clause = say.rng.choice(row.wordings).format(x=first.a, X=first.singular, Xs=first.plural, at="{at}", **words)
    touching = mean.some(where.items, mean.both(first.condition, condition))
    return Content(row.columns[0].format(touching=touching), clause=clause)


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


CONTENTS = ((1.2, pair), (0.6, all_above), (1.8, contact))
RULES = ((2.0, extreme),)
