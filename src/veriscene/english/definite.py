"""Rules about particular items, "the only circle", "the two squares on the left", and what is added with a pronoun:
"there is exactly one circle, and it is blue"."""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.compare import anything, free_attribute, said
from veriscene.english.predicates import Predicate, domain
from veriscene.english.speaker import Domain, Kind, Sentence, Speaker
from veriscene.english.words import plural_of


def the_only(say: Speaker) -> Sentence | None:
    """ "The only circle in the left box touches a wall": there is exactly one, and it does."""
    where = domain(say)
    kind = say.kind(plain=bool(where.box), modified=0.2, generic=0.05)
    predicate = anything(say, where, kind, "the")
    if predicate is None or "@.box ==" in kind.condition:  # a particular box is said as the domain
        return None
    one, at, front = kind.singular, where.where, where.front
    the = "(the|the|the only|the only|the one|the single)" if kind.condition else "(the only|the only|the single)"
    texts = [f"{the} {one} {at} {predicate.one}"] * 3 + [f"{front}{the} {one} {predicate.one}"] * 2
    texts += [f"the (only|single) {one} {at}: {predicate.bare}"]
    if kind.condition:
        texts += [f"the {one} {at}, the only one, {predicate.one.replace('~', '')}"]
    there = f"count({kind.among(where.items)}) == 1"
    return Sentence(say.pick(*texts), mean.both(predicate.given, there, _some(where, kind, predicate)))


def _some(where: Domain, kind: Kind, predicate: Predicate) -> str:
    return f"exist({kind.among(where.items, predicate.condition)})"


def _every(where: Domain, kind: Kind, predicate: Predicate) -> str:
    return f"not exist({kind.among(where.items, mean.negation(predicate.condition))})"


def the_two(say: Speaker) -> Sentence | None:
    """ "The two circles on the right are blue"; "both squares touch a wall": there are so many, and all of them do."""
    where = domain(say)
    kind = say.kind(plain=bool(where.box), modified=0.15)
    if "@.box ==" in kind.condition:
        return None
    value = say.weighted((6, 2), (3, 3), (1, 4))
    number = say.number(value)
    the = f"(the {number}|all {number}|all {number} of the|the {number})"
    if value == 2:
        the = f"(the {number}|the {number}|both|both of the|both the)"
    kinds, at, front = kind.plural, where.where, where.front
    if say.chance(0.4):
        return _together(say, where, say.pick(f"{the} {kinds} {at}", f"{front}{the} {kinds}"), kind, value)
    predicate = anything(say, where, kind, "every")
    if predicate is None:
        return None
    there = f"count({kind.among(where.items)}) == {value}"
    texts = (f"{the} {kinds} {at} {predicate.many}", f"{front}{the} {kinds} {predicate.many}")
    return Sentence(say.pick(*texts), mean.both(predicate.given, there, _every(where, kind, predicate)))


def _together(say: Speaker, where: Domain, who: str, kind: Kind, value: int) -> Sentence | None:
    """ "The two circles have the same colour"; "the two circles touch"; "the three circles are in the same box"."""
    items = kind.among(where.items)
    there = f"count({items}) == {value}"
    in_boxes = say.world.boxes[1] > 1 and not where.box
    how = say.weighted((4, "same"), (2, "different"), (1.0 * (value == 2), "touch"), (1.0 * in_boxes, "box"))
    if how == "touch":
        meaning = f"exist({kind.among(where.items, mean.some('get_touching(@)', kind.condition))})"
        return Sentence(f"{who} ~(touch|touch each other|are touching|are in contact)", mean.both(there, meaning))
    if how == "box":
        meaning = mean.some(mean.ALL_BOXES, f"count({kind.among('#')}) == {value}", "#")
        words = f"~(are in the same {say.box}|share a {say.box}|are together in one {say.box}|are all in one {say.box})"
        return Sentence(
            f"{who} {words}" if value > 2 else f"{who} {words}".replace("all in", "in"), mean.both(there, meaning)
        )
    attribute = free_attribute(say, kind.condition)
    if attribute is None:
        return None
    values, name = f"{say.lexicon.names[attribute.name]}({items})", say.rng.choice(attribute.words)
    if how == "same":
        words = (
            f"~(have the same {name}|are the same {name}|are of the same {name}|share the same {name}|match in {name})"
        )
        return Sentence(f"{who} {words}", mean.both(there, f"all_same({values})"))
    names = plural_of(name)
    words = f"~(have different {names}|each have a different {name}|differ in {name}|are of different {names})"
    return Sentence(f"{who} {words}", mean.both(there, f"count({values}) == {value}"))


def added(say: Speaker) -> Sentence | None:
    """ "There are three circles and they are all blue"; "there is a square in the left box, and it is black"."""
    where, kind = domain(say), say.kind(plain=True, generic=0.25)
    value = say.weighted((2, 0), (4, 1), (3, 2), (2, 3), (1, 4))
    predicate = anything(say, where, kind, "the" if value < 2 else "every")
    if predicate is None or (not value and not kind.condition):
        return None
    number, at, front = say.number(value), where.where, where.front
    one, kinds = kind.singular, kind.plural
    is_, are = predicate.one.replace("~", ""), predicate.many.replace("~", "")
    there = f"count({kind.among(where.items)}) == {value}"
    meaning = mean.both(
        predicate.given, there, _some(where, kind, predicate) if value == 1 else _every(where, kind, predicate)
    )
    if value == 0:
        who, then = kind.a, f"(, and| and) it {is_}"
        meaning = mean.both(predicate.given, _some(where, kind, predicate))
    elif value == 1:
        who, then = f"(exactly|only|just) {number} {one}", f"(, and| and) (it|that one) {is_}"
    else:
        who = f"(|exactly |just ){number} {kinds}"
        all_of = "(both|both of them|they both)" if value == 2 else f"(all of them|all {number} of them|they all)"
        then = f"(, and| and) (they|they|{all_of}) {are}"
        if say.chance(0.15):
            then = f", (but|and) none of them {are}"
            meaning = mean.both(predicate.given, there, f"not exist({kind.among(where.items, predicate.condition)})")
        elif say.chance(0.2):
            then = f", (both|both of them) {predicate.bare}" if value == 2 else f", all {predicate.bare}"
    be = "are" if value > 1 else "is"
    texts = [f"there ~{be} {who} {at}{then}", f"{front}there ~{be} {who}{then}"]
    texts += (
        [f"{where.subject} ~(has|contains) {who}{then}"]
        if where.box
        else [f"(I|we|you) ~(see|can see|have) {who} {at}{then}"]
    )
    texts += [f"{who} {at}{then}"]
    return Sentence(say.pick(*texts), meaning)


