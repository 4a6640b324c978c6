"""Items at the border of a box, and more of their attributes."""

from __future__ import annotations

from dataclasses import replace

from veriscene.worlds.nlvr.wordings import nouns
from veriscene.worlds.nlvr.wordings.wording import Phrase, Things, Voice, Weighted, both

WALL, CORNER = "is_{}touching_wall(x{})", "is_{}touching_corner(x{})"


def _names(weighted: str) -> Weighted[str]:
    """ "the edge 3, a wall" as a table; the weight of a name without a number is 1."""
    table = []
    for entry in weighted.split(", "):
        name, _, weight = entry.rpartition(" ")
        table.append((int(weight), name) if weight.isdigit() else (1, entry))
    return table


# Weight; verb; test and its placeholder; share of the items there; names. "Closely" goes with names of its own.
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
LEFT_NAMES, TOP_NAMES = RIGHT_NAMES.replace("right", "left"), "the roof 2, the top edge, the top wall, the top side"
TOUCHED: Weighted[Border] = (
    (100, (WALL.format("", ""), "", 0.45, _names(WALL_NAMES))),
    (34, (WALL.format("", ", Side.BOTTOM"), "", 0.22, _names(BASE_NAMES))),
    (7, (WALL.format("", ", Side.RIGHT"), "", 0.22, _names(RIGHT_NAMES))),
    (3, (WALL.format("", ", Side.LEFT"), "", 0.08, _names(LEFT_NAMES))),
    (3, (WALL.format("", ", Side.TOP"), "", 0.08, _names(TOP_NAMES))),
    (2, (WALL.format("", ", Side.TOP"), " with its top", 0.08, _names("the wall"))),
    (1, (WALL.format("", ""), " with its side", 0.45, _names("the wall"))),
    (22, (CORNER.format("", ""), "", 0.08, _names(CORNER_NAMES))),
    (2, (CORNER.format("", ", Side.RIGHT"), "", 0.06, _names("the right corner, the right corner of the box"))),
    (2, (CORNER.format("", ", Side.LEFT"), "", 0.04, _names("the left corner, the left corner of the box"))),
    (2, (CORNER.format("", ", Side.BOTTOM"), "", 0.06, _names("the lower corner, the bottom corner"))),
    (1, (CORNER.format("", ", Side.TOP"), "", 0.04, _names("the upper corner, the top corner"))),
)
CLOSE_TOUCHED: Weighted[Border] = (
    (36, (WALL.format("closely_", ", Side.BOTTOM"), "", 0.25, _names("the bottom of a box 30, the bottom, the base"))),
    (36, (WALL.format("closely_", ", Side.RIGHT"), "", 0.25, _names("right wall of a box 24, the right wall 2"))),
    (3, (WALL.format("closely_", ", Side.LEFT"), "", 0.08, _names("left wall of a box, the left wall"))),
    (6, (WALL.format("closely_", ", Side.TOP"), "", 0.1, _names("the roof of a box 4, the roof, the top of a box"))),
    (12, (WALL.format("closely_", ""), "", 0.5, _names("a wall of a box 6, the wall 2, the side 2, the edge, a wall"))),
    (
        26,
        (
            CORNER.format("closely_", ""),
            "",
            0.1,
            _names("a corner of a box 8, a corner 10, a box corner 2, the corner 2"),
        ),
    ),
    (
        3,
        (
            "is_closely_touching_corner(x, Side.BOTTOM) and is_closely_touching_corner(x, Side.RIGHT)",
            "",
            0.06,
            _names("the bottom right corner, bottom-right corner of a box 2"),
        ),
    ),
)
CLOSELY: Weighted[str] = ((30, "closely touching"), (2, "nearly touching"), (2, "almost touching"))


