"""Sentences of several parts: and, or, but, if, unless, neither nor, not; lists, contrasts and pronouns.

`combined` joins sentences of any rules. The rules of this file join smaller parts, as people do: "there is a circle but
no square" rather than "there is a circle but there is no square".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from veriscene.english import meaning as mean
from veriscene.english.pattern import is_negative, negated, statement
from veriscene.english.speaker import NO, SOME, Domain, Kind, Property, Quantity, Sentence, Speaker

Draw = Callable[[Speaker], Sentence | None]


def combined(say: Speaker, draw: Draw) -> Sentence | None:
    """Returns a drawn sentence, several of them joined, a negated one, or one of this file's rules."""
    how = say.weighted((80, "one"), (9, "parts"), (7, "joined"), (4, "negated"))
    if how == "parts":
        rule = say.rng.choices([rule for _, rule in RULES], [weight for weight, _ in RULES])[0]
        return rule(say)
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


def _joined(say: Speaker, draw: Draw) -> Sentence | None:
    """Joins two sentences, or three by "and" or "or"."""
    first, second = _clause(say, draw), _clause(say, draw)
    if first is None or second is None or first.meaning == second.meaning:
        return None
    how = say.weighted(
        (5, "and"), (1.2, "but"), (2, "or"), (0.7, "xor"), (3, "if"), (1, "unless"), (0.6, "iff"), (0.7, "three"), (0.4, "neither")
    )  # fmt: skip
    if how == "three":
        third = _clause(say, draw)
        if third is None:
            return None
        parts = [first.text, second.text, third.text]
        meanings = (first.meaning, second.meaning, third.meaning)
        if say.chance(0.75):
            last = say.pick(" ^and", ", ^and", ", ^and also", " ^and")
            return Sentence(f"{parts[0]}, ^{parts[1]}{last} {parts[2]}", mean.both(*meanings))
        plain = [statement(part) for part in parts]
        return Sentence(f"(either |){plain[0]}, {plain[1]}[,] or {plain[2]}", mean.either(*meanings))
    return _CLAUSES[how](say, first, second)


def _and(say: Speaker, a: Sentence, b: Sentence) -> Sentence:
    """ "A and B"; "A. B"; "A while B"."""
    text = say.pick(
        f"{a.text} ^and {b.text}", f"{a.text}, ^and {b.text}", f"{a.text} ^and {b.text}",
        f"{a.text} ^and also {b.text}", f"{statement(a.text)}, {statement(b.text)}",
        f"{statement(a.text)}; {statement(b.text)}", f"{statement(a.text)}. {statement(b.text)}",
        f"{statement(a.text)}. (also|in addition|and) {statement(b.text)}",
        f"{a.text}, (while|whereas) {statement(b.text)}", f"{a.text} while {statement(b.text)}",
        f"{a.text}, plus {statement(b.text)}",
        f"{a.text}, ^and in addition {b.text}", f"not only {statement(a.text)}, but also {statement(b.text)}",
        f"it is true both that {statement(a.text)} and that {statement(b.text)}",
    )  # fmt: skip
    return Sentence(text, mean.both(a.meaning, b.meaning))


def _but(say: Speaker, a: Sentence, b: Sentence) -> Sentence:
    """ "A but B"; "although A, B"."""
    one, other = statement(a.text), b.text
    text = say.pick(
        f"{a.text} ^but {other}", f"{a.text}, ^but {other}",
        f"{a.text}, (though|although|even though|yet) {statement(other)}",
        f"(although|though|even though|while) {one}, {other}", f"{one}. but {statement(other)}",
        f"{one}. however, {statement(other)}",
    )  # fmt: skip
    return Sentence(text, mean.both(a.meaning, b.meaning))


def _or(say: Speaker, a: Sentence, b: Sentence) -> Sentence:
    """ "Either A or B"."""
    one, other = statement(a.text), statement(b.text)
    text = say.pick(
        f"{a.text} ^or {b.text}", f"{a.text}, ^or {b.text}", f"either {one} or {other}", f"either {one}, or {other}",
        f"{one}, or else {other}",
        f"{one} or {other}, or both", f"at least one of these (is true|holds): {one}; {other}", f"{one} and/or {other}",
    )  # fmt: skip
    return Sentence(text, mean.either(a.meaning, b.meaning))


