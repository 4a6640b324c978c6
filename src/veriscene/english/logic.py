"""Sentences of several clauses, joined by and, or, but, if, unless, neither nor; negated sentences; and contrasts."""

from __future__ import annotations

import re
from collections.abc import Callable

from veriscene.english import meaning as mean
from veriscene.english.contents import stated_plainly
from veriscene.english.meaning import Unfit
from veriscene.english.parts import draws, rules_of
from veriscene.english.pattern import is_negative, negated, statement
from veriscene.english.shares import Properties
from veriscene.english.speaker import Kind, Property, Sentence, Speaker
from veriscene.english.tables import Row, tables

_TABLES = tables(__name__)
Draw = Callable[[Speaker], Sentence | None]
_JOINED = re.compile(r"[,;:^]|\b(and|but|while|whereas)\b")  # a negated verb would deny the first part only


def combined(say: Speaker, draw: Draw) -> Sentence | None:
    """Returns a drawn sentence, several of them joined, a negated one, or one of this file's rules."""
    how = say.weighted((78, "one"), (4, "parts"), (13, "joined"), (4, "negated"), (1, "affirmed"))
    if how == "parts":
        return say.weighted(*RULES)(say)
    if how == "joined":
        return _joined(say, draw)
    sentence = draw(say)
    if sentence is not None and how == "affirmed":
        return Sentence(f"{_TABLES['not_false'].say(say)} {statement(say.expand(sentence.text))}", sentence.meaning)
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
    """Joins two sentences, or three by "and" or "or". Many are plain, as people's are."""
    are_plain = say.chance(0.5)
    first, second = (_clause(say, stated_plainly if are_plain or say.chance(0.3) else draw) for _ in range(2))
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


class _TheRest(Properties):
    """Two values of one attribute, of {n} items of a kind and of the others."""

    def __init__(self, say: Speaker, row: Row) -> None:
        where = say.domain()
        super().__init__(say, row, where, where.where)

    def one_kind(self) -> Kind:
        return self.say.kind(plain=True, generic=0.4)

    def draw_properties(self) -> None:
        say, attribute = self.say, self.say.attribute()
        if attribute is None or f"{say.lexicon.names[attribute.name]}(" in self.kinds["x"].condition:
            raise Unfit
        for name, choice in zip("pq", say.rng.sample(attribute.choices, min(2, len(attribute.choices))), strict=False):
            one = many = say.rng.choice(choice.words)
            if attribute.is_noun:
                one, many = say.rng.choice(say.lexicon.nouns[attribute.name, choice.name])
                one = f"a {one}"
            self.add_property(name, Property(one, many, say.has(attribute, choice)))

    @draws("n N")
    def draw_number(self) -> None:
        self.add_number("n", self.say.pick(2, 2, 3))


class _EachItsOwn(_TheRest):
    """A property of {all} items of each of two kinds, or one of both."""

    def draw_properties(self) -> None:
        x, y = (self.kinds[each].condition for each in "xy")
        self.add_property("p", p := self.say.property(avoid=x))
        if self.names("q0"):
            self.add_property("q", self.say.property(avoid=y))
        elif p.condition in y:
            raise Unfit
        self |= {"all": self.say.pick("the", "all the", "all", "all of the"), "front": self.where.front}


RULES: tuple[tuple[float, Draw], ...] = (
    *rules_of(_TABLES, _TheRest, the_rest=1.5),
    *rules_of(_TABLES, _EachItsOwn, each_its_own=1.5),
)
