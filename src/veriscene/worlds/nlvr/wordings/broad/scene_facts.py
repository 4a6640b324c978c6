"""Sentences that compare boxes or towers with one another, or tell in which boxes things are."""

from __future__ import annotations

from veriscene.worlds.nlvr.wordings import nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.box_contents import holds_number, holds_some
from veriscene.worlds.nlvr.wordings.broad import parts
from veriscene.worlds.nlvr.wordings.sentences import there_is
from veriscene.worlds.nlvr.wordings.wording import Phrase, Things, Voice, agree, both, joined

PAIRS = "combinations(all_boxes, 2)"
FIRST, SECOND = "p[0].all_items_in_box()", "p[1].all_items_in_box()"
ENDS = {"base": "is_bottom(x)", "top": "is_top(x)"}


def equal_sizes(voice: Voice) -> Phrase:
    """As in "two towers are the same in height", "there are 2 boxes with the same number of items"."""
    boxes, box, two, three = voice.boxes, voice.box, voice.number(2), voice.number(3)
    number = f"number of {nouns.anything(voice).plural}"
    what = "height" if voice.box == "tower" and voice.chance(0.6) else number
    alike = voice.weighted((2, f"with the same {what}"), (1, f"that have the same {what}"))
    if what == "height":
        alike = voice.one_of(alike, "that are the same in height")
    equal = f"count({FIRST}) == count({SECOND})"
    some, all_, none = f"exist(filter_obj({PAIRS}, lambda p: {equal}))", f"All({PAIRS}, lambda p: {equal})", ""
    one_pair, none = f"count(filter_obj({PAIRS}, lambda p: {equal})) == 1", f"not {some}"
    verb = voice.one_of("have the same", "has the same")
    words, meaning = voice.weighted(
        (4, (f"there are {two} {boxes} {alike}", some)),
        (2, (f"there are at least {two} {boxes} {alike}", some)),
        (2, (f"there are exactly {two} {boxes} {alike}", one_pair)),
        (2, (f"there are only {two} {boxes} {alike}", one_pair)),
        (3, (f"{two} {boxes} {verb} {what}", some)),
        (2, (f"at least {two} {boxes} {verb} {what} each", some)),
        (3, (f"all {voice.one_of('', 'the ')}{boxes} {verb} {what}", all_)),
        (1, (f"all {three} {boxes} {verb} {what}", all_)),
        (2, (f"all the {boxes} do not have the same {what}", f"not {all_}")),
        (2, (f"there are at least {two} {boxes} that do not have the same {what}", f"not {all_}")),
        (1, (f"there are at least {two} {boxes} that are not the same in {what}", f"not {all_}")),
        (2, (f"there is a different {number} in the {boxes}", none)),
        (2, (f"the {number} in the {boxes} is different", none)),
        (2, (f"each {box} has a different {what}", none)),
    )
    return Phrase(words, meaning)


def sizes_listed(voice: Voice) -> Phrase:
    """As in "there are two towers which has three and four blocks each", "2 boxes have 1 and 4 items each"."""
    number = voice.weighted((3, 2), (2, 3))
    sizes = sorted(voice.rng.sample(range(1, 5) if voice.kind == "tower" else range(1, 8), number))
    *first, last = (voice.number(size) for size in sizes)
    listed = f"{', '.join(first)} and {last} {nouns.anything(voice).plural}"
    verb = voice.one_of("has", "have", "has")
    start = voice.one_of(f"there are {voice.number(number)} {voice.boxes} {voice.one_of('which', 'that')}", "")
    start = start or (f"the {voice.number(3)} {voice.boxes}" if number == 3 else f"{voice.number(2)} {voice.boxes}")
    each = voice.weighted((4, " each"), (1, ""))
    counts = (f"count(filter_obj(all_boxes, lambda b: count({q.ITEMS_OF_BOX}) == {size})) == 1" for size in sizes)
    return Phrase(f"{start} {verb} {listed}{each}", both(*counts))