def _xor(say: Speaker, a: Sentence, b: Sentence) -> Sentence:
    """ "Either A or B, but not both"."""
    one, other = statement(a.text), statement(b.text)
    text = say.pick(
        f"(either |){one} or {other}, but not both", f"either {one} or {other} but not both",
        f"(exactly|only|just) one of these (is true|holds): {one}; {other}",
        f"{one} or {other}, (not both|but never both|just not both|though not both)",
    )  # fmt: skip
    return Sentence(text, _compared(a.meaning, "!=", b.meaning))


def _if(say: Speaker, a: Sentence, b: Sentence) -> Sentence:
    """ "If A, then B"; "A only if B"."""
    one, other = statement(a.text), b.text
    text = say.pick(
        f"if {one}, {other}", f"if {one}, {other}", f"if {one}, then {other}", f"if {one} then {statement(other)}",
        f"{other} if {one}", f"{other} (whenever|when|provided that|as long as|in case) {one}",
        f"(whenever|when|provided that|provided|as long as|assuming that|in case|supposing that) {one}, {other}",
        f"{a.text} only if {statement(other)}", f"either it is not true that {one}, or {statement(other)}",
        f"that {one} (means|implies) that {statement(other)}", f"it can't be that {one} unless {statement(other)}",
    )  # fmt: skip
    return Sentence(text, mean.implication(a.meaning, b.meaning))


def _unless(say: Speaker, a: Sentence, b: Sentence) -> Sentence:
    """ "A unless B": A if not B."""
    other = statement(b.text)
    text = say.pick(
        f"{a.text} unless {other}",
        f"{a.text}, unless {other}",
        f"unless {other}, {a.text}",
        f"{a.text}, except if {other}",
    )
    return Sentence(text, mean.either(b.meaning, a.meaning))


def _iff(say: Speaker, a: Sentence, b: Sentence) -> Sentence:
    """ "A if and only if B"."""
    text = f"{a.text} (if and only if|exactly if|exactly when|precisely if|precisely when|if, and only if,) {statement(b.text)}"
    return Sentence(text, _compared(a.meaning, "==", b.meaning))


def _neither(say: Speaker, a: Sentence, b: Sentence) -> Sentence:
    """ "It is neither true that A nor that B"."""
    one, other = statement(a.text), statement(b.text)
    text = f"(it is neither true that {one} nor that {other}|it's neither true that {one}, nor that {other}|neither of these is true: {one}; {other})"
    return Sentence(text, mean.both(mean.negation(a.meaning), mean.negation(b.meaning)))


_CLAUSES = {
    "and": _and,
    "but": _but,
    "or": _or,
    "xor": _xor,
    "if": _if,
    "unless": _unless,
    "iff": _iff,
    "neither": _neither,
}


def _compared(a: str, operator: str, b: str) -> str:
    """Whether two conditions are both true or false (`==`), or only one of them (`!=`)."""

    def closed(condition: str) -> str:
        return (
            condition
            if re.fullmatch(r"\w+\(.*\)", condition) and mean.negation(condition) == f"not {condition}"
            else f"({condition})"
        )

    return f"{closed(a)} {operator} {closed(b)}"


