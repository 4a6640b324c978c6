"""What is alike or different: the items of a box `b` in colour, shape or size, and boxes or towers of a scene."""

from __future__ import annotations

from dataclasses import replace

from veriscene.worlds.nlvr.wordings import boxes, nouns, walls
from veriscene.worlds.nlvr.wordings.nouns import COLORS, SHAPES
from veriscene.worlds.nlvr.wordings.wording import (
    ALL_ITEMS,
    ITEMS_OF_BOX,
    Phrase,
    Things,
    Voice,
    both,
    every,
    exists,
    number_of,
    those,
)

PAIRS = "combinations(all_boxes, 2)"
FIRST, SECOND = "p[0].all_items_in_box()", "p[1].all_items_in_box()"
ENDS = {"base": "is_bottom(x)", "top": "is_top(x)"}

# ---------------------------------------------------------------- within a box


def _look(voice: Voice) -> tuple[str, str]:
    """A look's name in the language, and in the words of this voice."""
    look = "color" if voice.kind == "tower" else voice.weighted((6, "color"), (4, "shape"), (3, "size"))
    return look, voice.color if look == "color" else look


def alike(voice: Voice) -> Phrase:
    """As in "two circles of the same color", "at least 2 yellow items of the same shape"."""
    look, name = _look(voice)
    things = nouns.anything(voice)
    if voice.kind == "scatter" and voice.chance(0.6):
        things = nouns.some_color(voice) if look == "shape" else nouns.some_shape(voice)
    number = voice.weighted((5, 2), (2, 3))
    how, test = voice.weighted((5, ("", "==")), (3, ("at least ", ">=")), (2, ("exactly ", "==")), (1, ("only ", "==")))
    same = voice.weighted((6, f"of the same {name}"), (3, f"of same {name}"), (1, f"that are the same in {name}"))
    if voice.chance(0.1) and things.meaning:
        things = things.that(walls.not_at_border(voice, of_a_box=False))
    found = things.among(ITEMS_OF_BOX)
    meaning = f"exist(filter_obj(get_set_{look}s({found}), lambda v: count(filter_{look}({found}, v)) {test} {number}))"
    return Phrase(f"{how}{voice.number(number)} {things.plural} {same}", meaning)


def some_alike(voice: Voice) -> Phrase:
    """As in "four items and the three are the same in shape"."""
    look, name = _look(voice)
    number, items = voice.rng.randint(2, 3), nouns.anything(voice).plural
    whole = boxes.total(voice, least=number + 1)
    few = voice.one_of(f"the {voice.number(number)}", f"{voice.number(number)}", f"the {voice.number(number)} {items}")
    same = voice.one_of(f"are the same in {name}", f"have the same {name}", f"are of the same {name}")
    values = f"get_set_{look}s({ITEMS_OF_BOX})"
    alike = f"exist(filter_obj({values}, lambda v: count(filter_{look}({ITEMS_OF_BOX}, v)) == {number}))"
    return Phrase(f"{whole.words} {voice.one_of('and', 'of which')} {few} {same}", both(whole.meaning, alike))


def all_alike(voice: Voice) -> Phrase:
    """As in "two blocks of the same color", said of all: "exactly three items that are the same in color"."""
    look, name = _look(voice)
    number = voice.rng.randint(2, 4)
    items, n = nouns.anything(voice).plural, voice.number(number)
    how = voice.weighted((3, "exactly "), (3, "only "), (1, ""))
    same = f"all_same_{look}({ITEMS_OF_BOX})"
    found = voice.phrase(
        (3, f"and they are the same {name}", same),
        (2, f"and they are all the same {name}", same),
        (2, f"and the {n} {items} are the same in {name}", same),
        (2, f"having all {items} of the same {name}", same),
        (2, f"which are all of same {voice.one_of(name, 'type') if look == 'shape' else name}", same),
        (2, f"of different {name}", f"not {same}"),
        (2, f"that are not the same in {name}", f"not {same}"),
    )
    return Phrase(f"{how}{n} {items} {found.words}", f"count({ITEMS_OF_BOX}) == {number} and {found.meaning}")


