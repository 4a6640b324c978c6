"""Blocks of a tower by their position, and towers by the number of their blocks."""

from __future__ import annotations

from veriscene.worlds.nlvr.wordings import box_contents, nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings import tower_contents as contents
from veriscene.worlds.nlvr.wordings.wording import Pattern, Phrase, Things, Voice, Weighted, both

# What a position is called, and which block it is.
MIDDLE = "not is_top(x) and not is_bottom(x)"
MIDDLE_OF_THREE = f"is_second(x) and count({q.ITEMS_OF_SAME_BOX}) == 3"  # "the" middle block: there is only one
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


def exists(test: str, where: str = q.ITEMS_OF_BOX) -> str:
    return f"exist(filter_obj({where}, lambda x: {test}))"


def part_is(voice: Voice) -> Phrase:
    """As in "the base is blue", "the second block from the base is yellow"."""
    (name, test), color = voice.weighted(*PARTS), voice.one_of(*nouns.COLORS)
    return Phrase(f"the {name} is {color}", exists(f"{nouns.COLORS[color]} and {test}"))


def color_is(voice: Voice) -> Phrase:
    """As in "the color is black", "the color is blue and yellow"."""
    one, other = voice.two_of(*nouns.COLORS)
    if voice.chance(0.5):
        return Phrase(f"the {voice.color} is {one}", f"All({q.ITEMS_OF_BOX}, lambda x: {nouns.COLORS[one]})")
    meaning = f"equal_set(get_set_colors({q.ITEMS_OF_BOX}), {{Color.{one.upper()}, Color.{other.upper()}}})"
    return Phrase(f"the {voice.color} is {one} and {other}", meaning)


def two_parts(voice: Voice) -> Phrase:
    """As in "the base and second block are the same in color", "the first two blocks from the base are yellow"."""
    color, n2 = voice.one_of(*nouns.COLORS), voice.number(2)
    one, other, first, second = voice.weighted(
        (3, ("top", "base", "is_top(x)", "is_bottom(x)")),
        (3, ("base", "top", "is_bottom(x)", "is_top(x)")),
        (2, ("top", "bottom blocks", "is_top(x)", "is_bottom(x)")),
        (3, ("base", "second block", "is_bottom(x)", "is_second(x)")),
        (1, ("second", "third block", "is_second(x)", "is_third(x)")),
    )
    has_both = both(exists(f"{nouns.COLORS[color]} and {first}"), exists(f"{nouns.COLORS[color]} and {second}"))
    low = both(exists(f"{nouns.COLORS[color]} and is_bottom(x)"), exists(f"{nouns.COLORS[color]} and is_second(x)"))
    pair = f"filter_obj({q.ITEMS_OF_BOX}, lambda x: {first} or {second})"
    there = f"exist(filter_obj({q.ITEMS_OF_BOX}, lambda x: {second}))"
    same = both(there if "second" in other or "third" in other else "", f"all_same_color({pair})")
    words, meaning = voice.weighted(
        (4, (f"the {one} and {other} are {voice.one_of('', 'both ')}{color}", has_both)),
        (1, (f"the {one} and {other} is {color}", has_both)),
        (3, (f"the {one} and the {other} are the same in {voice.color}", same)),
        (2, (f"the {one} and {other} are the same {voice.color}", same)),
        (2, (f"the {one} and {other} are not the same in {voice.color}", f"not all_same_color({pair})")),
        (2, (f"the first {n2} blocks from the base are {color}", low)),
    )
    return Phrase(words, meaning)


CLAUSES: Weighted[Pattern] = ((6, part_is), (3, two_parts), (2, color_is), (2, contents.end_is))


def tower_where(voice: Voice) -> Things:
    """As in "tower that the second block from the base is black", "three blocks tower and the top is blue"."""
    tower = tower_of_blocks(voice) if voice.chance(0.6) else Things("tower", "towers", "b.is_tower()", variable="b")
    clause = voice.weighted(*CLAUSES)(voice)
    link = voice.weighted((5, "where"), (5, "and"), (4, "that"), (2, "in which"), (1, "which"))
    return tower.that(Phrase(f"{link} {clause.words}", clause.meaning, 0.4))


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
    return Things(singular, plural, both("b.is_tower()", f"count({q.ITEMS_OF_BOX}) == {number}"), 0.25, variable="b")


def part_of_tower_is(voice: Voice) -> Phrase:
    """As in "the top of a three blocks tower is blue", "the second block from the base of a tower is black"."""
    (name, test), color = voice.weighted(*PARTS), voice.one_of(*nouns.COLORS)
    tower = tower_of_blocks(voice) if voice.chance(0.7) else Things("tower", "towers", "b.is_tower()", variable="b")
    block, before, after = name.partition(" from the base")
    if before and voice.chance(0.4):
        block, after = block, before  # "the third block of a tower from the base"
    else:
        block, after = name, ""
    words = f"the {block} of {voice.one_of('a', 'the')} {tower.singular}{after} is {color}"
    found = both(tower.meaning, exists(f"{nouns.COLORS[color]} and {test}"))
    return Phrase(words, f"exist(filter_obj(all_boxes, lambda b: {found}))")


