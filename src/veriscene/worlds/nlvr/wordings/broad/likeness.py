"""Contents that are alike or different in colour, shape or size. Meanings are about the box `b`."""

from __future__ import annotations

from veriscene.worlds.nlvr.wordings import nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.broad import borders, parts
from veriscene.worlds.nlvr.wordings.wording import Phrase, Things, Voice, both


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
        things = things.that(borders.not_at_border(voice, of_a_box=False))
    found = things.among(q.ITEMS_OF_BOX)
    meaning = f"exist(filter_obj(get_set_{look}s({found}), lambda v: count(filter_{look}({found}, v)) {test} {number}))"
    return Phrase(f"{how}{voice.number(number)} {things.plural} {same}", meaning)


def some_alike(voice: Voice) -> Phrase:
    """As in "four items and the three are the same in shape"."""
    look, name = _look(voice)
    number, items = voice.rng.randint(2, 3), nouns.anything(voice).plural
    whole = parts.total(voice, least=number + 1)
    few = voice.one_of(f"the {voice.number(number)}", f"{voice.number(number)}", f"the {voice.number(number)} {items}")
    same = voice.one_of(f"are the same in {name}", f"have the same {name}", f"are of the same {name}")
    values = f"get_set_{look}s({q.ITEMS_OF_BOX})"
    alike = f"exist(filter_obj({values}, lambda v: count(filter_{look}({q.ITEMS_OF_BOX}, v)) == {number}))"
    return Phrase(f"{whole.words} {voice.one_of('and', 'of which')} {few} {same}", both(whole.meaning, alike))


def all_alike(voice: Voice) -> Phrase:
    """As in "two blocks of the same color", said of all: "exactly three items that are the same in color"."""
    look, name = _look(voice)
    number = voice.rng.randint(2, 4)
    items, n = nouns.anything(voice).plural, voice.number(number)
    how = voice.weighted((3, "exactly "), (3, "only "), (1, ""))
    is_same, words = voice.weighted(
        (3, (True, f"and they are the same {name}")),
        (2, (True, f"and they are all the same {name}")),
        (2, (True, f"and the {n} {items} are the same in {name}")),
        (2, (True, f"having all {items} of the same {name}")),
        (2, (True, f"which are all of same {voice.one_of(name, 'type') if look == 'shape' else name}")),
        (2, (False, f"of different {name}")),
        (2, (False, f"that are not the same in {name}")),
    )
    test = f"all_same_{look}({q.ITEMS_OF_BOX})"
    return Phrase(
        f"{how}{n} {items} {words}", f"count({q.ITEMS_OF_BOX}) == {number} and {'' if is_same else 'not '}{test}"
    )


def variety(voice: Voice) -> Phrase:
    """As in "4 items of all three different colors", "items of only one color", "blocks of at least two colors"."""
    look, name = _look(voice)
    whole = parts.total(voice, least=3) if voice.chance(0.5) else Phrase(nouns.anything(voice).plural, "")
    n2, n3 = voice.number(2), voice.number(3)
    words, test = voice.weighted(
        (6, (f"of all {n3} {name}s", "== 3")),
        (6, (f"of all {n3} different {name}s", "== 3")),
        (2, (f"of {n3} different {name}s", "== 3")),
        (1, (f"of all the {n3} {name}s", "== 3")),
        (1, (f"of {n3} {name}s", "== 3")),
        (5, (f"of {n2} different {name}s", "== 2")),
        (3, (f"of only {n2} different {name}s", "== 2")),
        (1, (f"of {n2} {name}s", "== 2")),
        (1, (f"of {n2} different {name}", "== 2")),
        (1, (f"of at least {n2} different {name}s", ">= 2")),
        (1, (f"of {n2} different {name}s at most", "<= 2")),
        (1, (f"but not all {n3} different {name}s", "< 3")),
        (2, (f"of different {name}", ">= 2")),
        (2, (f"of only {voice.number(1)} {name}", "== 1")),
        (2, (f"of the same {name}", "== 1")),
        (1, (f"and the {nouns.anything(voice).plural} have {n2} {name}s", "== 2")),
    )
    return Phrase(f"{whole.words} {words}", both(whole.meaning, f"count(get_set_{look}s({q.ITEMS_OF_BOX})) {test}"))


