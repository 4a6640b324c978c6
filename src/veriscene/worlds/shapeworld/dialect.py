"""Statements as ShapeWorld words them: existence, counts and shares, relations, selections, and these joined."""

from __future__ import annotations

import random

from veriscene import worlds
from veriscene.english import meaning as mean
from veriscene.english.pattern import with_articles
from veriscene.english.speaker import Kind, Property
from veriscene.english.words import NUMBERS
from veriscene.language.program import Statement

WORLD = worlds.get("shapeworld")
ITEMS, OTHERS = mean.ALL_ITEMS, "get_img_exclusive(@)"
_SIGNS = {"exactly": "==", "not": "!=", "less than": "<", "more than": ">", "at least": ">=", "at most": "<="}
_SHARES = (
    *(("no", 0, 1), ("a quarter", 1, 4), ("a third", 1, 3), ("half", 1, 2)),
    *(("two thirds", 2, 3), ("three quarters", 3, 4), ("all", 1, 1)),
)
_SIDES = {
    "to the left of": "get_box_all_right",
    "to the right of": "get_box_all_left",
    "above": "get_box_all_below",
    "below": "get_box_all_above",
    "in front of": "get_behind",
    "behind": "get_in_front",
}
_MORE = {"bigger": "area", "smaller": "area", "lighter": "shade", "darker": "shade"}
# The first of two, the first of several, and by what they are compared.
_SELECTORS = (
    *(("left", "leftmost", "center_x", "min"), ("right", "rightmost", "center_x", "max")),
    *(("upper", "uppermost", "center_y", "min"), ("lower", "lowermost", "center_y", "max")),
    *(("smaller", "smallest", "area", "min"), ("bigger", "biggest", "area", "max")),
    *(("darker", "darkest", "shade", "min"), ("lighter", "lightest", "shade", "max")),
    *(("closer to", "closest to", "distance", "min"), ("farther from", "farthest from", "distance", "max")),
)


def draw(rng: random.Random, level: str = "full") -> Statement:
    """Draws a random statement with its program; there is only one level."""
    text, program = _clause(rng)
    if rng.random() < 0.3:
        text, program = _joined(rng, (text, program), _clause(rng))
    text = with_articles(f"{text} ." if rng.random() < 0.7 else text)
    return Statement(text, None, worlds.parse(program, WORLD))


def _joined(rng: random.Random, first: tuple[str, str], second: tuple[str, str]) -> tuple[str, str]:
    (a, p), (b, q) = first, second
    return rng.choice((
        (f"{a} and {b}", mean.both(p, q)), (f"{a} or {b}", mean.either(p, q)), (f"if {a} {b}", mean.implication(p, q)),
        (f"{a} if {b}", mean.implication(q, p)), (f"{a} if and only if {b}", f"({p}) == ({q})"),
    ))  # fmt: skip


def _kind(rng: random.Random, *, generic: float = 0.15) -> Kind:
    words, noun, conditions = "", ("shape", "shapes"), []
    how = "generic" if rng.random() < generic else rng.choice(("shape", "color", "both"))
    if how in ("color", "both"):
        color = rng.choice(WORLD.attribute("color").choices)
        words = f"{color.word} "
        conditions.append(f"color(@) == color.{color.name}")
    if how in ("shape", "both"):
        shape = rng.choice(WORLD.attribute("shape").choices)
        noun = (shape.word, shape.plural[0])
        conditions.append(f"shape(@) == shape.{shape.name}")
    return Kind(words + noun[0], words + noun[1], mean.both(*conditions))


def _predicate(rng: random.Random, *, related: float) -> Property:
    """ "Red", "a red circle", "to the left of a circle", "not the same color as a circle"."""
    if rng.random() < related:
        found = _relation(rng)
        if rng.random() < 0.4:
            return Property(f"not {found.singular}", f"not {found.plural}", mean.negation(found.condition))
        return found
    kind = _kind(rng, generic=0)
    if kind.singular.endswith(" shape") and rng.random() < 0.7:
        color = kind.singular.removesuffix(" shape")
        return Property(color, color, kind.condition)
    return Property(kind.a, kind.plural, kind.condition)


def _relation(rng: random.Random) -> Property:
    other, how = _kind(rng), rng.choice(("side", "side", "same", "more", "near"))
    if how == "side":
        words, others = rng.choice(list(_SIDES.items()))
        said, condition = f"{words} {other.a}", mean.some(f"{others}(@)", other.condition)
    elif how == "same":
        name, is_same = rng.choice(("color", "shape")), rng.random() < 0.5
        said = f"the same {name} as {other.a}" if is_same else f"a different {name} from {other.a}"
        test = f"{name}(@) {'==' if is_same else '!='} {name}($)"
        condition = f"exist({mean.related(OTHERS, mean.both(other.condition, test))})"
    elif how == "more":
        words, key = rng.choice(list(_MORE.items()))
        sign = ">" if words in ("bigger", "lighter") else "<"
        said = f"{words} than {other.a}"
        condition = f"exist({mean.related(ITEMS, mean.both(other.condition, f'{key}($) {sign} {key}(@)'))})"
    else:
        than, is_near = _kind(rng, generic=0), rng.random() < 0.5
        item = f"unique({than.among(ITEMS)})".replace("x0", "z0")
        said = f"{'closer to' if is_near else 'farther from'} {other.a} than the {than.singular}"
        test = f"distance($, @) {'<' if is_near else '>'} distance({item}, @){'' if is_near else ' > 0'}"
        condition = f"exist({mean.related(OTHERS, mean.both(other.condition, test))})"
    return Property(said, said, condition)


