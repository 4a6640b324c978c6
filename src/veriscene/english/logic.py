"""Sentences of several clauses, joined by and, or, but, if, unless, neither nor; negated sentences; and contrasts."""

from __future__ import annotations

import re
from collections.abc import Callable

from veriscene.english import meaning as mean
from veriscene.english.clauses import two_kinds
from veriscene.english.pattern import is_negative, negated, statement
from veriscene.english.speaker import Kind, Property, Sentence, Speaker
from veriscene.english.tables import tables

_TABLES = tables(__name__)
Draw = Callable[[Speaker], Sentence | None]
_JOINED = re.compile(r"[,;:^]|\b(and|but|while|whereas)\b")  # a negated verb would deny the first part only


def combined(say: Speaker, draw: Draw) -> Sentence | None:
    """Returns a drawn sentence, several of them joined, a negated one, or one of this file's rules."""
    how = say.weighted((85, "one"), (4, "parts"), (7, "joined"), (4, "negated"))
    if how == "parts":
        return say.weighted(*RULES)(say)
    if how == "joined":
        return _joined(say, draw)
    sentence = draw(say)
    return _negated(say, sentence) if sentence is not None and how == "negated" else sentence


# ---------------------------------------------------------------- whole clauses


def _clause(say: Speaker, draw: Draw) -> Sentence | None:
    """A sentence that can be joined to others without doubt about what belongs to what; its text is expanded."""
    for _ in range(6):
        sentence = draw(say)
        if sentence is None:
            continue
        text = say.expand(sentence.text)
        # What stands in front, such as "in the left box", could belong to both clauses.
        in_front = re.match(r"(in|inside|within|on|at|to|of|from|overall|here|among|compared)\b", text)
        plain = re.sub(r"\bor (more|fewer|less)\b|\bbetween \w+ and\b|\bone or\b", "", text)
        ambiguous = re.search(r"\b(or|and|if|unless|but|while|whereas)\b|[:,]", plain)
        if "~" in text and not in_front and not ambiguous and len(text.split()) <= 15:
            return Sentence(text, sentence.meaning)
    return None


_MEANINGS: dict[str, Callable[[str, str], str]] = {
    "both": mean.both,
    "either": mean.either,
    "exactly one": lambda a, b: f"({a}) != ({b})",
    "if": mean.implication,
    "unless": lambda a, b: mean.either(b, a),
    "equivalent": lambda a, b: f"({a}) == ({b})",
    "neither": lambda a, b: mean.both(mean.negation(a), mean.negation(b)),
}


def _joined(say: Speaker, draw: Draw) -> Sentence | None:
    """Joins two sentences, or three by "and" or "or"."""
    first, second = _clause(say, draw), _clause(say, draw)
    if first is None or second is None or first.meaning == second.meaning:
        return None
    if say.chance(0.05) and (third := _clause(say, draw)) is not None:
        parts = (first, second, third)
        if say.chance(0.75):
            text = "{}, ^{}[,] ^and [also] {}".format(*(each.text for each in parts))
            return Sentence(text, mean.both(*(each.meaning for each in parts)))
        text = "[either] {}, {}[,] or {}".format(*(statement(each.text) for each in parts))
        return Sentence(text, mean.either(*(each.meaning for each in parts)))
    row = _TABLES["clauses"].draw(say)
    words = {"A": first.text, "B": second.text, "a": statement(first.text), "b": statement(second.text)}
    return Sentence(row.say(say, **words), _MEANINGS[row.columns[0]](first.meaning, second.meaning))


def _negated(say: Speaker, sentence: Sentence) -> Sentence | None:
    """ "It is not true that all circles are blue"; "the left box doesn't have a circle"; "there isn't a circle"."""
    text = say.expand(sentence.text)
    if "~" not in text:
        return None
    meaning = mean.negation(sentence.meaning)
    if not is_negative(text) and not _JOINED.search(text) and say.chance(0.75):
        subject = text.partition("~")[0].split()
        place_words = {word for place in say.lexicon.places for word in place.words}
        of_one_box = len(subject) == 3 and subject[0] == "the" and subject[1] in place_words
        if of_one_box or (text.startswith("there ~is a ") and sentence.meaning.startswith("exist(")):
            return Sentence(negated(text, say.rng), meaning)
    return Sentence(f"{_TABLES['not'].say(say)} {statement(text)}", meaning)


# ---------------------------------------------------------------- contrasts


def _values(say: Speaker, kind: Kind) -> list[Property]:
    """Two values of one attribute that a kind does not tell, as they are said after "is"; or none."""
    attribute = say.attribute()
    if attribute is None or len(attribute.choices) < 2 or f"{say.lexicon.names[attribute.name]}(" in kind.condition:
        return []
    found = []
    for choice in say.rng.sample(attribute.choices, 2):
        one = many = say.rng.choice(choice.words)
        if attribute.is_noun:
            one, many = say.rng.choice(say.lexicon.nouns[attribute.name, choice.name])
            one = f"a {one}"
        found.append(Property(one, many, say.has(attribute, choice)))
    return found


def the_rest(say: Speaker) -> Sentence | None:
    """ "One circle is blue and the others are yellow"; "two of the items are squares, the rest circles"."""
    where, kind, number = say.domain(), say.kind(plain=True, generic=0.4), say.pick(1, 1, 2, 2, 3)
    values = _values(say, kind)
    if not values:
        return None
    first, second = values
    items, p, q = (kind.among(where.items, each) for each in ("", first.condition, second.condition))
    words = {"at": where.where, "X": kind.singular, "Xs": kind.plural, "n": say.number(number), "p": first.singular}
    words |= {"ps": first.plural, "q": second.singular, "qs": second.plural}
    if number == 1 and say.chance(0.4):
        tests = (f"count({items}) == 2", f"count({p}) == 1", f"count({q}) == 1")
        return Sentence(_TABLES["one_and_other"].say(say, **words), mean.both(*tests))
    neither = kind.among(where.items, _MEANINGS["neither"](first.condition, second.condition))
    text = _TABLES["one_and_rest" if number == 1 else "some_and_rest"].say(say, **words)
    return Sentence(text, mean.both(f"count({p}) == {number}", f"not exist({neither})"))


def each_its_own(say: Speaker) -> Sentence | None:
    """ "The circles are blue and the squares are yellow"; "all circles are blue, all squares yellow"."""
    where, (a, b), is_same = say.domain(), two_kinds(say), say.chance(0.2)
    p, q = say.property(avoid=a.condition), say.property(avoid=b.condition)
    q = p if is_same else q
    if is_same and p.condition in b.condition:
        return None
    words = {"front": where.front, "at": where.where, "X": a.singular, "Xs": a.plural, "Y": b.singular, "Ys": b.plural}
    words |= {"p": p.singular, "ps": p.plural, "q": q.singular, "qs": q.plural}
    words["all"] = say.pick("the", "all the", "all", "all of the")
    others = [kind.among(where.items, mean.negation(each.condition)) for kind, each in ((a, p), (b, q))]
    text = _TABLES["both_kinds" if is_same else "each_kind"].say(say, **words)
    return Sentence(text, mean.both(*(f"not exist({each})" for each in others)))


RULES: tuple[tuple[float, Draw], ...] = ((1.5, the_rest), (1.5, each_its_own))