def equal_ends(voice: Voice) -> Phrase:
    """As in "all the towers have the same base color", "the base of the three towers are 2 blue and 1 black"."""
    end = voice.weighted((3, "base"), (2, "top"))
    ends = f"filter_obj(all_items, lambda x: {ENDS[end]})"
    color, other = voice.two_of(*nouns.COLORS)
    two, three, one = voice.number(2), voice.number(3), voice.number(1)
    values, is_color = f"count(get_set_colors({ends}))", nouns.COLORS[color]
    counted = {name: f"count(filter_obj({ends}, lambda x: {nouns.COLORS[name]}))" for name in nouns.COLORS}
    pair = f"filter_obj(combinations(filter_obj({ends}, lambda x: not {is_color}), 2), lambda p: all_same_color(p))"
    have, same = voice.one_of("have", "has", "have"), voice.one_of(f"the same {end} {voice.color}", f"the same {end}")
    same = voice.one_of(same, same, f"the same {voice.color} block at the {end}")
    all_ = voice.one_of("all the towers", f"all the {three} towers", f"the {three} towers", f"all {three} towers")
    words, meaning = voice.weighted(
        (4, (f"{all_} {have} {same}", f"{values} == 1")),
        (2, (f"{two} towers {have} {same}", f"{values} <= 2")),
        (2, (f"there are {two} towers with {same}", f"{values} <= 2")),
        (2, (f"there are only {two} towers that {have} {same}", f"{values} == 2")),
        (2, (f"{two} of the {three} towers {have} {same}", f"{values} <= 2")),
        (2, (f"there are {two} towers with {same} that is not {color}", f"exist({pair})")),
        (2, (f"{all_} {have} different {end} {voice.color}s", f"{values} == 3")),
        (
            2,
            (
                f"the {end}s of the towers are {color} and {other} only",
                f"All({ends}, lambda x: {is_color} or {nouns.COLORS[other]})",
            ),
        ),
        (2, (f"the {end}s of the {three} towers are all the same", f"{values} == 1")),
        (
            2,
            (
                f"the {end} of the {three} towers are {two} {color} and {one} {other}",
                both(f"{counted[color]} == 2", f"{counted[other]} == 1"),
            ),
        ),
        (3, (f"all the {end} of the {voice.one_of('tower', 'towers')} are {color}", f"{counted[color]} == 3")),
        (2, (f"the {end} of the {two} towers are {color}", f"{counted[color]} == 2")),
        (2, (f"{one} of the {three} towers {end} is {color}", f"{counted[color]} == 1")),
    )
    return Phrase(words, meaning)


def equal_pairs(voice: Voice) -> Phrase:
    """As in "two towers have the same height and the same top color"."""
    end, two = voice.one_of("base", "top"), voice.number(2)
    other = "top" if end == "base" else "base"
    height = f"count({FIRST}) == count({SECOND})"
    colors = {
        name: " == ".join(f"get_set_colors(filter_obj({items}, lambda x: {test}))" for items in (FIRST, SECOND))
        for name, test in ENDS.items()
    }
    words, test = voice.weighted(
        (2, (f"the same height and the same {end} {voice.color}", both(height, colors[end]))),
        (2, (f"the same height but not the same {end} {voice.color}", both(height, f"not ({colors[end]})"))),
        (2, (f"the same {end} but different {other}", both(colors[end], f"not ({colors[other]})"))),
        (1, (f"the same {end} {voice.color} and the same {other} {voice.color}", both(colors[end], colors[other]))),
    )
    start = voice.one_of(f"{two} towers have", f"there are {two} towers with", f"there are {two} towers that has")
    return Phrase(f"{start} {words}", f"exist(filter_obj({PAIRS}, lambda p: {test}))")


def extreme_box(voice: Voice) -> Phrase:
    """As in "the grey box with least number of objects contains a blue circle"."""
    words, relation = voice.weighted((4, ("least", "<=")), (1, ("most", ">=")))
    items = nouns.anything(voice).plural
    held = voice.weighted((3, holds_some), (1, holds_number))(voice)
    named = f"{voice.box} with {voice.one_of('', 'the ')}{words} number of {items}"
    if voice.box == "tower":
        named = voice.one_of("smallest", "shortest") if words == "least" else voice.one_of("tallest", "highest")
        named += " tower"
    verb = voice.one_of("has", "contains")
    extreme = f"All(all_boxes, lambda c: count(b.all_items_in_box()) {relation} count(c.all_items_in_box()))"
    meaning = f"exist(filter_obj(all_boxes, lambda b: {both(extreme, held.meaning)}))"
    return Phrase(f"the {named} {verb} {agree(held.words, plural=False)}", meaning)