def two_particular(say: Speaker) -> Sentence | None:
    """ "The circle in the left box is bigger than the square"; "the circle and the square have the same colour"."""
    first, second = say.two_kinds()
    here, there = say.scene(), say.scene()
    place, other_place = "", ""
    if say.world.boxes[1] > 1 and say.chance(0.5):
        here, there = say.two_places()
        place, other_place = here.where, there.where
        second = first if say.chance(0.4) else second
    taken = first.condition + second.condition
    attribute = free_attribute(say, taken)
    if attribute is None or not first.condition or not second.condition:
        return None
    if not place and (set(first.condition.split(" and ")) & set(second.condition.split(" and "))):
        return None  # "the only red jar is bigger than the only jar"
    value, name = say.lexicon.names[attribute.name], say.rng.choice(attribute.words)
    a = f"the [only] {first.singular} {place}"
    b = (
        f"(the one|the {second.singular}) {other_place}"
        if first == second
        else f"the [only] {second.singular} {other_place}"
    )
    signs = [(">", said(attribute.more)), ("<", said(attribute.less))] * bool(attribute.more and attribute.less)
    sign, words = say.pick(("==", ""), *signs)
    texts = [f"{a} ~is {words} than {b}"]
    if sign == "==":
        texts = [
            f"{a} and {b} ~(have the same {name}|are the same {name}|match in {name}|are of the same {name})",
            f"{a} ~(has|is) the same {name} as {b}",
        ]
    comparison = f"exist({mean.related(there.items, mean.both(second.condition, f'{value}($) {sign} {value}(@)'))})"
    given = [f"count({kind.among(where.items)}) == 1" for kind, where in ((first, here), (second, there))]
    return Sentence(say.pick(*texts), mean.both(*given, f"exist({first.among(here.items, comparison)})"))


_AROUND = (  # the others in some direction from an item, and where they are
    ("get_box_all_above", "(above|somewhere above|higher than|over)"),
    ("get_box_all_below", "(below|under|underneath|lower than|beneath)"),
    ("get_directly_above", "(directly above|on top of|right on top of|directly on top of)"),
    ("get_directly_below", "(directly below|directly under|right under|right beneath|immediately below)"),
    ("get_touching", "(touching|in contact with)"),
    ("get_box_all_left", "(to the left of|left of|on the left of)"),
    ("get_box_all_right", "(to the right of|right of|on the right of)"),
)


def around(say: Speaker) -> Sentence | None:
    """ "Everything above the only circle is blue"; "there is nothing left of the black square"."""
    where = domain(say)
    kind = say.kind(plain=True, generic=0)
    others, above = say.rng.choice(_AROUND[:5] if say.is_tower else _AROUND)
    one = f"the [only] {kind.singular} {where.where}"
    thing, front = f"(thing|{say.item})", where.front
    fronted = f"the [only] {kind.singular}"
    items = kind.among(where.items)
    found = say.property()
    how = say.weighted((2, "nothing"), (1, "something"), (2, "every"), (1, "no"), (2, "the"))
    if how == "nothing":
        texts = [
            f"there ~is nothing {above} {one}",
            f"nothing ~is {above} {one}",
            f"{front}{fronted} ~has nothing {above} it",
        ]
        texts += [f"{front}nothing {above} {fronted}", f"no {say.item} ~is {above} {one}"]
        meaning = f"not exist({others}({items}))"
    elif how == "something":
        texts = [f"(something|at least one {say.item}) ~is {above} {one}", f"there ~is something {above} {one}"]
        meaning = f"exist({others}({items}))"
    elif how == "every":
        texts = [f"(everything|every {thing}|each {thing}) {above} {one} ~is {found.singular}"]
        texts += [f"(all|all the|the) {say.items} {above} {one} ~are {found.plural}"]
        meaning = mean.every(f"{others}({items})", found.condition)
    elif how == "no":
        texts = [f"(nothing|no {say.item}) {above} {one} ~is {found.singular}"]
        texts += [f"none of the {say.items} {above} {one} ~are {found.plural}"]
        meaning = mean.none(f"{others}({items})", found.condition)
    else:
        texts = [f"(the|the only) {thing} {above} {one} ~is {found.singular}"]
        texts += [f"there ~is (exactly|only) one {thing} {above} {one}, and it is {found.singular}"]
        meaning = mean.both(f"count({others}({items})) == 1", mean.some(f"{others}({items})", found.condition))
    return Sentence(say.pick(*texts), mean.both(f"count({items}) == 1", meaning))


RULES = ((3.0, the_only), (1.8, the_two), (2.0, added), (0.6, two_particular), (1.0, around))
