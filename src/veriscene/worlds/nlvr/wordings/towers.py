"""Towers and their blocks: by position, by neighbours, by height, and as boxes of items that lie on one another.

Meanings are about the box `b`, and about the block `x`.
"""

from __future__ import annotations

from collections.abc import Mapping

from veriscene.worlds.nlvr.wordings import boxes, comparisons, nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.comparisons import ENDS
from veriscene.worlds.nlvr.wordings.nouns import COLORS
from veriscene.worlds.nlvr.wordings.wording import (
    ALL_ITEMS,
    ITEMS_OF_BOX,
    ITEMS_OF_SAME_BOX,
    Pattern,
    Phrase,
    Things,
    Voice,
    Weighted,
    agree,
    both,
    every,
    exists,
    joined,
    number_of,
    some_box,
    those,
)

# What a position is called, and which block it is.
END_NAMES: Mapping[str, tuple[str, ...]] = {"top": ("top",), "base": ("base", "base", "bottom")}
MIDDLE = "not is_top(x) and not is_bottom(x)"
MIDDLE_OF_THREE = f"is_second(x) and count({ITEMS_OF_SAME_BOX}) == 3"  # "the" middle block: there is only one
PARTS: Weighted[tuple[str, str]] = (
    (16, ("base", "is_bottom(x)")),
    (16, ("top", "is_top(x)")),
    (2, ("base block", "is_bottom(x)")),
    (2, ("bottom block", "is_bottom(x)")),
    (2, ("bottom", "is_bottom(x)")),
    (3, ("top block", "is_top(x)")),
    (2, ("top most block", "is_top(x)")),
    (6, ("second block from the base", "is_second(x)")),
    (3, ("second block", "is_second(x)")),
    (2, ("second level", "is_second(x)")),
    (3, ("third block from the base", "is_third(x)")),
    (1, ("third block", "is_third(x)")),
    (4, ("middle block", MIDDLE_OF_THREE)),
    (2, ("middle", MIDDLE_OF_THREE)),
)
TOWER = Things("tower", "towers", "b.is_tower()", variable="b")


def painted(color: str, test: str) -> str:
    """Some block of that colour passes the test."""
    return exists(f"{COLORS[color]} and {test}")


# ---------------------------------------------------------------- attributes of a block


def at_end(voice: Voice) -> Phrase:
    """As in "at the base", of a tower mentioned before."""
    end = voice.one_of("top", "base")
    return Phrase(f"at the {voice.one_of(*END_NAMES[end])}", ENDS[end], 0.4)


def at_tower_end(voice: Voice, preposition: str = "at") -> Phrase:
    """As in "at the base of a tower", "as the base of a tower"."""
    end = at_end(voice)
    words = end.words.replace("at", preposition, 1)
    return Phrase(f"{words} of a tower", f"x.box.is_tower() and {end.meaning}", end.share)


def at_end_of_height(voice: Voice) -> Things:
    """As in "blue block as the base of a tower with at least two blocks"."""
    end = at_tower_end(voice, voice.weighted((3, "as"), (1, "at")))
    if voice.chance(0.5):
        size = q.quantified(voice, nouns.anything(voice), ITEMS_OF_SAME_BOX, q.COUNTS)
        end = Phrase(f"{end.words} with {size.words}", both(end.meaning, size.meaning), end.share * 0.4)
    return nouns.some_things(voice).that(end)


# ---------------------------------------------------------------- what a tower has


def block_at(voice: Voice) -> Phrase:
    """As in "a black block at the top", perhaps "and a blue block at the base"."""
    if voice.simple:
        return _block_at(voice, voice.one_of("top", "base"))
    first, second = voice.two_of("top", "base")
    if voice.chance(0.08):
        color = voice.one_of(*COLORS)
        words = f"a {color} {voice.item} at the {first} and at the {second}"
        return Phrase(words, both(painted(color, ENDS[first]), painted(color, ENDS[second])))
    if voice.chance(0.08):
        color = voice.one_of(*COLORS)
        return Phrase(f"a {color} {voice.item} in the middle", painted(color, MIDDLE))
    one = _block_at(voice, first)
    return one if voice.chance(0.75) else joined([one, _block_at(voice, second)])


def _block_at(voice: Voice, end: str) -> Phrase:
    color = voice.one_of(*COLORS)
    preposition = voice.weighted((12, "at the"), (2, "as the"), (1, "at {its}"))
    words = f"a {color} {voice.item} {preposition} {voice.one_of(*END_NAMES[end])}"
    return Phrase(words, painted(color, ENDS[end]))