def at_border(voice: Voice, of_a_box: bool = True) -> Phrase:
    """As in "touching any edge", "closely touching right wall of a box", "in the corner of the box"."""
    if voice.chance(0.38):
        verb, table = voice.weighted(*CLOSELY), CLOSE_TOUCHED
    else:
        verb, table = voice.weighted((30, "touching"), (1, "attached to")), TOUCHED
    test, ending, share, names = voice.weighted(*table)
    name = voice.weighted(*names)
    if not of_a_box:
        name = name.removesuffix(" of a box")  # "a box with a circle closely touching the bottom of a box"
    if test == CORNER.format("", "") and voice.chance(0.15):
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
        size = voice.one_of(*nouns.SIZES)
        of_size: Weighted[Phrase] = (
            (6, Phrase(f"of {size} size", nouns.SIZES[size])),
            (1, Phrase(f"that {{is}} {size}", nouns.SIZES[size])),
            (1, Phrase(f"not being of {size} size", f"not {nouns.SIZES[size]}", 2 / 3)),
            (1, Phrase(f"that {{is}} not {size}", f"not {nouns.SIZES[size]}", 2 / 3)),
        )
        return voice.weighted((3, nouns.colored_shape), (1, nouns.some_color))(voice).that(voice.weighted(*of_size))
    return nouns.some_things(voice)


def other_look(voice: Voice, things: Things) -> Phrase | None:
    """As in "which is not a square", where the noun says nothing about shapes; None if it does."""
    looks = {f"{{{shape}}}": test for shape, test in nouns.SHAPES.items()}
    if any(test in things.meaning for test in nouns.SHAPES.values()) or voice.kind == "tower":
        looks = dict(nouns.COLORS)
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
    the, found = voice.one_of("", "the "), things.among("all_items")
    # Of several, none touches: so the labels of such statements say.
    meaning = f"exist({things.that(place).among('all_items')})"
    if place.words.startswith("not "):
        meaning = f"not exist(filter_obj({found}, lambda x: not ({place.meaning})))"
    return Phrase(f"{the}{things.singular} is {place.words}", meaning)


def alike_at_border(voice: Voice) -> Phrase:
    """As in "there are two triangles of the same color touching the corner"."""
    things, place, number = nouns.some_shape(voice), at_border(voice), voice.weighted((3, 2), (1, 3))
    found = things.that(place).among("all_items")
    how, test = voice.weighted((3, ("", "==")), (2, ("at least ", ">=")), (1, ("exactly ", "==")))
    n, same = f"{how}{voice.number(number)}", f"the same {voice.color}"
    words = voice.one_of(f"{n} {things.plural} of {same} {place.words}", f"{n} {same} {things.plural} {place.words}")
    meaning = f"exist(filter_obj(get_set_colors({found}), lambda v: count(filter_color({found}, v)) {test} {number}))"
    return Phrase(f"there are {words}", meaning)


def only_at_border(voice: Voice) -> Phrase:
    """As in "only blue and yellow items are touching the wall", "items of all three colors are touching the wall"."""
    place, things = at_border(voice), nouns.anything(voice)
    there = things.that(place).among("all_items")
    one, other = voice.two_of(*nouns.COLORS)
    number = voice.rng.randint(2, 3)
    every = voice.one_of("all ", "all the ", "") if number == 3 else voice.one_of("only ", "")
    different = voice.one_of("", "different ")
    words, meaning = voice.one_of(
        (
            f"only {one} and {other} {things.plural}",
            f"All({there}, lambda x: {nouns.COLORS[one]} or {nouns.COLORS[other]})",
        ),
        (f"only {one} {things.plural}", f"All({there}, lambda x: {nouns.COLORS[one]})"),
        (
            f"{things.plural} of {every}{voice.number(number)} {different}{voice.color}s",
            f"count(get_set_colors({there})) == {number}",
        ),
    )
    return Phrase(f"{words} are {place.words}", meaning)


def colored_pair(voice: Voice) -> Phrase:
    """As in "a black and blue square touching each other", about the items of the box `b`."""
    one, other = voice.two_of(*nouns.COLORS)
    things = nouns.anything(voice) if voice.kind == "tower" or voice.chance(0.3) else nouns.some_shape(voice)
    words, near = voice.one_of(("touching", "get_touching(x)"), ("closely touching", "get_closely_touching(x)"))
    second = f"filter_obj({near}, lambda x: {both(nouns.COLORS[other], things.meaning)})"
    first = f"filter_obj(b.all_items_in_box(), lambda x: {both(nouns.COLORS[one], things.meaning)} and exist({second}))"
    a = voice.one_of("", "a ")
    return Phrase(f"a {one} and {a}{other} {things.singular} {words} each other", f"exist({first})")