def color_of_tower_is(voice: Voice) -> Phrase:
    """As in "the color of a two blocks tower is blue and black"."""
    tower, clause = tower_of_blocks(voice), color_is(voice)
    words = clause.words.replace(" is ", f" of {voice.one_of('a', 'the')} {tower.singular} is ", 1)
    return Phrase(words, f"exist(filter_obj(all_boxes, lambda b: {both(tower.meaning, clause.meaning)}))")


def parts_of_tower_are(voice: Voice) -> Phrase:
    """As in "the base and the top of a three blocks tower are the same in color"."""
    clause = two_parts(voice)
    tower = tower_of_blocks(voice) if voice.chance(0.7) else Things("tower", "towers", "b.is_tower()", variable="b")
    verb = " is " if " is " in clause.words else " are "
    parts, _, predicate = clause.words.partition(verb)
    of_tower = f"of {voice.one_of('a', 'the')} {tower.singular}"
    meaning = f"exist(filter_obj(all_boxes, lambda b: {both(tower.meaning, clause.meaning)}))"
    return Phrase(f"{parts} {of_tower}{verb}{predicate}", meaning)


def the_tower_has(voice: Voice) -> Phrase:
    """As in "the tower with four blocks has a black block over a blue block": some tower of that height does."""
    tower = tower_of_blocks(voice)
    held = voice.weighted((4, at_part), (3, box_contents.holds_neighbours), (2, box_contents.holds_some))
    content = held(voice)
    meaning = f"exist(filter_obj(all_boxes, lambda b: {both(tower.meaning, content.meaning)}))"
    the = voice.weighted((6, "the "), (1, "one of the "), (1, "at least one "), (1, ""))
    noun = tower.plural if the == "one of the " and voice.chance(0.5) else tower.singular
    return Phrase(f"{the}{noun} has {content.words.format(it='it', its='its')}", meaning)


def at_part(voice: Voice) -> Phrase:
    """As in "a black block on top", "a yellow block as the second level", "blue base", about the tower `b`."""
    color, item = voice.one_of(*nouns.COLORS), voice.item
    a = voice.weighted((8, "a "), (1, f"{voice.number(1)} "))
    block = f"{a}{color} {item}"
    words, test = voice.weighted(
        (8, (f"{block} at the top", "is_top(x)")),
        (2, (f"{block} on the top", "is_top(x)")),
        (2, (f"{block} on top", "is_top(x)")),
        (2, (f"a {color} top", "is_top(x)")),
        (1, (f"{color} at the top", "is_top(x)")),
        (10, (f"{block} at the base", "is_bottom(x)")),
        (3, (f"{block} at the bottom", "is_bottom(x)")),
        (3, (f"{block} at its base", "is_bottom(x)")),
        (3, (f"a {color} base", "is_bottom(x)")),
        (1, (f"a {color} {item} base", "is_bottom(x)")),
        (2, (f"{block} in the middle", MIDDLE)),
        (1, (f"{block} in the middle of it", MIDDLE)),
        (1, (f"{block} as a middle {item}", MIDDLE)),
        (1, (f"{block} as the second level", "is_second(x)")),
        (1, (f"{color} second {item}", "is_second(x)")),
    )
    return Phrase(words, exists(f"{nouns.COLORS[color]} and {test}"))


def at_both_ends(voice: Voice) -> Phrase:
    """As in "a blue block at the top and base", "a black block at the base and a different color block at the top"."""
    color, other = voice.two_of(*nouns.COLORS)
    item, test = voice.item, nouns.COLORS[color]
    low, high = exists(f"{test} and is_bottom(x)"), exists(f"{test} and is_top(x)")
    ends = f"filter_obj({q.ITEMS_OF_BOX}, lambda x: is_top(x) or is_bottom(x))"
    words, meaning = voice.weighted(
        (3, (f"a {color} {item} at the top and base", both(low, high))),
        (2, (f"a {color} {item} at the top and at the base", both(low, high))),
        (
            3,
            (
                f"a {color} {item} at the base and a {other} {item} at the top",
                both(low, exists(f"{nouns.COLORS[other]} and is_top(x)")),
            ),
        ),
        (2, (f"a {color} base and {other} top", both(low, exists(f"{nouns.COLORS[other]} and is_top(x)")))),
        (2, (f"the same {voice.color} {item} at the top and base", f"all_same_color({ends})")),
        (
            2,
            (
                f"a {color} {item} at the base and a different {voice.color} {item} at the top",
                both(low, exists(f"not {test} and is_top(x)")),
            ),
        ),
        (1, (f"no {color} {item} at the top", f"not {high}")),
        (1, (f"no {color} {item} at the base", f"not {low}")),
    )
    return Phrase(words, meaning)