def variety(voice: Voice) -> Phrase:
    """As in "4 items of all three different colors", "items of only one color", "blocks of at least two colors"."""
    look, name = _look(voice)
    whole = boxes.total(voice, least=3) if voice.chance(0.5) else Phrase(nouns.anything(voice).plural, "")
    n2, n3 = voice.number(2), voice.number(3)
    values = voice.phrase(
        (6, f"of all {n3} {name}s", "== 3"),
        (6, f"of all {n3} different {name}s", "== 3"),
        (2, f"of {n3} different {name}s", "== 3"),
        (1, f"of all the {n3} {name}s", "== 3"),
        (1, f"of {n3} {name}s", "== 3"),
        (5, f"of {n2} different {name}s", "== 2"),
        (3, f"of only {n2} different {name}s", "== 2"),
        (1, f"of {n2} {name}s", "== 2"),
        (1, f"of {n2} different {name}", "== 2"),
        (1, f"of at least {n2} different {name}s", ">= 2"),
        (1, f"of {n2} different {name}s at most", "<= 2"),
        (1, f"but not all {n3} different {name}s", "< 3"),
        (2, f"of different {name}", ">= 2"),
        (2, f"of only {voice.number(1)} {name}", "== 1"),
        (2, f"of the same {name}", "== 1"),
        (1, f"and the {nouns.anything(voice).plural} have {n2} {name}s", "== 2"),
    )
    meaning = both(whole.meaning, f"count(get_set_{look}s({ITEMS_OF_BOX})) {values.meaning}")
    return Phrase(f"{whole.words} {values.words}", meaning)


def single_look(voice: Voice) -> Phrase:
    """As in "only one color", "all three colors", "no color blue"."""
    look, name = _look(voice)
    color = voice.one_of(*COLORS)
    values = f"count(get_set_{look}s({ITEMS_OF_BOX}))"
    return voice.phrase(
        (4, f"only {voice.number(1)} {name}", f"{values} == 1"),
        (2, f"a single {name}", f"{values} == 1"),
        (3, f"all {voice.number(3)} {name}s", f"{values} == 3"),
        (2, f"{voice.number(2)} {name}s", f"{values} == 2"),
        (1, f"all {voice.number(3)} different {name}s", f"{values} == 3"),
        (1, f"no {voice.color} {color}", f"not {exists(COLORS[color])}"),
    )


def only_kinds(voice: Voice) -> Phrase:
    """As in "only black and blue items", "items of black and blue color only": both kinds, and no other."""
    items = nouns.anything(voice).plural
    if voice.kind == "scatter" and voice.chance(0.2):
        one, other = voice.two_of(*SHAPES)
        shapes = f"{{Shape.{one.upper()}, Shape.{other.upper()}}}"
        words, meaning = voice.one_of(
            (f"only {one}s", every(SHAPES[one])),
            (f"only {one} {items}", every(SHAPES[one])),
            (f"only {one}s and {other}s", f"equal_set(get_set_shapes({ITEMS_OF_BOX}), {shapes})"),
        )
        return Phrase(words, meaning)
    one, other = voice.two_of(*COLORS)
    only_one = every(COLORS[one])
    pair = f"equal_set(get_set_colors({ITEMS_OF_BOX}), {{Color.{one.upper()}, Color.{other.upper()}}})"
    of_pair = f"of {one} and {other} {voice.color}"
    whole = boxes.total(voice) if voice.chance(0.3) else Phrase(items, "")
    of_whole = both(whole.meaning, pair)
    at_most = f"{voice.number(2)} {one} {items} at most"
    return voice.phrase(
        (6, f"only {one} {items}", only_one),
        (1, f"{at_most} and no other {voice.color}", f"{only_one} and count({ITEMS_OF_BOX}) <= 2"),
        (2, f"only {one} {voice.color} {items}", only_one),
        (2, f"{one} {items} only", only_one),
        (2, f"{items} of {one} {voice.color} only", only_one),
        (8, f"only {one} and {other} {items}", pair),
        (2, f"{one} and {other} {items} only", pair),
        (3, f"{whole.words} of only {one} and {other} {voice.color}", of_whole),
        (2, f"{whole.words} of either {one} or {other} {voice.color} only", of_whole),
        (2, f"{whole.words} {of_pair} only", of_whole),
        (3, f"{whole.words} {of_pair}", of_whole),
    )