def in_boxes(voice: Voice) -> Phrase:
    """As in "all blue items are in the same box", "there are two circles in one box"."""
    things, box, boxes = nouns.some_things(voice), voice.box, voice.boxes
    number = voice.weighted((2, 2), (1, 3))
    inside, everywhere = f"count({things.among(q.ITEMS_OF_BOX)})", f"count({things.among('all_items')})"
    fitting = f"count(filter_obj(all_boxes, lambda b: exist({things.among(q.ITEMS_OF_BOX)})))"
    together = f"exist(filter_obj(all_boxes, lambda b: {inside} == {everywhere}))"
    exact = f"exist(filter_obj(all_boxes, lambda b: {inside} == {number}))"
    n, one, two, three = (voice.number(value) for value in (number, 1, 2, 3))
    all_things = f"all {voice.one_of('', 'the ', 'of the ')}{things.plural}"
    same_box = voice.one_of("the same", "one", "a single")
    words, meaning = voice.weighted(
        (6, (f"{all_things} are in {same_box} {box}", together)),
        (2, (f"the {things.plural} are all in {voice.one_of('the same', 'one')} {box}", together)),
        (4, (f"there are {n} {things.plural} in {voice.one_of('the same', one, 'a')} {box}", exact)),
        (1, (f"there are exactly {n} {things.plural} in {voice.one_of('the same', one, 'a')} {box}", exact)),
        (4, (f"there is a {things.singular} in {voice.one_of('every', 'each')} {box}", f"{fitting} == 3")),
        (4, (f"there is at least {one} {things.singular} in {voice.one_of('every', 'each')} {box}", f"{fitting} == 3")),
        (2, (f"there is a {things.singular} in all {voice.one_of('the', three)} {boxes}", f"{fitting} == 3")),
        (2, (f"there are {things.plural} in {voice.one_of('only', 'exactly')} {one} {box}", f"{fitting} == 1")),
        (2, (f"there are {things.plural} in {voice.one_of('', 'only ', 'exactly ')}{two} {boxes}", f"{fitting} == 2")),
        (
            2,
            (
                f"there is a {things.singular} in {voice.one_of('', 'only ', 'exactly ')}{two} {boxes}",
                f"{fitting} == 2",
            ),
        ),
    )
    return Phrase(words, meaning)


def number_in_box(voice: Voice) -> Phrase:
    """As in "there are seven items in a box", "there are two objects in a grey box of which one is a circle"."""
    whole, part = parts.total(voice), parts.some_predicate(voice)
    box = f"in {voice.weighted((4, 'a'), (2, voice.number(1)), (1, 'the same'))} {voice.box}"
    words, meaning = f"there are {whole.words} {box}", whole.meaning
    if voice.chance(0.3):
        words += f" of which {voice.number(1)} {parts.agreed(part, plural=False)}"
        meaning = both(meaning, f"exist(filter_obj({q.ITEMS_OF_BOX}, lambda x: {part.meaning}))")
    return Phrase(words, f"exist(filter_obj(all_boxes, lambda b: {meaning}))")


def two_kinds_of_boxes(voice: Voice) -> Phrase:
    """As in "there are exactly two towers with black blocks and at least one tower with blue blocks"."""
    facts = []
    for things in nouns.different_things(voice, 2):
        held = f"exist({things.among(q.ITEMS_OF_BOX)})"
        boxes = Things(f"{voice.box} with a {things.singular}", f"{voice.boxes} with {things.plural}", held, 0.6, "b")
        facts.append(
            q.quantified(voice, boxes, q.ALL_BOXES, ((3, q.NUMBER), (3, q.EXACTLY), (3, q.AT_LEAST), (1, q.ONLY)))
        )
    return there_is(joined(facts))


def common_look(voice: Voice) -> Phrase:
    """As in "every box has a circle of the same color", "all the towers have at least one block of the same color"."""
    things = nouns.anything(voice) if voice.kind == "tower" or voice.chance(0.3) else nouns.some_shape(voice)
    inside = f"exist(filter_color({things.among(q.ITEMS_OF_BOX)}, v))"
    words = voice.one_of(f"a {things.singular} of", f"at least {voice.number(1)} {things.singular} of")
    share = voice.one_of(f"every {voice.box} has", f"each {voice.box} has", f"all the {voice.boxes} have")
    meaning = f"exist(filter_obj(get_set_colors(all_items), lambda v: All(all_boxes, lambda b: {inside})))"
    return Phrase(f"{share} {words} the same {voice.color}", meaning)


def as_part_of_towers(voice: Voice) -> Phrase:
    """As in "there is a black block as the base of at least two towers"."""
    end, color = voice.one_of(*ENDS), voice.one_of(*nouns.COLORS)
    number = voice.weighted((2, 1), (4, 2), (1, 3))
    how, test = voice.weighted((3, ("", "==")), (3, ("at least ", ">=")), (2, ("exactly ", "==")), (1, ("only ", "==")))
    towers = "towers" if number > 1 else "tower"
    words = f"there is a {color} {voice.item} as the {end} of {how}{voice.number(number)} {towers}"
    return Phrase(
        words, f"count(filter_obj(all_items, lambda x: {nouns.COLORS[color]} and {ENDS[end]})) {test} {number}"
    )