def at_part(voice: Voice) -> Phrase:
    """As in "a black block on top", "a yellow block as the second level", "blue base"."""
    color, item = voice.one_of(*COLORS), voice.item
    a = voice.weighted((8, "a "), (1, f"{voice.number(1)} "))
    block = f"{a}{color} {item}"
    part = voice.phrase(
        (8, f"{block} at the top", "is_top(x)"),
        (2, f"{block} on the top", "is_top(x)"),
        (2, f"{block} on top", "is_top(x)"),
        (2, f"a {color} top", "is_top(x)"),
        (1, f"{color} at the top", "is_top(x)"),
        (10, f"{block} at the base", "is_bottom(x)"),
        (3, f"{block} at the bottom", "is_bottom(x)"),
        (3, f"{block} at its base", "is_bottom(x)"),
        (3, f"a {color} base", "is_bottom(x)"),
        (1, f"a {color} {item} base", "is_bottom(x)"),
        (2, f"{block} in the middle", MIDDLE),
        (1, f"{block} in the middle of it", MIDDLE),
        (1, f"{block} as a middle {item}", MIDDLE),
        (1, f"{block} as the second level", "is_second(x)"),
        (1, f"{color} second {item}", "is_second(x)"),
    )
    return Phrase(part.words, painted(color, part.meaning))


def at_both_ends(voice: Voice) -> Phrase:
    """As in "a blue block at the top and base", "a black block at the base and a different color block at the top"."""
    color, other = voice.two_of(*COLORS)
    item, low, high = voice.item, painted(color, "is_bottom(x)"), painted(color, "is_top(x)")
    two_colors = both(low, painted(other, "is_top(x)"))
    another = both(low, exists(f"not {COLORS[color]} and is_top(x)"))
    same = f"all_same_color({those('is_top(x) or is_bottom(x)')})"
    different = f"different {voice.color}"
    return voice.phrase(
        (3, f"a {color} {item} at the top and base", both(low, high)),
        (2, f"a {color} {item} at the top and at the base", both(low, high)),
        (3, f"a {color} {item} at the base and a {other} {item} at the top", two_colors),
        (2, f"a {color} base and {other} top", two_colors),
        (2, f"the same {voice.color} {item} at the top and base", same),
        (2, f"a {color} {item} at the base and a {different} {item} at the top", another),
        (1, f"no {color} {item} at the top", f"not {high}"),
        (1, f"no {color} {item} at the base", f"not {low}"),
    )


def next_to_end(voice: Voice) -> Phrase:
    """As in "a blue block below the top block", directly below it."""
    words, near, end = voice.one_of(("below the top", "get_above", "top"), ("above the base", "get_below", "base"))
    beside_end = Phrase(f"{words} {voice.item}", exists(ENDS[end], f"{near}(x)"), 0.3)
    return q.quantified(voice, nouns.some_color(voice).that(beside_end), ITEMS_OF_BOX, ((1, q.A),))


def stacked(voice: Voice) -> Phrase:
    """As in "two blue blocks stacked together", "three black blocks above a yellow block"."""
    color, other = voice.one_of(*COLORS), voice.one_of(*COLORS)
    number, item = voice.weighted((4, 2), (1, 3)), voice.item
    attached = voice.one_of(
        "stacked together", "attached with each other", "attached together", "attached to each other"
    )
    run = painted(color, f"{number_of(COLORS[color], 'get_touching(x)')} >= {number - 1}")
    above = painted(other, f"{number_of(COLORS[color], 'get_box_all_above(x)')} == {number}")
    below = above.replace("above", "below")
    same = exists("exist(filter_obj(get_above(x), lambda y: equal_color(query_color(y), query_color(x))))")
    different = painted(color, exists(f"not {COLORS[color]}", "get_above(x)"))
    n, two = voice.number(number), voice.number(2)
    return voice.phrase(
        (6, f"{n} {color} {item}s {attached}", run),
        (3, f"at least {n} {color} {item}s {attached}", run),
        (2, f"{two} {item}s of the same {voice.color} {attached}", same),
        (2, f"the same {voice.color} {item}s on top of each other", same),
        (1, f"same {voice.color} {item}s over each other", same),
        (2, f"{n} {color} {item}s above a {other} {item}", above),
        (1, f"a {other} {item} above {n} {color} {item}s", below),
        (2, f"a {voice.one_of('different color', 'different colored')} {item} above a {color} {item}", different),
    )


