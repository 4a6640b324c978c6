"""Rules about where items are: at walls, in corners, above or left of others, highest or leftmost in their box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from veriscene.english import meaning as mean
from veriscene.english.ends import end
from veriscene.english.predicates import Predicate, being, doing, having, negative
from veriscene.english.speaker import SOME, Domain, Kind, Sentence, Speaker

# ---------------------------------------------------------------- relations between items


@dataclass(frozen=True)
class Relation:
    """A relation to other items of the box. `others` are those that the item is so related to."""

    others: str  # program text
    words: str  # after "is", before the other
    back: str  # after the other, in "has a circle … it"
    verbs: tuple[str, str, str] | None = None
    rest: str = ""  # between verb and other


_TOUCHES = ("touches", "touch", "touching")
_VERTICAL = (
    Relation(
        "get_box_all_below(@)",
        "(above|above|above|over|higher than|higher up than|further up than|somewhere above)",
        "(below|under|underneath|beneath|somewhere below|somewhere under) <it>",
    ),
    Relation(
        "get_box_all_above(@)",
        "(below|below|under|underneath|beneath|lower than|lower down than|further down than|somewhere below)",
        "(above|over|above|somewhere above) <it>",
    ),
    Relation(
        "get_directly_below(@)",
        "(directly above|directly on top of|right on top of|on top of|directly on|resting on|sitting directly on"
        "|right on|stacked on|immediately above|resting directly on|sitting on top of)",
        "(directly|right|immediately) (below|under|beneath|underneath) <it>",
        ("(rests|sits|lies|stands)", "(rest|sit|lie|stand)", "(resting|sitting|lying|standing)"),
        "(directly|right|immediately|) (on|on top of)",
    ),
    Relation(
        "get_directly_above(@)",
        "(directly|right|immediately) (below|under|underneath|beneath)",
        "(on top of|directly on top of|right on top of|resting on|sitting on|directly above|right above) <it>",
        ("(carries|supports)", "(carry|support)", "(carrying|supporting)"),
    ),
)
_SIDEWAYS = (
    Relation(
        "get_box_all_right(@)",
        "(left of|to the left of|to the left of|on the left of|further left than|more to the left than"
        "|on the left side of|further to the left than)",
        "(to <its> right|on <its> right|to the right of <it>|somewhere to <its> right|on the right of <it>)",
    ),
    Relation(
        "get_box_all_left(@)",
        "(right of|to the right of|to the right of|on the right of|further right than|more to the right than"
        "|on the right side of|further to the right than)",
        "(to <its> left|on <its> left|to the left of <it>|somewhere to <its> left|on the left of <it>)",
    ),
)
_CONTACT = Relation(
    "get_touching(@)",
    "(in contact with|up against|right up against|touching|touching)",
    "(touching|in contact with|right up against) <it>",
    _TOUCHES,
)


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
    options = [*_VERTICAL, *(() if say.is_tower else _SIDEWAYS), _CONTACT]
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


_PAIRS = (  # what a pair is, first and second: which of the two is above the other, and what the first has there
    ("get_box_all_below(@)", "(higher|higher up|upper)", "above"),
    ("get_box_all_above(@)", "(lower|lower down)", "below"),
    ("get_box_all_right(@)", "(further left|more to the left)", "to the left of"),
    ("get_box_all_left(@)", "(further right|more to the right)", "to the right of"),
)


def pair(say: Speaker) -> Sentence | None:
    """ "Above a circle there is a square"; "a circle and a square share a box, and the circle is higher"."""
    first, second = say.two_kinds()
    others, higher, above = say.rng.choice(_PAIRS[:2] if say.is_tower else _PAIRS)
    one, other, box = first.a, second.a, say.box
    same = f"(in|within) (the same|one|a|a single) {box}" if say.world.boxes[1] > 1 else f"in the {box}"
    texts = [
        f"{above} {other} there ~is {one}",
        f"{above} {other}[,] (you|we|I) ~(see|can see|can find) {one}",
        f"somewhere {above} {other} there ~is {one} [{same}]",
        f"{above} {other}: {one}",
        f"{one} and {other} ~are {same}, and the {first.singular} is {higher}",
        f"there ~are {one} and {other} {same}, the former being {above} the latter",
        f"{one} and {other} ~are in the same {box}, with the {first.singular} {above} the {second.singular}",
    ]
    if "left" in above:
        texts += [
            f"from left to right: {one}, then {other}, {same}",
            f"going from left to right, {one} ~comes before {other} {same}",
            f"{one} on the left and {other} to the right of it, {same}",
        ]
    if above == "above":
        texts += [f"{one} ~(looks down on|is looking down on) {other} {same}", f"{one}, {other} below it"]
    condition = mean.both(first.condition, mean.some(others, second.condition))
    return Sentence(say.pick(*texts), mean.some(mean.ALL_ITEMS, condition))


def contact(say: Speaker) -> Sentence:
    """ "A circle and a square touch"; "circles never touch squares"; "there is a gap between every circle and …"."""
    where = say.domain(quantified=0.1)
    first, second = say.two_kinds()
    one, ones, other, others = first.singular, first.plural, second.singular, second.plural
    meaning = mean.some(where.items, mean.both(first.condition, mean.some("get_touching(@)", second.condition)))
    if not where.is_negative and say.chance(0.4):
        texts = [
            f"{ones} and {others} ~(never touch|don't touch [each other]|are never in contact)",
            f"no {one} and no {other} ~touch [each other]",
            f"there ~is (a gap|some space) between (every|each|any) {one} and (every|each|any) {other}",
            f"there ~is no contact between (any {one} and any {other}|{ones} and {others})",
            f"(all|all the|the) {ones} ~(stay|keep|are) (clear of|away from) (all|all the|the) {others}, no touching",
            f"(every|each) {one} ~is (separated from|clear of) (every|any|each) {other}",
            f"no {one} ~(is touched by|has contact with|makes contact with) (a|any) {other}",
            f"the {ones} ~(don't|do not) touch (any {others}|any of the {others}|the {others})",
            f"there ~isn't (a {one} touching a {other}|any contact between {ones} and {others})",
            f"{ones}: none in contact with a {other}",
        ]
        return Sentence(where.front + _unmarked(say, say.pick(*texts)), where.bind(mean.negation(meaning)))
    texts = [
        f"a {one} and a {other} ~(touch|are touching|touch each other|are touching each other|are in contact)",
        f"there ~is no (gap|space) between a {one} and a {other}",
        f"there ~is contact between a {one} and a {other}",
        f"there ~are a {one} and a {other} that (touch|touch each other|are in contact)",
        f"a {one} ~(makes contact with|bumps into|is stuck to|meets|is touched by|borders on|abuts) a {other}",
        f"at least one {one} ~touches at least one {other}",
    ]
    if where.is_negative:
        return Sentence(f"{where.where} is a {one} touching a {other}", where.bind(meaning))
    return Sentence(where.front + say.pick(*texts), where.bind(meaning))


def _unmarked(say: Speaker, text: str) -> str:
    """The words without the mark of the verb where no question can be made from them."""
    words = say.expand(text)
    return words.replace("~", "") if "n't" in words or "never" in words else words


def clear_of_walls(say: Speaker) -> Sentence | None:
    """ "All circles stay off the walls"; "a wall is touched by two circles"."""
    if not say.world.walls or say.is_tower:
        return None
    where, kind = say.domain(), say.kind(modified=0.05)
    side = say.pick("", "", "LEFT", "RIGHT", "TOP", "BOTTOM")
    condition = f"is_touching_wall(@, Side.{side})" if side else "is_touching_wall(@)"
    edge = f"{_SIDES[side]} (wall|edge|side)" if side else "(wall|edge)"
    at, items = where.front, kind.among(where.items, condition)
    if say.chance(0.5):
        walls = f"the {edge}" if side else "(the walls|the edges|all walls|any wall)"
        texts = [
            f"{at}(all|all the|all of the|the) {kind.plural} ~(stay|keep|are) (off|away from|clear of) {walls}",
            f"{at}(every|each) {kind.singular} ~(stays|keeps|is) (off|away from|clear of) {walls}",
            f"{at}there ~is (a gap|some space|space) between (every|each) {kind.singular} and {walls}",
            f"{at}no {edge} ~is touched by {kind.a}",
            f"{at}{kind.plural}: all (away from|clear of) {walls}",
        ]
        return Sentence(say.pick(*texts), f"not exist({items})")
    quantity = say.quantity(high=4)
    things = quantity.of(kind)
    the = f"the {edge}" if side else f"(a {edge}|one of the walls)"
    if quantity.test == SOME:
        things = say.pick(kind.a, kind.a, f"at least one {kind.singular}")
        texts = [
            f"{at}there ~is no (gap|space) between {things} and {the}",
            f"{at}{the} ~(is touched by {things}|has {things} touching it)",
            f"{at}{things} ~(hugs|is hugging|is stuck to|bumps against|borders on|abuts) {the}",
        ]
        return Sentence(say.pick(*texts), f"exist({items})")
    be = "are" if quantity.plural else "is"
    texts = [
        f"{at}{things} ~{be} (hugging|stuck to|placed against|pressed against|flush with) {the}",
        f"{at}against {the}: {things}",
    ]
    return Sentence(say.pick(*texts), quantity.holds(items))


def all_above(say: Speaker) -> Sentence | None:
    """ "In some box even the lowest circle is above the highest square": all circles above all squares."""
    where = say.quantified(simple=True) if say.world.boxes[1] > 1 and say.chance(0.6) else say.domain()
    if not where.box or where.is_negative:
        return None
    first, second = say.two_kinds()
    if not first.condition or not second.condition:  # nothing is above itself
        return None
    above, below = "(above|higher than|higher up than)", "(below|lower than|under|lower down than)"
    others, up = say.pick(("get_box_all_below(@)", above), ("get_box_all_above(@)", below))
    a, b, every = first.plural, second.plural, "(all|all the|all of the)"
    its = "(all its|all of its)"
    texts = [
        f"{where.where}, {every} {a} ~are {up} {every} {b}",
        f"{where.where}, (every|each|any) {first.singular} ~is {up} (every|each|any) {second.singular}",
        f"{where.where}, the {a} ~are all {up} (all|) the {b}",
    ]
    if not where.plural:
        texts += [
            f"{where.subject} ~has {its} {a} {up} {its} {b}",
            f"{where.subject} ~has every {first.singular} {up} every {second.singular}",
        ]
    condition = f"contained({second.among(where.items)}, {others})"
    return Sentence(say.pick(*texts), where.bind(f"not exist({first.among(where.items, mean.negation(condition))})"))


RULES = ((1.0, pair), (1.0, contact), (0.8, clear_of_walls), (0.6, all_above))
