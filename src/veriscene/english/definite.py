"""Rules about particular items: "the two circles touch", "everything above the only square is blue"."""

from __future__ import annotations

from dataclasses import replace

from veriscene.english import meaning as mean
from veriscene.english.clauses import free_attribute, free_kind, two_kinds, value_kinds
from veriscene.english.compare import anything, ordered, said
from veriscene.english.speaker import Sentence, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)


def the_two(say: Speaker) -> Sentence | None:
    """Says "The two circles touch"; "the three squares are in the same box": there are so many, and they do."""
    where, kind, size = say.domain(), free_kind(say), say.weighted((6, 2), (3, 3), (1, 4))
    items, in_one = kind.among(where.items), where.box or say.world.boxes[1] == 1
    there, how = f"count({items}) == {size}", "touch" if size == 2 and (in_one or say.chance(0.5)) else "together"
    if how == "together" and in_one:
        return None
    the = _TABLES["both" if size == 2 else "all"].say(say, n=say.number(size))
    who = say.pick(f"{the} {kind.plural} {where.where}", f"{where.front}{the} {kind.plural}")
    test = f"exist({kind.among(where.items, mean.some('get_touching(@)', kind.condition))})"
    if how == "together":
        test = mean.some(mean.ALL_BOXES, f"count({kind.among('#')}) == {size}", "#")
    return Sentence(_TABLES[how].say(say, who=who, box=say.box), mean.both(there, test))


def two_particular(say: Speaker) -> Sentence | None:
    """Says "The circle in the left box is bigger than the square"; "the circle and the square have the same colour"."""
    (first, second), here, there = two_kinds(say), say.scene(), say.scene()
    in_boxes = say.world.boxes[1] > 1 and say.chance(0.5)
    if in_boxes:
        here, there = say.two_places()
        second = first if say.chance(0.4) else second
    attribute, row = free_attribute(say, first.condition + second.condition), _TABLES["two_particular"].draw(say)
    sign = row.columns[0]
    if attribute is None or (sign != "==" and not (attribute.more and attribute.less)):
        return None
    value, name = say.lexicon.names[attribute.name], say.rng.choice(attribute.words)
    second_one = f"(the one|the {second.singular})" if first == second else f"the [only] {second.singular}"
    words = {"a": f"the [only] {first.singular}", "b": second_one, "name": name, "more": said(attribute.more)}
    words |= {"less": said(attribute.less), "here": here.where * in_boxes, "there": there.where * in_boxes}
    comparison = f"exist({mean.related(there.items, mean.both(second.condition, f'{value}($) {sign} {value}(@)'))})"
    given = [f"count({kind.among(where.items)}) == 1" for kind, where in ((first, here), (second, there))]
    return Sentence(row.say(say, **words), mean.both(*given, f"exist({first.among(here.items, comparison)})"))


def around(say: Speaker) -> Sentence | None:
    """Says "Everything above the only circle is blue"; "there is nothing left of the black square"."""
    where, kind, found = say.domain(), say.kind(plain=True, generic=0), say.property()
    direction = say.rng.choice(_TABLES["directions"].rows[: 5 if say.is_tower else 7])[1]
    items, above, row = kind.among(where.items), direction.say(say), _TABLES["around"].draw(say)
    there = f"{direction.columns[0]}({items})"
    meaning = row.columns[0].format(
        there=there,
        every=mean.every(there, found.condition),
        none=mean.none(there, found.condition),
        the_only=mean.both(f"count({there}) == 1", mean.some(there, found.condition)),
    )
    words = {"item": say.item, "items": say.items, "thing": f"(thing|{say.item})", "above": above}
    words |= {"one": f"{above} the [only] {kind.singular} {where.where}", "the_x": f"the [only] {kind.singular}"}
    text = row.say(say, front=where.front, p=found.singular, ps=found.plural, **words)
    return Sentence(text, mean.both(f"count({items}) == 1", meaning))


# ---------------------------------------------------------------- selections


def selected(say: Speaker) -> Sentence | None:
    """Says "The smaller red shape is a circle"; "the uppermost blue item touches a wall"; "the jar nearest the can"."""
    if say.is_tower:  # whose blocks have rules of their own
        return None
    where, (kind, other) = say.which() if say.world.boxes[1] > 1 else say.scene(), two_kinds(say)
    attribute, found, row = ordered(say), anything(say, where, kind, "the"), _TABLES["selections"].draw(say)
    value = say.lexicon.names[attribute.name] if attribute is not None else ""
    if found is None or found.given or found.is_alone or (value and f"{value}(" in kind.condition + found.condition):
        return None
    key, sign, number = row.columns
    if "{value}" in key and attribute is None:
        return None
    words = {each: said(getattr(attribute, each)) for each in ("more", "less")} if attribute is not None else {}
    given, the_other = "", other.among(where.items)
    if "{other}" in key:
        given = f"count({the_other}) == 1"
        kind = replace(kind, condition=mean.both(kind.condition, mean.negation(other.condition)))
    items, key = kind.among(where.items), key.format(value=value, other=f"unique({the_other})")
    if number == "two":
        beaten = mean.related(items, f"{key.replace('@', '$')} {sign} {key}")
        given, chosen = mean.both(given, f"count({items}) == 2"), mean.both(f"exist({beaten})", found.condition)
        meaning = f"exist({mean.those(items, chosen)})"
    else:
        best = f"{'max' if sign == '>' else 'min'}({items}, key={mean.bind(key)})"
        meaning = f"Any([{best}], {mean.bind(found.condition)})"
    one = row.say(say, X=kind.singular, Y=other.singular, **words)
    slots = {"one": one, "at": where.where, "Xs": kind.plural, **found.slots(say)}
    return Sentence(_TABLES[number].say(say, **slots), mean.both(given, meaning))


def closer(say: Speaker) -> Sentence | None:
    """Says "A circle is closer to the square than the triangle is"; "… closer to the square than to the triangle"."""
    where, kinds = say.which() if say.world.boxes[1] > 1 else say.scene(), value_kinds(say, 3)
    if len(kinds) < 3 or say.is_tower:
        return None
    (x, y, z), row = kinds, _TABLES["closer"].draw(say)
    given = [f"count({each.among(where.items)}) == 1" for each in (y, z)]
    test = row.columns[0].format(*(f"unique({each.among(where.items)})" for each in (y, z)))
    text = row.say(say, x=x.a, X=x.singular, Y=y.singular, Z=z.singular, at=where.where)
    return Sentence(text, mean.both(*given, mean.some(where.items, mean.both(x.condition, test))))


RULES = ((0.8, the_two), (0.6, two_particular), (1.0, around), (2.0, selected), (0.4, closer))