def between(voice: Voice) -> Phrase:
    """As in "a black block between two blocks of the same color"."""
    color, other = voice.two_of(*COLORS)
    item, two = voice.item, voice.number(2)
    link = voice.one_of("between", "in between", "that is between")
    sides, inside = "union(get_above(x), get_below(x))", "exist(get_above(x)) and exist(get_below(x))"
    same = f"{inside} and all_same_color({sides})"
    not_color = f"{inside} and {number_of(f'not {COLORS[color]}', sides)} == 2"
    two_others = both(exists(COLORS[other], "get_above(x)"), exists(COLORS[other], "get_below(x)"))
    found = voice.phrase(
        (4, f"{two} {item}s of the same {voice.color}", same),
        (2, f"{two} {item}s of same {voice.color}", same),
        (2, f"{two} {item}s", inside),
        (2, f"the {two} {item}s that {voice.one_of('is', 'are')} not {color}", not_color),
        (4, f"{two} {other} {item}s", two_others),
    )
    return Phrase(f"a {color} {item} {link} {found.words}", painted(color, found.meaning))


def stacked_and_end(voice: Voice) -> Phrase:
    """As in "a blue block above a black block and a yellow block at the base"."""
    return joined([boxes.neighbours(voice), at_part(voice)])


RELATIONS: Weighted[Pattern] = (
    *((8, at_part), (3, at_both_ends), (3, boxes.neighbours)),
    *((2, between), (2, stacked), (1, stacked_and_end), (1, next_to_end)),
)


def number_and_end(voice: Voice) -> Phrase:
    """As in "exactly three blocks with a black block at the top", "4 blocks and the base is blue"."""
    whole, end = boxes.total(voice), voice.weighted(*RELATIONS)(voice)
    link = voice.weighted((6, "having"), (3, "with"), (3, "and"), (2, "which has"), (1, "and has"), (1, "and with"))
    if voice.chance(0.04):
        return Phrase(f"{whole.words} not having {end.words}", f"{whole.meaning} and not ({end.meaning})")
    if voice.chance(0.15):
        link, end = voice.one_of("and", "where"), voice.weighted(*CLAUSES)(voice)
    return Phrase(f"{whole.words} {link} {end.words}", f"{whole.meaning} and {end.meaning}")


# ---------------------------------------------------------------- clauses about a tower


def part_is(voice: Voice) -> Phrase:
    """As in "the base is blue", "the second block from the base is yellow"."""
    (name, test), color = voice.weighted(*PARTS), voice.one_of(*COLORS)
    return Phrase(f"the {name} is {color}", painted(color, test))


def color_is(voice: Voice) -> Phrase:
    """As in "the color is black", "the color is blue and yellow"."""
    one, other = voice.two_of(*COLORS)
    if voice.chance(0.5):
        return Phrase(f"the {voice.color} is {one}", every(COLORS[one]))
    meaning = f"equal_set(get_set_colors({ITEMS_OF_BOX}), {{Color.{one.upper()}, Color.{other.upper()}}})"
    return Phrase(f"the {voice.color} is {one} and {other}", meaning)


def end_is(voice: Voice) -> Phrase:
    """As in "the base is blue", "the top is yellow and the base is black"."""
    first, second = voice.two_of("top", "base")
    one, other = voice.one_of(*COLORS), voice.one_of(*COLORS)
    if one == other and voice.chance(0.5):
        meaning = both(painted(one, ENDS[first]), painted(one, ENDS[second]))
        return Phrase(f"the {first} and the {second} are both {one}", meaning)
    clauses = [
        Phrase(f"the {end} is {color}", painted(color, ENDS[end])) for end, color in ((first, one), (second, other))
    ]
    return joined(clauses) if voice.chance(0.4) else clauses[0]