def single_look(voice: Voice) -> Phrase:
    """As in "only one color", "all three colors", "no color blue"."""
    look, name = _look(voice)
    color = voice.one_of(*nouns.COLORS)
    values = f"count(get_set_{look}s({q.ITEMS_OF_BOX}))"
    words, meaning = voice.weighted(
        (4, (f"only {voice.number(1)} {name}", f"{values} == 1")),
        (2, (f"a single {name}", f"{values} == 1")),
        (3, (f"all {voice.number(3)} {name}s", f"{values} == 3")),
        (2, (f"{voice.number(2)} {name}s", f"{values} == 2")),
        (1, (f"all {voice.number(3)} different {name}s", f"{values} == 3")),
        (1, (f"no {voice.color} {color}", f"not exist(filter_obj({q.ITEMS_OF_BOX}, lambda x: {nouns.COLORS[color]}))")),
    )
    return Phrase(words, meaning)


def _every(test: str) -> str:
    return f"All({q.ITEMS_OF_BOX}, lambda x: {test})"


def only_kinds(voice: Voice) -> Phrase:
    """As in "only black and blue items", "items of black and blue color only": both kinds, and no other."""
    if voice.kind == "scatter" and voice.chance(0.2):
        one, other = voice.two_of(*nouns.SHAPES)
        shapes = f"{{Shape.{one.upper()}, Shape.{other.upper()}}}"
        words, meaning = voice.one_of(
            (f"only {one}s", _every(nouns.SHAPES[one])),
            (f"only {one} {nouns.anything(voice).plural}", _every(nouns.SHAPES[one])),
            (f"only {one}s and {other}s", f"equal_set(get_set_shapes({q.ITEMS_OF_BOX}), {shapes})"),
        )
        return Phrase(words, meaning)
    one, other = voice.two_of(*nouns.COLORS)
    items = nouns.anything(voice).plural
    every = _every(nouns.COLORS[one])
    pair = f"equal_set(get_set_colors({q.ITEMS_OF_BOX}), {{Color.{one.upper()}, Color.{other.upper()}}})"
    of_pair = f"of {one} and {other} {voice.color}"
    whole = parts.total(voice) if voice.chance(0.3) else Phrase(items, "")
    words, meaning = voice.weighted(
        (6, (f"only {one} {items}", every)),
        (
            1,
            (
                f"{voice.number(2)} {one} {items} at most and no other {voice.color}",
                f"{every} and count({q.ITEMS_OF_BOX}) <= 2",
            ),
        ),
        (2, (f"only {one} {voice.color} {items}", every)),
        (2, (f"{one} {items} only", every)),
        (2, (f"{items} of {one} {voice.color} only", every)),
        (8, (f"only {one} and {other} {items}", pair)),
        (2, (f"{one} and {other} {items} only", pair)),
        (3, (f"{whole.words} of only {one} and {other} {voice.color}", both(whole.meaning, pair))),
        (2, (f"{whole.words} of either {one} or {other} {voice.color} only", both(whole.meaning, pair))),
        (2, (f"{whole.words} {of_pair} only", both(whole.meaning, pair))),
        (3, (f"{whole.words} {of_pair}", both(whole.meaning, pair))),
    )
    return Phrase(words, meaning)


def kinds_and_more(voice: Voice) -> Phrase:
    """As in "only black and blue items and a big blue square", "items of all 3 colors and a circle at the wall"."""
    first = voice.weighted((3, only_kinds), (4, variety))(voice)
    more = borders.some_things(voice)
    if voice.chance(0.4):
        more = more.that(borders.at_border(voice, of_a_box=False))
    more = _within(first, more)
    link = voice.one_of("and a", "and a", "of which one is a", "and at least one", "and exactly one")
    number = "== 1" if link.endswith("exactly one") else ">= 1"
    return Phrase(
        f"{first.words} {link} {more.singular}", both(first.meaning, f"count({more.among(q.ITEMS_OF_BOX)}) {number}")
    )


def _within(kinds: Phrase, things: Things) -> Things:
    """The things, in a colour and shape that the phrase allows: of only blue items, none is a black circle."""
    for look, tests in (("Color", nouns.COLORS), ("Shape", nouns.SHAPES)):
        allowed = [name for name in tests if f"{look}.{name.upper()}" in kinds.meaning or tests[name] in kinds.meaning]
        named = [name for name in tests if tests[name] in things.meaning]
        if allowed and named and not set(named) <= set(allowed):
            old, new = named[0], allowed[0]
            things = Things(
                things.singular.replace(old, new),
                things.plural.replace(old, new),
                things.meaning.replace(old, new),
                things.share,
            )
    return things
