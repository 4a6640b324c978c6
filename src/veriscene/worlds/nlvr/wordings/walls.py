"""Items at the walls and in the corners of a box ("touching the edge", "closely touching right wall of a box")."""

from __future__ import annotations

from dataclasses import replace

from veriscene.worlds.nlvr.wordings import nouns
from veriscene.worlds.nlvr.wordings.nouns import COLORS, SHAPES, SIZES
from veriscene.worlds.nlvr.wordings.wording import (
    ALL_ITEMS,
    Phrase,
    Things,
    Voice,
    Weighted,
    both,
    every,
    exists,
    those,
)


def _border(
    weight: int, share: float, names: str, side: str = "", part: str = "wall", close: str = "", ending: str = ""
) -> tuple[int, Border]:
    """`names` are separated by commas; a number behind a name is its weight, and 1 if it is left out."""
    table = []
    for entry in names.split(", "):
        name, _, number = entry.rpartition(" ")
        table.append((int(number), name) if number.isdigit() else (1, entry))
    return weight, (f"is_{close}touching_{part}(x{side and f', Side.{side}'})", ending, share, table)


# The test; words behind the name; the share of the items there; names of the place with weights.
Border = tuple[str, str, float, Weighted[str]]
WALL_NAMES = (
    "the edge 60, any edge 46, the wall 40, the side 20, the side of the box 6, an edge 6, a wall 3, the line 2, "
    "the line of the box 3, the edge of the box 3, the edge of the square 2, any wall 2, a side 2, any side 2, "
    "the walls, the edges, the sides, edges, the border"
)
BASE_NAMES = "the base 30, the bottom base 8, the bottom 4, the bottom edge 3, the bottom of the box 3, the bottom wall"
CORNER_NAMES = (
    "the corner 14, a corner 4, the corner of the box 3, a corner of the box 2, any corner 2, the corners, corners"
)
RIGHT_NAMES = "the right side 2, the right wall 2, the right edge, the right side edge, the right side of the box"
TOP_NAMES = "the roof 2, the top edge, the top wall, the top side"
CORNER = "is_touching_corner(x)"
TOUCHED: Weighted[Border] = (
    _border(100, 0.45, WALL_NAMES),
    _border(34, 0.22, BASE_NAMES, "BOTTOM"),
    _border(7, 0.22, RIGHT_NAMES, "RIGHT"),
    _border(3, 0.08, RIGHT_NAMES.replace("right", "left"), "LEFT"),
    _border(3, 0.08, TOP_NAMES, "TOP"),
    _border(2, 0.08, "the wall", "TOP", ending=" with its top"),
    _border(1, 0.45, "the wall", ending=" with its side"),
    _border(22, 0.08, CORNER_NAMES, part="corner"),
    _border(2, 0.06, "the right corner, the right corner of the box", "RIGHT", "corner"),
    _border(2, 0.04, "the left corner, the left corner of the box", "LEFT", "corner"),
    _border(2, 0.06, "the lower corner, the bottom corner", "BOTTOM", "corner"),
    _border(1, 0.04, "the upper corner, the top corner", "TOP", "corner"),
)
BOTTOM_RIGHT = "is_closely_touching_corner(x, Side.BOTTOM) and is_closely_touching_corner(x, Side.RIGHT)"
# "Closely" goes with names of its own.
CLOSELY_TOUCHED: Weighted[Border] = (
    _border(36, 0.25, "the bottom of a box 30, the bottom, the base", "BOTTOM", close="closely_"),
    _border(36, 0.25, "right wall of a box 24, the right wall 2", "RIGHT", close="closely_"),
    _border(3, 0.08, "left wall of a box, the left wall", "LEFT", close="closely_"),
    _border(6, 0.1, "the roof of a box 4, the roof, the top of a box", "TOP", close="closely_"),
    _border(12, 0.5, "a wall of a box 6, the wall 2, the side 2, the edge, a wall", close="closely_"),
    _border(26, 0.1, "a corner of a box 8, a corner 10, a box corner 2, the corner 2", "", "corner", "closely_"),
    (3, (BOTTOM_RIGHT, "", 0.06, ((1, "the bottom right corner"), (2, "bottom-right corner of a box")))),
)
CLOSELY: Weighted[str] = ((30, "closely touching"), (2, "nearly touching"), (2, "almost touching"))


def at_border(voice: Voice, of_a_box: bool = True) -> Phrase:
    """As in "touching any edge", "closely touching right wall of a box", "in the corner of the box"."""
    if voice.chance(0.38):
        verb, table = voice.weighted(*CLOSELY), CLOSELY_TOUCHED
    else:
        verb, table = voice.weighted((30, "touching"), (1, "attached to")), TOUCHED
    test, ending, share, names = voice.weighted(*table)
    name = voice.weighted(*names)
    if not of_a_box:
        name = name.removesuffix(" of a box")  # "a box with a circle closely touching the bottom of a box"
    if test == CORNER and voice.chance(0.15):
        return Phrase("in the corner of the box", test, share)
    return Phrase(f"{verb} {name}{ending}", test, share)


def not_at_border(voice: Voice, of_a_box: bool = True) -> Phrase:
    """As in "not touching any edge". Other verbs are redrawn: "not closely touching" is unusual."""
    at = at_border(voice, of_a_box)
    while not at.words.startswith("touching"):
        at = at_border(voice, of_a_box)
    return Phrase(f"not {at.words}", f"not ({at.meaning})", 1 - at.share)


