"""Rules about particular items: "the two circles touch", "everything above the only square is blue"."""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.clauses import free_attribute, free_kind
from veriscene.english.compare import said
from veriscene.english.speaker import Sentence, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)


def the_two(say: Speaker) -> Sentence | None:
    """ "The two circles touch"; "the three squares are in the same box": there are so many, and together they do."""
    where, kind = say.domain(), free_kind(say)
    size = say.weighted((6, 2), (3, 3), (1, 4))
    n, items = say.number(size), kind.among(where.items)
    the = f"(the {n}|both|both of the|both the)" if size == 2 else f"(the {n}|all {n}|all {n} of the)"
    who = say.pick(f"{the} {kind.plural} {where.where}", f"{where.front}{the} {kind.plural}")
    there = f"count({items}) == {size}"
    if size == 2 and (where.box or say.world.boxes[1] == 1 or say.chance(0.5)):
        touching = kind.among(where.items, mean.some("get_touching(@)", kind.condition))
        text = f"{who} ~(touch|touch each other|are touching|are in contact)"
        return Sentence(text, mean.both(there, f"exist({touching})"))
    if where.box or say.world.boxes[1] == 1:
        return None
    text = f"{who} ~(are in the same {say.box}|share a {say.box}|are together in one {say.box}|are in one {say.box})"
    return Sentence(text, mean.both(there, mean.some(mean.ALL_BOXES, f"count({kind.among('#')}) == {size}", "#")))


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
    b = f"{f'(the one|the {second.singular})' if first == second else f'the [only] {second.singular}'} {other_place}"
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
    where, kind, found = say.domain(), say.kind(plain=True, generic=0), say.property()
    others, above = say.rng.choice(_AROUND[:5] if say.is_tower else _AROUND)
    one, fronted = f"{above} the [only] {kind.singular} {where.where}", f"the [only] {kind.singular}"
    items = kind.among(where.items)
    there, thing = f"{others}({items})", f"(thing|{say.item})"
    row = _TABLES["around"].draw(say)
    meaning = row.columns[0].format(
        there=there,
        every=mean.every(there, found.condition),
        none=mean.none(there, found.condition),
        the_only=mean.both(f"count({there}) == 1", mean.some(there, found.condition)),
    )
    words = {"item": say.item, "items": say.items, "thing": thing, "above": above, "one": one, "the_x": fronted}
    text = row.say(say, front=where.front, p=found.singular, ps=found.plural, **words)
    return Sentence(text, mean.both(f"count({items}) == 1", meaning))


RULES = ((0.8, the_two), (0.6, two_particular), (1.0, around))
