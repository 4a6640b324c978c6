"""Sentences of several clauses, joined by and, or, but, if, unless, neither nor; negated sentences; and contrasts."""

from __future__ import annotations

import re
from collections.abc import Callable

from veriscene.english import meaning as mean
from veriscene.english.clauses import two_kinds
from veriscene.english.pattern import is_negative, negated, statement
from veriscene.english.speaker import Kind, Property, Sentence, Speaker

Draw = Callable[[Speaker], Sentence | None]


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


def _exactly_one(a: str, b: str) -> str:
    """Whether one of two conditions is true, and the other is not."""
    return f"({a}) != ({b})"


def _equivalent(a: str, b: str) -> str:
    """Whether two conditions are both true or both false."""
    return f"({a}) == ({b})"


def _neither(a: str, b: str) -> str:
    """Whether two conditions are both false."""
    return mean.both(mean.negation(a), mean.negation(b))


def _unless(a: str, b: str) -> str:
    """The first condition is true, or else the second."""
    return mean.either(b, a)


# Weight, meaning, wordings. {A} and {B} are the clauses; {a} and {b} are without their verbs marked, so that a question
# is not asked with them: "are there two circles, while there is a square".
_CLAUSES: tuple[tuple[float, Callable[[str, str], str], tuple[str, ...]], ...] = (
    (5, mean.both, (
        "{A} ^and {B}", "{A} ^and {B}", "{A}, ^and [in addition] {B}", "{A} ^and also {B}", "{a}(,|;|.) {b}",
        "{a}. (also|in addition|and) {b}", "{A}, (while|whereas|plus) {b}", "{A} while {b}",
        "not only {a}, but also {b}", "it is true both that {a} and that {b}",
    )),
    (1.2, mean.both, (
        "{A} ^but {B}", "{A}, ^but {B}", "{A}, (though|although|even though|yet) {b}",
        "(although|though|even though|while) {a}, {B}", "{a}. (but|however,) {b}",
    )),
    (2, mean.either, (
        "{A} ^or {B}", "{A}, ^or {B}", "either {a}[,] or {b}", "{a}, or else {b}", "{a} or {b}, or both",
        "at least one of these (is true|holds): {a}; {b}", "{a} and/or {b}",
    )),
    (0.7, _exactly_one, (
        "[either] {a} or {b}[,] but not both", "(exactly|only|just) one of these (is true|holds): {a}; {b}",
        "{a} or {b}, (not both|but never both|just not both|though not both)",
    )),
    (3, mean.implication, (
        "if {a}, {B}", "if {a}, {B}", "if {a}, then {B}", "if {a} then {b}", "{B} if {a}", "{A} only if {b}",
        "{B} (whenever|when|provided that|as long as|in case) {a}", "that {a} (means|implies) that {b}",
        "(whenever|when|provided [that]|as long as|assuming that|in case|supposing that) {a}, {B}",
        "either it is not true that {a}, or {b}", "it can't be that {a} unless {b}",
    )),
    (1, _unless, ("{A}[,] unless {b}", "unless {b}, {A}", "{A}, except if {b}")),
    (0.6, _equivalent, (
        "{A} (if and only if|exactly if|exactly when|precisely if|precisely when|if, and only if,) {b}",
    )),
    (0.4, _neither, (
        "(it is|it's) neither true that {a}[,] nor that {b}", "neither of these is true: {a}; {b}",
    )),
)  # fmt: skip


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
    meaning, texts = say.weighted(*((row[0], row[1:]) for row in _CLAUSES))
    words = {"A": first.text, "B": second.text, "a": statement(first.text), "b": statement(second.text)}
    return Sentence(say.rng.choice(texts).format(**words), meaning(first.meaning, second.meaning))


_NOT = (
    "(it is|it's) (not (true|the case|correct|right)|false|untrue|wrong|incorrect) that",
    "it (isn't|is not) (true|the case|so|right|correct) that",
    "I (don't|do not) (think|believe) [that]",
    "(nope|no), (it's not true|it isn't true|it is not true) that",
    "it would be (wrong|false) to say that",
    "you (can't|cannot) say that",
)


def _negated(say: Speaker, sentence: Sentence) -> Sentence | None:
    """ "It is not true that all circles are blue"; "the left box doesn't have a circle"; "there isn't a circle"."""
    text = say.expand(sentence.text)
    if "~" not in text:
        return None
    meaning = mean.negation(sentence.meaning)
    if not is_negative(text) and say.chance(0.75):
        subject = text.partition("~")[0].split()
        place_words = {word for place in say.lexicon.places for word in place.words}
        of_one_box = len(subject) == 3 and subject[0] == "the" and subject[1] in place_words
        if of_one_box or (text.startswith("there ~is a ") and sentence.meaning.startswith("exist(")):
            return Sentence(negated(text, say.rng), meaning)
    return Sentence(f"{say.pick(*_NOT)} {statement(text)}", meaning)


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
    where, kind = say.domain(), say.kind(plain=True, generic=0.4)
    values = _values(say, kind)
    if not values:
        return None
    (first, second), at, number = values, where.where, say.pick(1, 1, 2, 2, 3)
    items, p, q = (kind.among(where.items, each) for each in ("", first.condition, second.condition))
    if number == 1 and say.chance(0.4):
        text = f"one {kind.singular} {at} ~is {first.singular} and the other [one] (is|) {second.singular}"
        return Sentence(text, mean.both(f"count({items}) == 2", f"count({p}) == 1", f"count({q}) == 1"))
    said, rest = say.number(number), "(all|) the others|the rest|the other ones|the remaining ones"
    few = f"({said} {kind.plural} {at}|{said} of the {kind.plural} {at}) ~are {first.plural}"
    if number == 1:
        few = f"(only|just|exactly) {said} {kind.singular} {at} ~is {first.singular}"
    neither = kind.among(where.items, _neither(first.condition, second.condition))
    text = f"{few}(, ({rest}) (are|)| and ({rest}) are) {second.plural}"
    return Sentence(text, mean.both(f"count({p}) == {number}", f"not exist({neither})"))


def each_its_own(say: Speaker) -> Sentence | None:
    """ "The circles are blue and the squares are yellow"; "all circles are blue, all squares yellow"."""
    where, (a, b) = say.domain(), two_kinds(say)
    p, q, at = say.property(avoid=a.condition), say.property(avoid=b.condition), where.where
    the = say.pick("the", "all the", "all", "all of the")
    text = say.pick(
        f"{where.front}{the} {a.plural} ~are {p.plural} and {the} {b.plural} are {q.plural}",
        f"{the} {a.plural} {at} ~are {p.plural} (and|while|whereas) {the} {b.plural} {at} are {q.plural}",
        f"{where.front}{the} {a.plural} ~are {p.plural}, {the} {b.plural} {q.plural}",
        f"{where.front}every {a.singular} ~is {p.singular} and every {b.singular} is {q.singular}",
    )
    if say.chance(0.2):
        q = p
        text = f"(all the {a.plural} and {b.plural}|both the {a.plural} and the {b.plural}) {at} ~are {p.plural}"
        if p.condition in b.condition:
            return None
    others = [kind.among(where.items, mean.negation(each.condition)) for kind, each in ((a, p), (b, q))]
    return Sentence(text, mean.both(*(f"not exist({each})" for each in others)))


RULES: tuple[tuple[float, Draw], ...] = ((1.5, the_rest), (1.5, each_its_own))