_NOT = (
    "(it is|it's) (not true|not the case|not correct|not right) that",
    "it ~is (false|untrue|wrong|incorrect) that",
    "it's (false|untrue|wrong|incorrect) that",
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


# ---------------------------------------------------------------- lists of things


def _has(where: Domain) -> str:
    return (
        "(have|have|contain|hold|show|have got)" if where.plural else "(has|has|contains|holds|shows|has got|includes)"
    )


def _is_negative(where: Domain) -> bool:
    return where.subject.startswith(("no ", "none ", "not "))


def _different_kinds(say: Speaker, number: int) -> list[Kind]:
    """Several kinds, none of which is another; more often than by chance, they differ in one value."""
    found: list[Kind] = []
    for _ in range(40):
        kind = say.kind(plain=True, generic=0.0)
        if not any(kind.condition in each.condition or each.condition in kind.condition for each in found):
            found.append(kind)
        if len(found) == number:
            break
    return found


def _in(say: Speaker, where: Domain, things: str, be: str) -> str:
    """Says that there are things, or "neither X nor Y", somewhere."""
    options = [f"{where.subject} ~{_has(where)} {things}"] * 2
    if where.is_quantified:
        return say.pick(*options, f"{where.where}, there ~{be} {things}", f"{where.where} there ~{be} {things}")
    options += [f"there ~{be} {things} {where.where}"] * 3 + [f"{where.front}there ~{be} {things}"]
    if be == "is" or not things.startswith(("neither", "no ")):
        options += [f"(I|you|we) ~(can see|see|have) {things} {where.where}", f"{where.subject}: {things}"]
    return say.pick(*options)


def _part(say: Speaker, kind: Kind, where: Domain, plain: float = 0.6) -> tuple[str, str, bool]:
    """Words for some or a number of a kind, with the meaning, and whether they are plural."""
    quantity = Quantity("a {}", SOME, plural=False) if say.chance(plain) else say.quantity(high=4, negative=False)
    return quantity.of(kind), quantity.holds(kind.among(where.items)), quantity.plural


def list_of_things(say: Speaker) -> Sentence | None:
    """ "There are two circles and a square in the left box"; "every box has a circle, a square and a triangle"."""
    where = say.domain(quantified=0.35)
    kinds = _different_kinds(say, 3 if say.chance(0.25) else 2)
    if len(kinds) < 2:
        return None
    plain = say.pick(1.0, 0.3)
    parts = [_part(say, kind, where, plain) for kind in kinds]
    words = [text for text, _, _ in parts]
    if len(words) == 3:
        things = say.pick(
            f"{words[0]}, {words[1]} and {words[2]}",
            f"{words[0]}, {words[1]}, and {words[2]}",
            f"{words[0]} and {words[1]} and {words[2]}",
        )
    else:
        a, b = words
        things = say.pick(
            f"{a} and {b}", f"{a} and {b}", f"{a} and {b}", f"(both {a} and {b}|{a} and also {b})",
            f"{a} as well as {b}", f"{a} plus {b}", f"{a} along with {b}",
            f"not only {a} but also {b}", f"{a}, and also {b}",
        )  # fmt: skip
    if _is_negative(where) and ("not only" in things or "well" in things or "also" in things):
        return None
    be = "are" if parts[0][2] or say.chance(0.4) else "is"
    text = _in(say, where, things, be)
    if len(words) == 2 and not where.is_quantified and say.chance(0.25):
        there, too = (f"there ~{'are' if plural else 'is'}" for _, _, plural in parts)
        text = say.pick(
            f"{words[0]} and {words[1]} ~are both (present|there) {where.where}",
            f"{where.front}not just {words[0]}, {words[1]} too",
            f"{where.front}{there} {words[0]} ^and {too} [also] {words[1]} [too|as well]",
            f"in addition to {words[0]}, {too} {words[1]} {where.where}",
        )  # fmt: skip
    return Sentence(text, where.bind(mean.both(*(meaning for _, meaning, _ in parts))))


def one_without_other(say: Speaker) -> Sentence | None:
    """ "There is a circle but no square"; "the left box has two circles and no square"."""
    where = say.domain(quantified=0.3)
    kinds = _different_kinds(say, 2)
    if len(kinds) < 2 or _is_negative(where):
        return None
    first, second = kinds
    words, meaning, plural = _part(say, first, where)
    things = say.pick(
        f"{words} but (no {second.singular}|no {second.plural})", f"{words} but (no {second.plural}|not {second.a})",
        f"{words} and no {second.plural}", f"{words}, but not a single {second.singular}",
        f"{words} but not one {second.singular}", f"{words} (but not|without) any {second.plural}",
        f"{words}, no {second.plural}", f"{words} but zero {second.plural}",
    )  # fmt: skip
    text = _in(say, where, things, "are" if plural else "is")
    if not where.is_quantified and say.chance(0.3):
        be = "are" if plural else "is"
        text = say.pick(
            f"there ~{be} {words} {where.where} but there (isn't|is not) {second.a}",
            f"{where.front}there ~{be} {words}, but there (are no|aren't any|are not any) {second.plural}",
            f"there ~are no {second.plural} {where.where}, but there {be} {words}",
            f"no {second.plural} {where.where}, but {words}",
            f"{second.plural} ~are missing {where.where} but there {be} {words}",
            f"I (can see|see) {words} {where.where}, but I (don't see|do not see|can't see) any {second.plural}",
        )  # fmt: skip
    return Sentence(text, where.bind(mean.both(meaning, f"not exist({second.among(where.items)})")))


def one_or_other(say: Speaker) -> Sentence | None:
    """ "There is a circle or a square"; "every box has either a circle or a square, but not both"."""
    where = say.domain(quantified=0.35)
    kinds = _different_kinds(say, 3 if say.chance(0.12) else 2)
    if len(kinds) < 2:
        return None
    parts = [_part(say, kind, where, 0.8) for kind in kinds]
    words, meanings = [text for text, _, _ in parts], [meaning for _, meaning, _ in parts]
    a, b = words[:2]
    be = "are" if parts[0][2] else "is"
    if len(words) == 3:
        return Sentence(_in(say, where, f"(either |){a}, {b} or {words[2]}", be), where.bind(mean.either(*meanings)))
    if say.chance(0.35) and not _is_negative(where):
        things = say.pick(
            f"(either |){a} or {b}, but not both", f"(either |){a} or {b} but not both",
            f"either {a} or {b}, (never both|not both|just not both|but never both)",
            f"{a} or {b}, but not the two together", f"(just|only|exactly) one of these [two]: {a}, {b}",
        )  # fmt: skip
        return Sentence(_in(say, where, things, be), where.bind(_compared(meanings[0], "!=", meanings[1])))
    things = f"{a} or {b}" if _is_negative(where) else say.pick(
        f"{a} or {b}", f"{a} or {b}", f"either {a} or {b}", f"{a} or {b} or both", f"{a}, {b}, or both",
        f"{a} and/or {b}", f"{a} or {b}, (maybe|perhaps|possibly) both",
        f"{a} or else {b}", f"at least one of these: {a}, {b}",
    )  # fmt: skip
    return Sentence(_in(say, where, things, be), where.bind(mean.either(*meanings)))


def neither_nor(say: Speaker) -> Sentence | None:
    """ "There is neither a circle nor a square in the left box"; "no circles or squares"."""
    where = say.domain(quantified=0.25)
    kinds = _different_kinds(say, 2)
    if len(kinds) < 2 or _is_negative(where):
        return None
    a, b = kinds
    ones = f"neither {a.a} nor {b.a}"
    many = f"(neither {a.plural} nor {b.plural}|no {a.plural} and no {b.plural}|no {a.plural} or {b.plural}|no {a.plural}, no {b.plural}|no {a.plural} and no {b.plural} either)"
    text = say.pick(_in(say, where, ones, "is"), _in(say, where, many, "are"), _in(say, where, many, "are"))
    some = f"(any {a.plural} or {b.plural}|{a.a} or {b.a}|any {a.plural}, or any {b.plural})"
    have = "do" if where.plural else "does"
    if say.chance(0.35):
        text = say.pick(
            f"{where.subject} ~{have} not (have|contain) {some}", f"{where.subject} ~{have}n't (have|contain) {some}",
            f"{where.subject} ~{'are' if where.plural else 'is'} (without|free of) {a.plural} (and|or) {b.plural}",
        )  # fmt: skip
    elif not where.is_quantified and say.chance(0.5):
        text = say.pick(
            f"there ~(aren't|are not) any {a.plural} or {b.plural} {where.where}",
            f"there ~(isn't|is not) {a.a} or {b.a} {where.where}",
            f"(I|you|we) ~(don't see|can't see|do not see) {some} {where.where}",
            f"both {a.plural} and {b.plural} ~are (missing|absent) {where.where}",
            f"neither {a.plural} nor {b.plural} ~(appear|can be seen|show up) {where.where}",
            f"nothing {where.where} ~is {a.a} or {b.a}",
            f"there ~is no {a.singular} {where.where}, (and no|nor a|and also no) {b.singular}",
        )  # fmt: skip
    meanings = (f"not exist({kind.among(where.items)})" for kind in kinds)
    return Sentence(text, where.bind(mean.both(*meanings)))


def only_these(say: Speaker) -> Sentence | None:
    """ "There are no circles on the left, only squares"; "no yellow in the middle, just black"."""
    where = say.which() if say.world.boxes[1] > 1 and say.chance(0.5) else say.domain(quantified=0.3)
    attribute = say.attribute()
    if attribute is None or len(attribute.choices) < 2 or _is_negative(where):
        return None
    first, second = (_named(say, attribute.name, choice.name) for choice in say.rng.sample(attribute.choices, 2))
    if first is None or second is None:
        return None
    have = f"{where.subject} ~{_has(where)}"
    text = say.pick(
        f"{have} no {first.plural}, (only|just) {second.plural}",
        f"{have} (only|just|nothing but) {second.plural}, no {first.plural}",
        f"{have} no {first.plural} but only {second.plural}",
    )  # fmt: skip
    if not where.is_quantified and say.chance(0.6):
        text = say.pick(
            f"there ~are no {first.plural} {where.where}, (only|just) {second.plural}",
            f"no {first.plural} {where.where}, (only|just) {second.plural}",
            f"(only|just|nothing but) {second.plural} {where.where}, no {first.plural}",
            f"{where.front}there ~are (only|just) {second.plural} and no {first.plural}",
        )  # fmt: skip
    meaning = mean.both(f"not exist({first.among(where.items)})", mean.every(where.items, second.condition))
    return Sentence(text, where.bind(meaning))


def _named(say: Speaker, attribute_name: str, choice_name: str) -> Kind | None:
    """The kind of the items with one value: "squares", "black items", sometimes just "black"."""
    attribute = next(each for each in say.world.attributes if each.name == attribute_name)
    choice = attribute.by_name[choice_name]
    condition = say.has(attribute, choice)
    if attribute.is_noun:
        return Kind(*say.rng.choice(say.lexicon.nouns[attribute_name, choice_name]), condition)
    word = say.rng.choice(choice.words)
    if " " in word:
        return None
    if say.chance(0.3):
        return Kind(word, word, condition)
    return Kind(f"{word} {say.item}", f"{word} {say.items}", condition)


# ---------------------------------------------------------------- conditions


def on_condition(say: Speaker) -> Sentence | None:
    """ "If there is a circle, there is also a square"; "no circle without a square"; "a circle unless a square"."""
    kinds = _different_kinds(say, 2)
    if len(kinds) < 2:
        return None
    first, second = kinds
    where = say.domain() if say.chance(0.4) else Domain(mean.ALL_ITEMS, "", "the picture")
    a, b = (f"exist({kind.among(where.items)})" for kind in kinds)
    x, y, no_x, no_y = first.a, second.a, f"no {first.singular}", f"no {second.singular}"
    too = "[too|as well]"
    if say.chance(0.55):
        you = say.pick("you", "we", "I")
        text = say.pick(
            f"if there is {x}, there ~is [also] {y}", f"if there is {x} then there is [also] {y} {too}",
            f"there ~is {y} if there is {x}",
            f"(when|whenever|provided that|in case) there is {x}, there ~is {y} {too}",
            f"there ~is {x} only if there is [also] {y}", f"there ~is {no_x} unless there is {y}",
            f"{no_x} without {y}", f"if {x}, then [also] {y}", f"{x} only if [also] {y}",
            f"there ~is {no_x} without {y}",
            f"either there is {no_x}, or there is {y}", f"{x} (means|implies) [that] there is [also] {y}",
            f"if {you} see {x}, {you} ~see {y} {too}", f"should there be {x}, there ~is also {y}",
        )  # fmt: skip
        return Sentence(f"{where.front}{text}", mean.implication(a, b))
    text = say.pick(
        f"there ~is {x} unless there is {y}", f"unless there is {y}, there ~is {x}",
        f"if there is {no_y}, [then] there ~is {x}", f"there ~is {x} if there is {no_y}", f"{x}, unless {y}",
        f"if {no_y}, then {x}",
        f"if there (isn't|is not) {y}, [then] there ~is {x}", f"{no_y}? then {x}",
        f"(without|in the absence of) {second.plural}, there ~is {x}",
        f"there ~is {x} (whenever|provided) there is {no_y}",
    )  # fmt: skip
    return Sentence(f"{where.front}{text}", mean.either(b, a))


def condition_on_boxes(say: Speaker) -> Sentence | None:
    """ "If a box has a circle, it also has a square"; "boxes with a circle have no square"."""
    if say.world.boxes[1] < 2:
        return None
    kinds = _different_kinds(say, 2)
    if len(kinds) < 2:
        return None
    first, second = kinds
    quantity = say.quantity(high=3)
    there = f"exist({first.among('#')})"
    words, test = quantity.of(second), quantity.holds(second.among("#"))
    box, boxes = say.box, say.boxes
    also = "" if quantity.test == NO else "[also]"
    text = say.pick(
        f"if a {box} has {first.a}, it {also} ~has {words}",
        f"(every|each) {box} (with|that has|that contains) {first.a} {also} ~has {words}",
        f"(all|all the) {boxes} (with|that have|containing) {first.a} {also} ~have {words}",
        f"(whenever|when) a {box} (has|contains) {first.a}, it {also} ~(has|contains) {words}",
        f"{boxes} with {first.a} {also} ~have {words}",
    )  # fmt: skip
    return Sentence(text, mean.none(mean.ALL_BOXES, mean.both(there, mean.negation(test)), "#"))


# ---------------------------------------------------------------- two boxes


def here_and_there(say: Speaker) -> Sentence | None:
    """ "The left box has a circle and the right one two squares"; "a circle in the left box, none in the right one"."""
    if len(say.lexicon.distinct_places) < 2:
        return None
    first, second = say.two_places()
    kinds = [say.kind(plain=True, generic=0.05), say.kind(plain=True, generic=0.05)]
    quantities = (
        [say.quantity(high=4), say.quantity(high=4)] if say.chance(0.6) else [Quantity("a {}", SOME, plural=False)] * 2
    )
    if say.chance(0.2):
        kinds[1] = kinds[0]
        if quantities[0].test == quantities[1].test:
            quantities = [
                Quantity(f"{say.number(n)} {{}}", f"{{}} == {n}", plural=True) for n in say.rng.sample(range(2, 6), 2)
            ]
    (a, b), (x, y) = quantities, (quantity.of(kind) for quantity, kind in zip(quantities, kinds, strict=True))
    one = _one(say, second)
    be, be2 = ("are" if quantity.plural else "is" for quantity in quantities)
    has = "(has|contains|holds|shows)"
    contrast = "(and|and|while|whereas|but)"
    text = say.pick(
        f"{first.subject} ~{has} {x} ^and {one} ~{has} {y}", f"{first.subject} ~{has} {x}, {contrast} {one} {has} {y}",
        f"{first.subject} ~{has} {x} and {one} {y}", f"{first.subject} ~{has} {x}, {one} {y}",
        f"there ~{be} {x} {first.where} and {y} {second.where}",
        f"there ~{be} {x} {first.where} ^and there ~{be2} {y} {second.where}",
        f"{first.where} there ~{be} {x}, {second.where} there {be2} {y}",
        f"{x} {first.where}, {y} {second.where}", f"{x} {first.where} and {y} {second.where}",
        f"{first.subject}: {x}, {one}: {y}", f"(I|you|we) ~(can see|see) {x} {first.where} and {y} {second.where}",
        f"{first.subject} with {x}, {one} with {y}",
    )  # fmt: skip
    meanings = (
        quantity.holds(kind.among(where.items))
        for quantity, kind, where in zip((a, b), kinds, (first, second), strict=True)
    )
    return Sentence(text, mean.both(*meanings))


def _one(say: Speaker, where: Domain) -> str:
    """ "The right one" for "the right box", where the box has been named before."""
    if where.subject.endswith(f" {say.box}") and say.chance(0.6):
        return where.subject.removesuffix(say.box) + "one"
    return where.subject


def two_boxes_alike(say: Speaker) -> Sentence | None:
    """ "The left box has a circle and so does the right one"; "neither the left nor the right box has a circle"."""
    if len(say.lexicon.distinct_places) < 2:
        return None
    first, second = say.two_places()
    kind = say.kind(generic=0.03)
    quantity = Quantity("a {}", SOME, plural=False) if say.chance(0.5) else say.quantity(high=4, negative=False)
    things, one = quantity.of(kind), _one(say, second)
    a, b = (quantity.holds(kind.among(where.items)) for where in (first, second))
    has, have = "~(has|contains|holds)", "~(have|contain|hold)"
    how = say.weighted((4, "both"), (3, "first only"), (1.5, "neither"), (1.5, "either"), (0.7, "one of them"))
    if how == "both":
        text = say.pick(
            f"{first.subject} (has|contains|holds) {things} and so does {one}",
            f"{first.subject} {has} {things}, and {one} does too",
            f"(both|) {first.subject} and {second.subject} {have} {things}",
            f"{first.subject} and {second.subject} both {have} {things}",
            f"{first.subject} as well as {one} {has} {things}",
            f"{first.subject} {has} {things}, (just like|like|as does) {one}",
            f"not only {first.subject} but also {one} {has} {things}",
        )  # fmt: skip
        return Sentence(text, mean.both(a, b))
    if how == "first only":
        text = say.pick(
            f"{first.subject} {has} {things} but {one} (doesn't|does not)",
            f"{first.subject} {has} {things}, {one} (doesn't|does not)",
            f"{first.subject} {has} {things}, but not {one}",
            f"unlike {second.subject}, {first.subject} {has} {things}",
            f"{first.subject} {has} {things}, unlike {one}",
            f"{first.subject} {has} {things}, (while|whereas) {one} (doesn't|does not)",
        )  # fmt: skip
        return Sentence(text, mean.both(a, mean.negation(b)))
    if how == "neither":
        text = say.pick(
            f"neither {first.subject} nor {one} {has} {things}",
            f"{first.subject} ~(doesn't|does not) have {things}, and neither does {one}",
        )
        return Sentence(text, mean.both(mean.negation(a), mean.negation(b)))
    if how == "either":
        text = say.pick(
            f"either {first.subject} or {one} {has} {things}",
            f"{first.subject} or {one} {has} {things}",
            f"at least one of {first.subject} and {second.subject} {has} {things}",
        )
        return Sentence(text, mean.either(a, b))
    text = say.pick(
        f"either {first.subject} or {one} {has} {things}, but not both",
        f"(exactly|only|just) one of {first.subject} and {second.subject} {has} {things}",
    )
    return Sentence(text, _compared(a, "!=", b))


# ---------------------------------------------------------------- pronouns and contrasts


def and_they_are(say: Speaker) -> Sentence:
    """ "There are three shapes and they're all squares"; "there is only one circle and it's blue"."""
    where, kind = say.domain(), say.kind(plain=True, generic=0.35)
    items = kind.among(where.items)
    # Which box they are in is said of items of the whole scene only.
    found = _further(say, kind) if not where.box else say.property(avoid=kind.condition)
    good = kind.among(where.items, found.condition)
    bad = kind.among(where.items, mean.negation(found.condition))
    if say.chance(0.4):
        quantity = say.weighted(
            (2, Quantity("a {}", SOME, plural=False)), (3, Quantity(f"(exactly {say.number(1)}|only one|just one|{say.number(1)}|a single) {{}}", "{} == 1", plural=False))
        )  # fmt: skip
        is_one = quantity.test != SOME
        words = quantity.of(kind)
        negative = is_one and say.chance(0.25)
        it = f"and it {'is not' if negative else 'is'} {found.singular}"
        text = say.pick(
            f"there ~is {words} {where.where} {it}", f"there ~is {words} {where.where}, {it}",
            f"{where.subject} ~has {words} {it}", f"(I|you|we) ~(see|can see) {words} {where.where} {it}",
            f"{words} {where.where}, and it's {'not ' if negative else ''}{found.singular}",
        )  # fmt: skip
        if not is_one:
            return Sentence(text, f"exist({good})")
        return Sentence(text, mean.both(f"count({items}) == 1", f"exist({bad if negative else good})"))
    number = say.pick(2, 2, 2, 3, 3, 4) if kind.condition else say.small(2, 6)
    some = say.weighted(
        (4, Quantity(f"(|exactly |just |only ){say.number(number)} {{}}", f"{{}} == {number}")),
        (1, Quantity(f"at least {say.number(number)} {{}}", f"{{}} >= {number}")),
    )
    less = say.rng.randint(1, max(1, number - 1))
    said = say.number(less)
    be = "is" if less == 1 else "are"
    one_of = found.singular if less == 1 else found.plural
    second, meaning = say.weighted(
        (5, (f"(they are all|all of them are|they all are|they are all) {found.plural}", f"not exist({bad})")), (1, (f"(each|every one) of them is {found.singular}", f"not exist({bad})")),
        (1.5, (f"none of them (is {found.singular}|are {found.plural})", f"not exist({good})")), (1.5, (f"(|exactly |only |just ){said} of them {be} {one_of}", f"count({good}) == {less}")),
        (1, (f"at least one of them is {found.singular}", f"exist({good})")), (1, (f"most of them are {found.plural}", f"count({good}) > count({bad})")),
        (0.7, (f"not all of them are {found.plural}", f"exist({bad})")),
    )  # fmt: skip
    words = some.of(kind)
    text = say.pick(
        f"there ~are {words} {where.where} and {second}", f"there ~are {words} {where.where}, {second}",
        f"there ~are {words} {where.where}, and {second}", f"{where.subject} ~(has|contains) {words} and {second}",
        f"(I|you|we) ~(see|can see) {words} {where.where} and {second}", f"{words} {where.where}, {second}",
        f"there ~are {words} {where.where} but {second}", f"there are {words} {where.where}. {second}",
    )  # fmt: skip
    return Sentence(text, mean.both(some.holds(items), meaning))


def _further(say: Speaker, kind: Kind) -> Property:
    """Something else that is said of a kind: a property, or the box where it is."""
    if say.world.boxes[1] > 1 and say.chance(0.2):
        where = say.which()
        return Property(where.where, where.where, f"@.box == {where.box}")
    return say.property(avoid=kind.condition)


def the_rest(say: Speaker) -> Sentence | None:
    """ "One circle is blue and the others are yellow"; "two of the items are squares, the rest circles"."""
    attribute = say.attribute()
    if attribute is None or len(attribute.choices) < 2:
        return None
    where, kind = say.domain(), say.kind(plain=True, generic=0.4)
    name = say.lexicon.names[attribute.name]
    if f"{name}(" in kind.condition:
        return None
    first, second = (_as_property(say, attribute.name, choice.name) for choice in say.rng.sample(attribute.choices, 2))
    place = f" {where.where}" if where.where else ""
    number = say.pick(1, 1, 2, 2, 3)
    p, q = (mean.those(where.items, mean.both(kind.condition, each.condition)) for each in (first, second))
    neither = kind.among(where.items, mean.both(mean.negation(first.condition), mean.negation(second.condition)))
    said = say.number(number)
    if number == 1 and say.chance(0.4):
        text = f"one {kind.singular}{place} ~is {first.singular} and the other [one] (is|) {second.singular}"
        return Sentence(
            text, mean.both(f"count({kind.among(where.items)}) == 2", f"count({p}) == 1", f"count({q}) == 1")
        )
    few = f"{said} {kind.singular if number == 1 else kind.plural}"
    be, what = ("is", first.singular) if number == 1 else ("are", first.plural)
    rest = "(the others|the rest|the other ones|all the others|the remaining ones)"
    text = say.pick(
        f"{few}{place} ~{be} {what} and {rest} are {second.plural}",
        f"{said} of the {kind.plural}{place} ~{be} {what}, {rest} (are|) {second.plural}",
        f"{where.front}{said} of the {kind.plural} ~{be} {what} and {rest} are {second.plural}",
    )  # fmt: skip
    return Sentence(text, mean.both(f"count({p}) == {number}", f"not exist({neither})"))


def _as_property(say: Speaker, attribute_name: str, choice_name: str) -> Property:
    """A value as it is said after "is"."""
    attribute = next(each for each in say.world.attributes if each.name == attribute_name)
    choice = attribute.by_name[choice_name]
    condition = say.has(attribute, choice)
    if attribute.is_noun:
        singular, plural = say.rng.choice(say.lexicon.nouns[attribute_name, choice_name])
        return Property(f"a {singular}", plural, condition)
    word = say.rng.choice(choice.words)
    return Property(word, word, condition)


def each_its_own(say: Speaker) -> Sentence | None:
    """ "The circles are blue and the squares are yellow"; "all circles are blue, all squares yellow"."""
    kinds = _different_kinds(say, 2)
    if len(kinds) < 2:
        return None
    where = say.domain()
    a, b = kinds
    p, q = say.property(avoid=a.condition), say.property(avoid=b.condition)
    every = [
        f"not exist({kind.among(where.items, mean.negation(each.condition))})"
        for kind, each in zip(kinds, (p, q), strict=True)
    ]
    place = f" {where.where}" if where.where else ""
    if say.chance(0.2):
        text = say.pick(
            f"all the {a.plural} and {b.plural}{place} ~are {p.plural}",
            f"both the {a.plural} and the {b.plural}{place} ~are all {p.plural}",
        )
        every[1] = f"not exist({b.among(where.items, mean.negation(p.condition))})"
        return Sentence(text, mean.both(*every)) if p.condition not in b.condition else None
    all_the = say.pick("the", "all the", "all", "all of the")
    text = say.pick(
        f"{where.front}{all_the} {a.plural} ~are {p.plural} and {all_the} {b.plural} are {q.plural}",
        f"{all_the} {a.plural}{place} ~are {p.plural} (and|while|whereas) {all_the} {b.plural}{place} are {q.plural}",
        f"{where.front}{all_the} {a.plural} ~are {p.plural}, {all_the} {b.plural} {q.plural}",
        f"{where.front}every {a.singular} ~is {p.singular} and every {b.singular} is {q.singular}",
    )  # fmt: skip
    return Sentence(text, mean.both(*every))


RULES = (
    (5.0, list_of_things), (3.0, one_without_other), (3.0, one_or_other), (2.5, neither_nor), (1.5, only_these), (2.5, on_condition), (1.0, condition_on_boxes),
    (3.0, here_and_there), (3.0, two_boxes_alike), (3.0, and_they_are), (1.5, the_rest), (1.5, each_its_own),
)  # fmt: skip