def two_parts(voice: Voice) -> Phrase:
    """As in "the base and second block are the same in color", "the first two blocks from the base are yellow"."""
    color, n2 = voice.one_of(*COLORS), voice.number(2)
    one, other, first, second = voice.weighted(
        (3, ("top", "base", "is_top(x)", "is_bottom(x)")),
        (3, ("base", "top", "is_bottom(x)", "is_top(x)")),
        (2, ("top", "bottom blocks", "is_top(x)", "is_bottom(x)")),
        (3, ("base", "second block", "is_bottom(x)", "is_second(x)")),
        (1, ("second", "third block", "is_second(x)", "is_third(x)")),
    )
    has_both = both(painted(color, first), painted(color, second))
    low = both(painted(color, "is_bottom(x)"), painted(color, "is_second(x)"))
    all_same = f"all_same_color({those(f'{first} or {second}')})"
    same = both(exists(second) if "second" in other or "third" in other else "", all_same)
    return voice.phrase(
        (4, f"the {one} and {other} are {voice.one_of('', 'both ')}{color}", has_both),
        (1, f"the {one} and {other} is {color}", has_both),
        (3, f"the {one} and the {other} are the same in {voice.color}", same),
        (2, f"the {one} and {other} are the same {voice.color}", same),
        (2, f"the {one} and {other} are not the same in {voice.color}", f"not {all_same}"),
        (2, f"the first {n2} blocks from the base are {color}", low),
    )


CLAUSES: Weighted[Pattern] = ((6, part_is), (3, two_parts), (2, color_is), (2, end_is))

# ---------------------------------------------------------------- towers, and sentences about one of them


def tower_of_blocks(voice: Voice) -> Things:
    """As in "three blocks tower", "tower of 2 blocks", "single block tower", "tower with exactly four blocks"."""
    number = voice.weighted((2, 1), (5, 2), (5, 3), (4, 4))
    n, items = voice.number(number), "blocks" if number > 1 else "block"
    words = voice.weighted(
        (6, f"{n} {items} tower|"),
        (1, f"{n} block tower|"),
        (1, f"{'single' if number == 1 else n} block tower|"),
        (1, f"tower| of {n} {items}"),
        (8, f"tower| with {n} {items}"),
        (3, f"tower| with exactly {n} {items}"),
        (1, f"tower| having {n} {items}"),
    )
    singular, plural = words.replace("|", ""), words.replace("|", "s")
    return Things(singular, plural, both(TOWER.meaning, f"count({ITEMS_OF_BOX}) == {number}"), 0.25, variable="b")


def tower_of_color(voice: Voice) -> Things:
    """As in "yellow tower with two blocks"."""
    color = voice.one_of(*COLORS)
    meaning = both(TOWER.meaning, every(COLORS[color]))
    tower = Things(f"{color} tower", f"{color} towers", meaning, 0.15, variable="b")
    if voice.chance(0.4):
        return tower
    held = boxes.number_of_items(voice)
    return tower.that(Phrase(f"with {held.words}", held.meaning, 0.4))


def tower_where(voice: Voice) -> Things:
    """As in "tower that the second block from the base is black", "three blocks tower and the top is blue"."""
    tower = tower_of_blocks(voice) if voice.chance(0.6) else TOWER
    clause = voice.weighted(*CLAUSES)(voice)
    link = voice.weighted((5, "where"), (5, "and"), (4, "that"), (2, "in which"), (1, "which"))
    return tower.that(Phrase(f"{link} {clause.words}", clause.meaning, 0.4))


def part_of_tower_is(voice: Voice) -> Phrase:
    """As in "the top of a three blocks tower is blue", "the second block from the base of a tower is black"."""
    (name, test), color = voice.weighted(*PARTS), voice.one_of(*COLORS)
    tower, after = tower_of_blocks(voice) if voice.chance(0.7) else TOWER, ""
    if name.endswith(" from the base") and voice.chance(0.4):
        name, after = (
            name.removesuffix(" from the base"),
            " from the base",
        )  # "the third block of a tower from the base"
    words = f"the {name} of {voice.one_of('a', 'the')} {tower.singular}{after} is {color}"
    return Phrase(words, some_box(both(tower.meaning, painted(color, test))))


def color_of_tower_is(voice: Voice) -> Phrase:
    """As in "the color of a two blocks tower is blue and black"."""
    tower, clause = tower_of_blocks(voice), color_is(voice)
    words = clause.words.replace(" is ", f" of {voice.one_of('a', 'the')} {tower.singular} is ", 1)
    return Phrase(words, some_box(both(tower.meaning, clause.meaning)))


def parts_of_tower_are(voice: Voice) -> Phrase:
    """As in "the base and the top of a three blocks tower are the same in color"."""
    clause = two_parts(voice)
    tower = tower_of_blocks(voice) if voice.chance(0.7) else TOWER
    verb = " is " if " is " in clause.words else " are "
    parts, _, predicate = clause.words.partition(verb)
    words = f"{parts} of {voice.one_of('a', 'the')} {tower.singular}{verb}{predicate}"
    return Phrase(words, some_box(both(tower.meaning, clause.meaning)))