def kinds_and_more(voice: Voice) -> Phrase:
    """As in "only black and blue items and a big blue square", "items of all 3 colors and a circle at the wall"."""
    first = voice.weighted((3, only_kinds), (4, variety))(voice)
    more = walls.some_things(voice)
    if voice.chance(0.4):
        more = more.that(walls.at_border(voice, of_a_box=False))
    more = _within(first, more)
    link = voice.one_of("and a", "and a", "of which one is a", "and at least one", "and exactly one")
    number = "== 1" if link.endswith("exactly one") else ">= 1"
    meaning = both(first.meaning, f"count({more.among(ITEMS_OF_BOX)}) {number}")
    return Phrase(f"{first.words} {link} {more.singular}", meaning)


def _within(kinds: Phrase, things: Things) -> Things:
    """The things, in a colour and shape that the phrase allows: of only blue items, none is a black circle."""
    for look, tests in (("Color", COLORS), ("Shape", SHAPES)):
        allowed = [name for name in tests if f"{look}.{name.upper()}" in kinds.meaning or tests[name] in kinds.meaning]
        named = [name for name in tests if tests[name] in things.meaning]
        if allowed and named and not set(named) <= set(allowed):
            old, new = named[0], allowed[0]
            renamed = {name: getattr(things, name).replace(old, new) for name in ("singular", "plural", "meaning")}
            things = replace(things, **renamed)
    return things


def more_or_fewer(voice: Voice, where: str = ITEMS_OF_BOX) -> Phrase:
    """As in "more yellow blocks than black blocks", "the same number of circles and squares"."""
    if voice.kind == "scatter" and voice.chance(0.4):
        one, other = (nouns.shaped(shape) for shape in voice.two_of(*SHAPES))
    else:
        one, other = (nouns.colored(voice, color) for color in voice.two_of(*COLORS))
    words, relation = voice.weighted(
        (4, ("more {} than {}", ">")),
        (1, ("less {} than {}", "<")),
        (1, ("fewer {} than {}", "<")),
        (2, ("as many {} as {}", "==")),
        (2, ("the same number of {} and {}", "==")),
    )
    meaning = f"count({one.among(where)}) {relation} count({other.among(where)})"
    return Phrase(words.format(one.plural, other.plural), meaning, plural=True)


# ---------------------------------------------------------------- boxes of a scene


def equal_sizes(voice: Voice) -> Phrase:
    """As in "two towers are the same in height", "there are 2 boxes with the same number of items"."""
    boxes, box, two, three = voice.boxes, voice.box, voice.number(2), voice.number(3)
    number = f"number of {nouns.anything(voice).plural}"
    what = "height" if voice.box == "tower" and voice.chance(0.6) else number
    same = voice.weighted((2, f"with the same {what}"), (1, f"that have the same {what}"))
    if what == "height":
        same = voice.one_of(same, "that are the same in height")
    equal = f"count({FIRST}) == count({SECOND})"
    some, all_ = f"exist(filter_obj({PAIRS}, lambda p: {equal}))", f"All({PAIRS}, lambda p: {equal})"
    one_pair, none = f"count(filter_obj({PAIRS}, lambda p: {equal})) == 1", f"not {some}"
    verb = voice.one_of("have the same", "has the same")
    return voice.phrase(
        (4, f"there are {two} {boxes} {same}", some),
        (2, f"there are at least {two} {boxes} {same}", some),
        (2, f"there are exactly {two} {boxes} {same}", one_pair),
        (2, f"there are only {two} {boxes} {same}", one_pair),
        (3, f"{two} {boxes} {verb} {what}", some),
        (2, f"at least {two} {boxes} {verb} {what} each", some),
        (3, f"all {voice.one_of('', 'the ')}{boxes} {verb} {what}", all_),
        (1, f"all {three} {boxes} {verb} {what}", all_),
        (2, f"all the {boxes} do not have the same {what}", f"not {all_}"),
        (2, f"there are at least {two} {boxes} that do not have the same {what}", f"not {all_}"),
        (1, f"there are at least {two} {boxes} that are not the same in {what}", f"not {all_}"),
        (2, f"there is a different {number} in the {boxes}", none),
        (2, f"the {number} in the {boxes} is different", none),
        (2, f"each {box} has a different {what}", none),
    )


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
    counts = (f"count(filter_obj(all_boxes, lambda b: count({ITEMS_OF_BOX}) == {size})) == 1" for size in sizes)
    return Phrase(f"{start} {verb} {listed}{each}", both(*counts))