def _clause(rng: random.Random) -> tuple[str, str]:
    how = rng.choices(("some", "is", "count", "share", "bound", "compared", "selected"), (1, 4, 2, 2, 2, 2, 3))[0]
    kind = _kind(rng, generic=0.3 if how in ("is", "count", "share") else 0)
    if how == "some":
        return f"there is {kind.a}", f"exist({kind.among(ITEMS)})"
    if how == "selected":
        return _selected(rng, kind)
    found = _predicate(rng, related=0.5 if how == "is" else 0.15)
    those = kind.among(ITEMS, found.condition)
    if how == "is":
        return f"{kind.a} is {found.singular}", f"exist({those})"
    if how == "compared":
        return _compared(rng, kind, found)
    return _quantified(rng, how, kind, found)


def _quantified(rng: random.Random, how: str, kind: Kind, found: Property) -> tuple[str, str]:
    """ "At most two circles are red"; "less than half the circles are red"; "not one of the six circles is red"."""
    those, everything = f"count({kind.among(ITEMS, found.condition)})", f"count({kind.among(ITEMS)})"
    words, sign = rng.choice(list(_SIGNS.items()))
    size = rng.randint(2, 8)
    given = f"{everything} == {size}" if how == "bound" else ""
    bound = f"the {NUMBERS[size]} " if how == "bound" else "the "
    if how == "count" or (how == "bound" and rng.random() < 0.5):
        number = rng.randint(0, 5)
        is_one = number == 1
        if words == "not" and is_one:  # "not one circle" says that there is none
            words, sign = "exactly", "=="
        test = f"{those} {sign} {number}"
        noun = f"of {bound}{kind.plural}" if how == "bound" else kind.singular if is_one else kind.plural
        said = (found.plural if how == "bound" and rng.random() < 0.7 else found.singular) if is_one else found.plural
        return f"{words} {NUMBERS[number]} {noun} {'is' if is_one else 'are'} {said}", mean.both(given, test)
    share, part, parts = rng.choice(_SHARES)
    test = f"{_times(those, parts)} {sign} {_times(everything, part)}"
    if share == "no":
        if how == "bound":
            return f"{words} none of {bound}{kind.plural} is {found.plural}", mean.both(given, test)
        return f"{words} no {kind.singular} is {found.singular}", test
    of = "" if share in ("half", "all") else " of"
    bound = "" if share == "all" and how != "bound" else bound
    verb = rng.choice(("is", "are")) if share == "a third" else "are"
    return f"{words} {share}{of} {bound}{kind.plural} {verb} {found.plural}", mean.both(given, test)


def _times(number: str, factor: int) -> str:
    return number if factor == 1 else "0" if factor == 0 else f"{number} * {factor}"


def _compared(rng: random.Random, kind: Kind, found: Property) -> tuple[str, str]:
    """ "Half as many circles as crosses are red"; "two more circles than crosses are red"."""
    other, number = _kind(rng, generic=0), rng.randint(1, 5)
    a, b = (f"count({each.among(ITEMS, found.condition)})" for each in (kind, other))
    if rng.random() < 0.4:
        is_more = rng.random() < 0.6
        noun, be, said = (kind.singular, "is", found.singular) if number == 1 else (kind.plural, "are", found.plural)
        text = f"{NUMBERS[number]} {'more' if is_more else 'less'} {noun} than {other.plural} {be} {said}"
        return text, f"{a} == {b} + {number}" if is_more else f"{a} + {number} == {b}"
    words, sign = rng.choice((("", "=="), ("more than ", ">"), ("less than ", "<")))
    times, part, parts = rng.choice((("half ", 1, 2), ("", 1, 1), ("twice ", 2, 1)))
    than = f"as many {kind.plural} as {other.plural}"
    if words and not times:
        than, words = f"{words.removesuffix('than ')}{kind.plural} than {other.plural}", ""
    return f"{words}{times}{than} are {found.plural}", f"{_times(a, parts)} {sign} {_times(b, part)}"


def _selected(rng: random.Random, kind: Kind) -> tuple[str, str]:
    """ "The smaller circle is red"; "the circle closest to the cross is above a square"."""
    comparative, superlative, key, choose = rng.choice(_SELECTORS)
    is_two, other = rng.random() < 0.5, _kind(rng, generic=0)
    word = comparative if is_two else superlative
    value = f"{key}(@)"
    subject = f"the {word} {kind.singular}"
    if key == "distance":
        value = f"distance(@, unique({other.among(ITEMS)}))"
        subject = f"the {kind.singular} {word} the {other.singular}"
    found, items = _predicate(rng, related=0.25), kind.among(ITEMS)
    item = f"{choose}({items}, key={mean.bind(value)})"
    test = f"Any([{item}], {mean.bind(found.condition)})"
    return f"{subject} is {found.singular}", mean.both(f"count({items}) == 2" if is_two else "", test)