def the_tower_has(voice: Voice) -> Phrase:
    """As in "the tower with four blocks has a black block over a blue block": some tower of that height does."""
    tower = tower_of_blocks(voice)
    held = voice.weighted((4, at_part), (3, boxes.neighbours), (2, boxes.some))(voice)
    the = voice.weighted((6, "the "), (1, "one of the "), (1, "at least one "), (1, ""))
    noun = tower.plural if the == "one of the " and voice.chance(0.5) else tower.singular
    return Phrase(f"{the}{noun} has {agree(held.words, plural=False)}", some_box(both(tower.meaning, held.meaning)))


def as_part_of_towers(voice: Voice) -> Phrase:
    """As in "there is a black block as the base of at least two towers"."""
    end, color = voice.one_of(*ENDS), voice.one_of(*COLORS)
    number = voice.weighted((2, 1), (4, 2), (1, 3))
    how, test = voice.weighted((3, ("", "==")), (3, ("at least ", ">=")), (2, ("exactly ", "==")), (1, ("only ", "==")))
    towers = "towers" if number > 1 else "tower"
    words = f"there is a {color} {voice.item} as the {end} of {how}{voice.number(number)} {towers}"
    return Phrase(words, f"{number_of(f'{COLORS[color]} and {ENDS[end]}', ALL_ITEMS)} {test} {number}")


# ---------------------------------------------------------------- towers that are called boxes, and blocks items

# In a tower, the lowest block is the one that touches the wall.
AT_WALL: Weighted[str] = ((10, "touching the wall"), (1, "touching the base"), (1, "touching the bottom"))


def some_of_color(voice: Voice) -> Phrase:
    return q.quantified(voice, nouns.some_color(voice), ITEMS_OF_BOX, q.COUNTS[:3])


def item_on_top(voice: Voice) -> Phrase:
    """As in "3 items and a black one on top", "at least 2 items and a yellow item touching the wall"."""
    color = voice.one_of(*COLORS)
    block = voice.weighted((3, f"{color} {voice.item}"), (2, f"{color} one"))
    wholes: Weighted[Pattern] = (
        *((5, boxes.total), (2, comparisons.variety), (2, comparisons.only_kinds), (2, some_of_color)),
    )
    whole = voice.weighted(*wholes)(voice)
    if voice.chance(0.25):
        whole = Phrase("", "")
        block = f"{color} {voice.item}"
    place, test = voice.weighted(
        (6, ("on top", "is_top(x)")),
        (5, (voice.weighted(*AT_WALL), "is_touching_wall(x)")),
        (1, ("on the top", "is_top(x)")),
    )
    the = voice.weighted((6, "a"), (1, "the"))
    link = " and " if whole.words else ""
    verb = voice.weighted((5, ""), (1, "is ")) if whole.words else ""
    return Phrase(f"{whole.words}{link}{the} {block} {verb}{place}", both(whole.meaning, painted(color, test)))


def wall_and_above(voice: Voice) -> Phrase:
    """As in "a black item touching the wall and a blue one on top of it"."""
    one, other = voice.one_of(*COLORS), voice.one_of(*COLORS)
    item, number = voice.item, voice.rng.randint(1, 2)
    another = f"another {voice.one_of(other + ' ' + item, other + ' ' + item, other + ' one')}" if one == other else ""
    second = another or voice.weighted((3, f"a {other} {item}"), (2, f"a {other} one"))
    items, n = f"{item}s" if number > 1 else item, voice.number(number)
    above, all_above = exists(COLORS[other], "get_above(x)"), number_of(COLORS[other], "get_box_all_above(x)")
    on_top = exists(f"{COLORS[other]} and is_top(x)", ITEMS_OF_SAME_BOX)
    found = voice.phrase(
        (8, f"and {second} on top of it", above),
        (3, f"and {second} above it", above),
        (2, f"with {second} on top of it", above),
        (1, f"and {second} right on top of it", above),
        (5, f"and {second} on top", on_top),
        (2, f"and {n} {other} {items} on top of it", f"{all_above} == {number}"),
        (1, f"and at least {n} {other} {items} on top of it", f"{all_above} >= {number}"),
        (1, f"and only {other} {item}s on top of it", every(COLORS[other], "get_box_all_above(x)")),
        (1, f"and {n} {items} at most on top of it", f"count({ITEMS_OF_SAME_BOX}) <= {number + 1}"),
        (1, f"and at least {n} {items} on top of it", f"count(get_box_all_above(x)) >= {number}"),
    )
    words = f"a {one} {item} {voice.weighted(*AT_WALL)} {found.words}"
    return Phrase(words, painted(one, both("is_touching_wall(x)", found.meaning)))