def equal_ends(voice: Voice) -> Phrase:
    """As in "all the towers have the same base color", "the base of the three towers are 2 blue and 1 black"."""
    end = voice.weighted((3, "base"), (2, "top"))
    ends = those(ENDS[end], ALL_ITEMS)
    color, other = voice.two_of(*COLORS)
    two, three, one = voice.number(2), voice.number(3), voice.number(1)
    values, counted, counted_other = (
        f"count(get_set_colors({ends}))",
        number_of(COLORS[color], ends),
        number_of(COLORS[other], ends),
    )
    not_color = those(f"not {COLORS[color]}", ends)
    pair = f"exist(filter_obj(combinations({not_color}, 2), lambda p: all_same_color(p)))"
    have, same = voice.one_of("have", "has", "have"), voice.one_of(f"the same {end} {voice.color}", f"the same {end}")
    same = voice.one_of(same, same, f"the same {voice.color} block at the {end}")
    all_ = voice.one_of("all the towers", f"all the {three} towers", f"the {three} towers", f"all {three} towers")
    two_and_one = f"{two} {color} and {one} {other}"
    return voice.phrase(
        (4, f"{all_} {have} {same}", f"{values} == 1"),
        (2, f"{two} towers {have} {same}", f"{values} <= 2"),
        (2, f"there are {two} towers with {same}", f"{values} <= 2"),
        (2, f"there are only {two} towers that {have} {same}", f"{values} == 2"),
        (2, f"{two} of the {three} towers {have} {same}", f"{values} <= 2"),
        (2, f"there are {two} towers with {same} that is not {color}", pair),
        (2, f"{all_} {have} different {end} {voice.color}s", f"{values} == 3"),
        (
            2,
            f"the {end}s of the towers are {color} and {other} only",
            every(f"{COLORS[color]} or {COLORS[other]}", ends),
        ),
        (1, f"the {end}s of the towers are of {three} different {voice.color}s", f"{values} == 3"),
        (1, f"none of the {end}s are {color}", f"{counted} == 0"),
        (2, f"the {end}s of the {three} towers are all the same", f"{values} == 1"),
        (2, f"the {end} of the {three} towers are {two_and_one}", f"{counted} == 2 and {counted_other} == 1"),
        (3, f"all the {end} of the {voice.one_of('tower', 'towers')} are {color}", f"{counted} == 3"),
        (2, f"the {end} of the {two} towers are {color}", f"{counted} == 2"),
        (2, f"{one} of the {three} towers {end} is {color}", f"{counted} == 1"),
    )


def equal_pairs(voice: Voice) -> Phrase:
    """As in "two towers have the same height and the same top color"."""
    end, two = voice.one_of("base", "top"), voice.number(2)
    other = "top" if end == "base" else "base"
    height = f"count({FIRST}) == count({SECOND})"
    colors = {
        name: " == ".join(f"get_set_colors({those(test, items)})" for items in (FIRST, SECOND))
        for name, test in ENDS.items()
    }
    found = voice.phrase(
        (2, f"the same height and the same {end} {voice.color}", both(height, colors[end])),
        (2, f"the same height but not the same {end} {voice.color}", both(height, f"not ({colors[end]})")),
        (2, f"the same {end} but different {other}", both(colors[end], f"not ({colors[other]})")),
        (1, f"the same {end} {voice.color} and the same {other} {voice.color}", both(colors[end], colors[other])),
    )
    start = voice.one_of(f"{two} towers have", f"there are {two} towers with", f"there are {two} towers that has")
    return Phrase(f"{start} {found.words}", f"exist(filter_obj({PAIRS}, lambda p: {found.meaning}))")


def common_look(voice: Voice) -> Phrase:
    """As in "every box has a circle of the same color", "all the towers have at least one block of the same color"."""
    things = nouns.anything(voice) if voice.kind == "tower" or voice.chance(0.3) else nouns.some_shape(voice)
    inside = f"exist(filter_color({things.among(ITEMS_OF_BOX)}, v))"
    words = voice.one_of(f"a {things.singular} of", f"at least {voice.number(1)} {things.singular} of")
    share = voice.one_of(f"every {voice.box} has", f"each {voice.box} has", f"all the {voice.boxes} have")
    meaning = f"exist(filter_obj(get_set_colors(all_items), lambda v: All(all_boxes, lambda b: {inside})))"
    return Phrase(f"{share} {words} the same {voice.color}", meaning)