def some_border(voice: Voice, of_a_box: bool = True) -> Phrase:
    place = voice.weighted((7, at_border), (3, not_at_border))(voice, of_a_box)
    which = voice.weighted((12, ""), (1, "that {is} "), (1, "which {is} "))
    return replace(place, words=which + place.words)


def some_things(voice: Voice) -> Things:
    """A noun that fits some of the items, perhaps with a size behind it."""
    if voice.kind == "scatter" and voice.chance(0.03):
        size = voice.one_of(*SIZES)
        of_size: Weighted[Phrase] = (
            (6, Phrase(f"of {size} size", SIZES[size])),
            (1, Phrase(f"that {{is}} {size}", SIZES[size])),
            (1, Phrase(f"not being of {size} size", f"not {SIZES[size]}", 2 / 3)),
            (1, Phrase(f"that {{is}} not {size}", f"not {SIZES[size]}", 2 / 3)),
        )
        return voice.weighted((3, nouns.colored_shape), (1, nouns.some_color))(voice).that(voice.weighted(*of_size))
    return nouns.some_things(voice)


def other_look(voice: Voice, things: Things) -> Phrase | None:
    """As in "which is not a square", where the noun says nothing about shapes; None if it does."""
    looks = {f"{{{shape}}}": test for shape, test in SHAPES.items()}
    if any(test in things.meaning for test in SHAPES.values()) or voice.kind == "tower":
        looks = dict(COLORS)
    if any(test in things.meaning for test in looks.values()):
        return None
    word = voice.one_of(*looks)
    which = voice.one_of("that {is} not", "which {is} not")
    return Phrase(f"{which} {word}", f"not {looks[word]}", 2 / 3)


def things_at_border(voice: Voice, of_a_box: bool = True) -> Things:
    """As in "blue circles not touching any edge", "black object touching the corner which is not a square"."""
    things = voice.weighted((9, some_things), (1, nouns.anything))(voice)
    found = things.that(some_border(voice, of_a_box))
    if voice.chance(0.04) and (other := other_look(voice, things)):
        return found.that(other)
    return found


def subject_at_border(voice: Voice) -> Phrase:
    """As in "black circle is touching the edge", "the blue item is not touching the wall"."""
    things, place = some_things(voice), voice.weighted((3, at_border), (1, not_at_border))(voice)
    meaning = f"exist({things.that(place).among(ALL_ITEMS)})"
    if place.words.startswith("not "):  # Of several, none touches: so the labels of such statements say.
        meaning = f"not {exists(f'not ({place.meaning})', things.among(ALL_ITEMS))}"
    return Phrase(f"{voice.one_of('', 'the ')}{things.singular} is {place.words}", meaning)


def alike_at_border(voice: Voice) -> Phrase:
    """As in "there are two triangles of the same color touching the corner"."""
    things, place, number = nouns.some_shape(voice), at_border(voice), voice.weighted((3, 2), (1, 3))
    found = things.that(place).among(ALL_ITEMS)
    how, test = voice.weighted((3, ("", "==")), (2, ("at least ", ">=")), (1, ("exactly ", "==")))
    n, same = f"{how}{voice.number(number)}", f"the same {voice.color}"
    words = voice.one_of(f"{n} {things.plural} of {same} {place.words}", f"{n} {same} {things.plural} {place.words}")
    meaning = f"exist(filter_obj(get_set_colors({found}), lambda v: count(filter_color({found}, v)) {test} {number}))"
    return Phrase(f"there are {words}", meaning)


def only_at_border(voice: Voice) -> Phrase:
    """As in "only blue and yellow items are touching the wall", "items of all three colors are touching the wall"."""
    place, things = at_border(voice), nouns.anything(voice)
    there = things.that(place).among(ALL_ITEMS)
    one, other = voice.two_of(*COLORS)
    number = voice.rng.randint(2, 3)
    all_of = voice.one_of("all ", "all the ", "") if number == 3 else voice.one_of("only ", "")
    values = f"{voice.number(number)} {voice.one_of('', 'different ')}{voice.color}s"
    words, meaning = voice.one_of(
        (f"only {one} and {other} {things.plural}", every(f"{COLORS[one]} or {COLORS[other]}", there)),
        (f"only {one} {things.plural}", every(COLORS[one], there)),
        (f"{things.plural} of {all_of}{values}", f"count(get_set_colors({there})) == {number}"),
    )
    return Phrase(f"{words} are {place.words}", meaning)


def colored_pair(voice: Voice) -> Phrase:
    """As in "a black and blue square touching each other", about the items of the box `b`."""
    one, other = voice.two_of(*COLORS)
    things = nouns.anything(voice) if voice.kind == "tower" or voice.chance(0.3) else nouns.some_shape(voice)
    words, near = voice.one_of(("touching", "get_touching(x)"), ("closely touching", "get_closely_touching(x)"))
    second = those(both(COLORS[other], things.meaning), near)
    meaning = exists(f"{both(COLORS[one], things.meaning)} and exist({second})")
    return Phrase(f"a {one} and {voice.one_of('', 'a ')}{other} {things.singular} {words} each other", meaning)