def top_and_beneath(voice: Voice) -> Phrase:
    """As in "a yellow item on top and a blue item right beneath it"."""
    one, other = voice.one_of(*COLORS), voice.one_of(*COLORS)
    item, number = voice.item, voice.rng.randint(1, 2)
    beneath = voice.one_of("right beneath it", "beneath it", "right below it", "directly under it")
    items = f"{item}s" if number > 1 else item
    above = voice.one_of("directly on top of", "on top of", "above")
    below = voice.one_of("beneath", "below")
    over_other = painted(one, f"is_top(x) and {exists(COLORS[other], 'get_below(x)')}")
    others_below = painted(one, f"is_top(x) and {number_of(COLORS[other], 'get_box_all_below(x)')} == {number}")
    second = painted(one, exists("is_touching_wall(x)", "get_below(x)"))
    last_but_one = painted(one, exists("is_top(x)", "get_above(x)"))
    both_ends = both(painted(one, "is_top(x)"), painted(one, "is_bottom(x)"))
    return voice.phrase(
        (5, f"a {one} {item} on top and a {other} {item} {beneath}", over_other),
        (2, f"a {one} {item} on top and {voice.number(number)} {other} {items} beneath it", others_below),
        (2, f"a {one} {item} {above} the {item} touching the wall", second),
        (2, f"a {one} {item} {below} the {item} on top", last_but_one),
        (2, f"a {one} {item} on top of other {item}s", painted(one, "is_top(x) and exist(get_below(x))")),
        (1, f"{one} {item}s both on top and on the bottom", both_ends),
    )


def between_and_nothing_above(voice: Voice) -> Phrase:
    """As in "a black item between 2 items of the same color and no item on top of that"."""
    color, two, item = voice.one_of(*COLORS), voice.number(2), voice.item
    same, all_same = voice.one_of((" of the same color", "all_same_color(union(get_above(x), get_below(x)))"), ("", ""))
    above, last = voice.one_of((f" and no {item} on top of that", exists("is_top(x)", "get_above(x)")), ("", ""))
    inside = "exist(get_above(x)) and exist(get_below(x))"
    words = f"a {color} {item} between {two} {item}s{same}{above}"
    return Phrase(words, painted(color, both(inside, all_same, last)))


def item_is(voice: Voice) -> Phrase:
    """A sentence, as in "the blue item is on top", "there is only one color on top in all 3 boxes"."""
    color, item, one, n2, three = voice.one_of(*COLORS), voice.item, voice.number(1), voice.number(2), voice.number(3)
    place, test = voice.one_of(("on top", "is_top(x)"), ("touching the wall", "is_touching_wall(x)"))
    other = voice.one_of(*(name for name in COLORS if name != color))
    there = those(test, ALL_ITEMS)
    values = f"count(get_set_colors({there}))"
    return voice.phrase(
        (3, f"the {color} {item} is {place}", exists(f"{COLORS[color]} and {test}", ALL_ITEMS)),
        (2, f"there is only {one} {voice.color} {place} in all {three} boxes", f"{values} == 1"),
        (2, f"the same {voice.color} is {place} in all {three} boxes", f"{values} == 1"),
        (2, f"{item}s of all {three} different {voice.color}s are {place}", f"{values} == 3"),
        (2, f"the {item}s of all {three} {voice.color}s are {place}", f"{values} == 3"),
        (1, f"there are {n2} different {voice.color}s {place}", f"{values} == 2"),
        (2, f"only {color} {item}s are {place}", every(COLORS[color], there)),
        (2, f"only {color} and {other} {item}s are {place}", every(f"{COLORS[color]} or {COLORS[other]}", there)),
        (2, f"there are {n2} {color} {item}s {place}", f"{number_of(COLORS[color], there)} == 2"),
        (1, f"there is only {one} {color} {item} {place}", f"{number_of(COLORS[color], there)} == 1"),
    )
