"""Random English statements about NLVR's scenes, with their programs.

The level "full" is the dialect of NLVR's writers, with their habits (habits.txt); "simple" has few kinds of sentences,
about towers, which a small network learns in minutes.

dialect.txt has the rules of the dialect. A rule is a name and rows, `WEIGHT WORDS / WORDS => MEANING`; the weight is 1
if it is left out, and ` ; ` separates rows of one line. `= 3 this, 1 that` stands for rows that consist of one rule
each. A rule or a row that begins with `@tower`, `@stack` (towers that are called boxes), `@blocks` (either), `@scatter`
or `@grey` is for such statements only; of several rules of one name, the first that fits is used.

Words have the alternatives `(a|b)` and `[a|b]` of `english.pattern`, and *parts*:

    <things>     a phrase of this rule; the same one wherever the row says <things>
    <things2>    another one, of which neither implies the other; <things'> is drawn independently
    <few:things> things with a quantity; <few:things@all> of the whole scene, @boxes of boxes, @same of the box of x
    <2> <n123>   a number, one of several numbers
    <things.2>   in the plural; .1 in the singular; .n123 as the number n123 demands

Words that end in # agree in number with the phrase that they belong to, and `is~` with the first number of its row.
A meaning is program text about the item x, the box b or the scene, in which <things> is the meaning of that part;
without one, it is that all parts hold. [C] are the items of the box b of which C is true, [C in S] those of a set, and
{C} are the boxes. `any` is true of everything. `NAME := TEXT` abbreviates a part of meanings.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from veriscene import worlds
from veriscene.config import LEVELS
from veriscene.english.pattern import expand, with_articles
from veriscene.errors import InputError
from veriscene.language.program import Statement
from veriscene.worlds.nlvr.looks import SCENE_KINDS, WORLD, Color, SceneKind

MIXED = 0.08  # The share of statements that mix digits and number words.
# Writers of one kind of statement keep to the same nouns: weight, box, item.
NOUNS: Mapping[SceneKind, Sequence[tuple[int, str, str]]] = {
    "tower": (
        *((72, "tower", "block"), (17, "box", "item"), (5, "tower", "object"), (2, "box", "square")),
        *((2, "box", "block"), (1, "tower", "item"), (1, "tower", "square")),
    ),
    "scatter": (
        *((70, "box", "item"), (9, "box", "object"), (2, "box", "shape")),
        *((12, "grey box", "object"), (8, "grey square", "object")),
    ),
}
SIMPLE_NOUNS = NOUNS["tower"][:3]
LOST_CAPITAL = ("ll ", "t least ")
DOUBLE_BLANK = 0.02


def draw(rng: random.Random, level: str = "full") -> Statement:
    """Draws a random statement with its program; raises InputError for an unknown level."""
    if level not in LEVELS:
        raise InputError(f"unknown level {level!r}", allowed=f"choose from {', '.join(LEVELS)}")
    simple = level == "simple"
    kind: SceneKind = "tower" if simple else rng.choice(SCENE_KINDS)
    nouns = SIMPLE_NOUNS if simple else NOUNS[kind]
    ((_, box, item),) = rng.choices(nouns, [weight for weight, *_ in nouns])
    color = "color" if rng.random() < 0.85 else "colour"
    mixed, digits = rng.random() < MIXED and not simple, rng.random() < 0.36
    if simple:
        phrase = _Simple(rng, box, item, digits).sentence()
        words = phrase.words
    else:
        phrase = Voice(rng, kind, box, item, digits, color, mixed).sentence()
        words = with_articles(rewrite(rng, phrase.words))
    if rng.random() < 0.75 and not words.startswith(LOST_CAPITAL):
        words = words[0].upper() + words[1:]
    text = words + "." if rng.random() < 0.55 else words
    return Statement(text=text, kind=kind, program=worlds.parse(phrase.meaning, WORLD))


@cache
def habits() -> list[tuple[float, re.Pattern[str], str]]:
    """Returns the share, the wording and what is written instead, of each habit."""
    found = []
    for line in lines_of("habits.txt"):
        share, _, rest = line.partition(" ")
        pattern, _, written = rest.partition(" =>")
        found.append((float(share), re.compile(pattern), written.strip()))
    return found


def rewrite(rng: random.Random, words: str) -> str:
    """Returns the words as somebody in a hurry writes them; the meaning stays."""
    for share, pattern, written in habits():
        if rng.random() < share:
            words = pattern.sub(written, words, count=1)
    if rng.random() < DOUBLE_BLANK:
        blank = rng.choice([found.start() for found in re.finditer(" ", words)])
        words = f"{words[:blank]} {words[blank:]}"
    return words


WITH = {"with": 84, "that has#": 8, "which has#": 12, "having": 7, "that contains#": 2, "containing": 1}
ENDS = {"is_top(x)": ("top",), "is_bottom(x)": ("base", "base", "bottom")}
QUANTITIES = {"a": 4, "at least": 3, "no": 2}


class _Simple:
    """Whether some, no or every tower has a colour at its top, base or anywhere.

    The order in which random numbers are drawn is fixed: the corpus of the main job follows from it.
    """

    def __init__(self, rng: random.Random, box: str, item: str, digits: bool) -> None:
        self.rng, self.box, self.item, self.digits = rng, box, item, digits

    def sentence(self) -> Phrase:
        which = self._weighted({"items": 2, "boxes": 6, "every": 2})
        if which == "items":
            phrase = self._there_is(*self._colored(), "[{} in all_items]")
        else:
            content = self._content()
            boxes = f"{'b.is_tower()' if self.box == 'tower' else 'any'} and {content.meaning}"
            if which == "boxes":
                phrase = self._there_is(f"{self.box}# {self._weighted(WITH)} {content.words}", boxes, "{{{}}}")
            else:
                self.rng.random()
                subject = self._weighted({"each": 10, "every": 6, "all the": 6})
                words = agree(f"{self.box}# has# {content.words}", plural=subject == "all the")
                phrase = Phrase(f"{subject} {words}", f"count({{{boxes}}}) == 3")
        return Phrase(with_articles(phrase.words), program(phrase.meaning))

    def _there_is(self, noun: str, meaning: str, where: str) -> Phrase:
        phrase = self._quantified(noun, meaning, where, QUANTITIES)
        return Phrase(f"there {'are' if phrase.plural else 'is'} {phrase.words}", phrase.meaning)

    def _content(self) -> Phrase:
        """What a tower has: a block at an end, or somewhere."""
        if self.rng.random() >= 0.6:
            return self._quantified(*self._colored(), "[{}]", {"a": 3, "at least": 1})
        end = self._one_of("is_top(x)", "is_bottom(x)")
        block, color = self._colored()
        preposition = self._weighted({"at the": 12, "as the": 2, "at its#": 1})
        words = f"a {block.removesuffix('#')} {preposition} {self._one_of(*ENDS[end])}"
        return Phrase(words, f"exist([{color} and {end}])")

    def _colored(self) -> tuple[str, str]:
        color = self._one_of(*Color)
        return f"{color} {self.item}#", f"is_{color}(x)"

    def _quantified(self, noun: str, meaning: str, where: str, quantities: Mapping[str, int]) -> Phrase:
        quantity, number = self._weighted(quantities), self.rng.randint(1, 2)
        plural, found = quantity == "at least" and number == 2, where.format(meaning)
        if quantity == "at least":
            words = f"at least {number if self.digits else NUMBER_WORDS[number]}"
            return Phrase(f"{words} {agree(noun, plural)}", f"count({found}) >= {number}", plural)
        return Phrase(f"{quantity} {agree(noun, False)}", f"{'not ' if quantity == 'no' else ''}exist({found})", plural)

    def _one_of(self, *options: str) -> str:
        return options[int(self.rng.random() * len(options))]

    def _weighted(self, options: Mapping[str, int]) -> str:
        return self.rng.choices(list(options), list(options.values()))[0]


# ---------------------------------------------------------------- the dialect

NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LARGEST_NUMBER = len(NUMBER_WORDS) - 1
# Typical numbers of things. Numbers are drawn around them, so that statements are neither always true nor always false.
USUAL: Mapping[SceneKind, Mapping[str, float]] = {
    "tower": {"all": 7.5, "": 2.5, "same": 2.5},
    "scatter": {"all": 11.5, "": 3.8, "same": 3.8},
}
USUAL_SHARE = 0.36  # of things that meet a condition
MORE = 83, 14, 2, 1  # How often a number is larger by 0, 1, …
SETS = {"": "[{}]", "all": "[{} in all_items]", "same": "[{} in x.box.all_items_in_box()]", "boxes": "{{{}}}"}
PLURAL = {"is": "are", "has": "have", "contains": "contain", "it": "them", "its": "their", "box": "boxes", "a": ""}
PLURAL |= {"does": "do", "starts": "start", "ends": "end"}

GIVEN = ("noun", "set", "n", "k", "l", "m")  # parts that the rules of quantities use

_PART = re.compile(r"<([^<>.]+)(?:\.([^<>]+))?>")
_AGREEING = re.compile(r"(\w+)#( ?)")
_ROW = re.compile(r"(?:(?P<weight>\d+) )?(?:@(?P<label>\w+) )?(?P<text>.+)")
_ANY = re.compile(r"\bany and | and any\b")
# An innermost set; p[0] is the first of a pair.
_INNERMOST = r"((?:[^\[\]{}]|(?<=\bp)\[\d\])*)"
_SET = re.compile(rf"(?<!\bp)\[{_INNERMOST}\]|\{{{_INNERMOST}\}}")


@dataclass(frozen=True)
class Row:
    """Holds a row of a rule."""

    weight: int
    wordings: tuple[str, ...]
    meaning: str | None  # None: all parts hold
    label: str


@dataclass(frozen=True)
class Phrase:
    """Words with their meaning; `plural` is the number of the first noun whose number is known."""

    words: str
    meaning: str = "any"
    plural: bool | None = None

    def agreeing(self, plural: bool) -> Phrase:
        """Returns the phrase in the singular or plural."""
        return replace(self, words=agree(self.words, plural), plural=plural)


def agree(words: str, plural: bool) -> str:
    """Returns words in which those with a # have their number."""

    def inflected(match: re.Match[str]) -> str:
        word, blank = match[1], match[2]
        word = PLURAL.get(word, f"{word}s") if plural else word
        return f"{word}{blank}" if word else ""

    return _AGREEING.sub(inflected, words)


@dataclass(frozen=True)
class Voice:
    """Makes the word choices of one statement. Digits and number words are not mixed, unless by a `mixed` voice."""

    rng: random.Random
    kind: SceneKind
    box: str
    item: str
    digits: bool = True
    color: str = "color"
    mixed: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Returns the marks of rules that fit: "" fits always."""
        if self.kind == "scatter":
            return ("", "scatter", "grey") if self.box.startswith("grey") else ("", "scatter")
        return "", "blocks", "tower" if self.box == "tower" else "stack"

    def sentence(self) -> Phrase:
        """Draws a random statement, with its program."""
        phrase = self.draw("sentence", {})
        return Phrase(with_articles(agree(phrase.words, plural=False)), program(phrase.meaning))

    def draw(self, name: str, known: dict[str, Phrase]) -> Phrase:
        """Draws a random phrase of a rule; `known` are parts that its rows may use."""
        rows = rules_of(name, self.labels)
        (row,) = self.rng.choices(rows, [row.weight for row in rows])
        parts, used, number = dict(known), list[Phrase](), list[bool]()

        def said(match: re.Match[str]) -> str:
            part = self._part(match[1], parts)
            if match[2]:
                part = part.agreeing(self._is_plural(match[2], parts))
            if part.plural is not None:
                number.append(part.plural)
            used.append(part)
            return part.words

        words = _PART.sub(said, expand(self.rng, self.rng.choice(row.wordings)))
        if row.meaning is None:
            meaning = " and ".join(part.meaning for part in used if part.meaning != "any") or "any"
        else:
            meaning = _PART.sub(lambda match: parts[match[1]].meaning, row.meaning)
        plural = number[0] if number else None
        return Phrase(words.replace("is~", "are" if plural else "is"), meaning, plural)

    def number(self, value: int) -> Phrase:
        """Writes a number in digits or words."""
        digits = self.digits if not self.mixed else self.rng.random() < 0.5
        return Phrase(str(value) if digits else NUMBER_WORDS[value], str(value))

    def _part(self, key: str, parts: dict[str, Phrase]) -> Phrase:
        """The part that a row calls so, drawn at its first use."""
        if key not in parts:
            parts[key] = self._new_part(key, parts)
        return parts[key]

    def _new_part(self, key: str, parts: dict[str, Phrase]) -> Phrase:
        if (digits := key.strip("n'")).isdigit():
            return self.number(int(self.rng.choice(digits)))
        if key in ("item", "colour", "box"):
            word = {"item": self.item, "colour": self.color, "box": self.box}[key]
            return Phrase(f"{word}#", "b.is_tower()" if word == "tower" else "any")
        quantity, colon, counted = key.partition(":")
        if colon:
            counted, _, where = counted.partition("@")
            return self._quantified(quantity, self._part(counted, parts), where)
        name = key.rstrip("'23456789")
        given = {each: parts[each] for each in GIVEN if each in parts}
        part = self.draw(name, given)
        others = [other for known, other in parts.items() if known.rstrip("23456789") == name]
        while key[-1].isdigit() and any(_is_implied(part, other) for other in others):
            part = self.draw(name, given)
        return part

    def _is_plural(self, number: str, parts: dict[str, Phrase]) -> bool:
        return (number if number.isdigit() else self._part(number, parts).meaning) != "1"

    def _quantified(self, quantity: str, noun: Phrase, where: str) -> Phrase:
        """Things with a quantity. Its rules may use a number as n, one that is often 1 as k, one that is also often 1,
        but not where that says nothing, as l, and one of at least 2 as m."""
        n = self.rng.choices((1, 2, 3), (55, 30, 4))[0] if where == "boxes" else self._natural(noun, where)
        numbers = {"n": n, "k": n if where == "boxes" else self.rng.choice((1, n)), "m": max(2, n)}
        numbers["l"] = numbers["m" if noun.meaning == "any" else "k"]  # no box is empty
        known = {name: self.number(value) for name, value in numbers.items()}
        return self.draw(quantity, {**known, "noun": noun, "set": Phrase("", SETS[where].format(noun.meaning))})

    def _natural(self, noun: Phrase, where: str) -> int:
        conditions = 0 if noun.meaning == "any" else 1 + noun.meaning.count(" and ")
        usual = USUAL[self.kind][where] * USUAL_SHARE**conditions
        lowest = min(max(1, math.floor(usual * 0.6)), LARGEST_NUMBER)
        number = self.rng.randint(lowest, min(max(lowest, math.ceil(usual * 1.4)), LARGEST_NUMBER))
        more = self.rng.choices((0, 1, 2, 3), MORE)[0]
        return min(number + more, LARGEST_NUMBER)


def _is_implied(part: Phrase, other: Phrase) -> bool:
    """Whether one of two phrases says all that the other says, as "blue circle" and "circle"."""
    one, two = (set(each.meaning.split(" and ")) for each in (part, other))
    return one <= two or two <= one


def program(meaning: str) -> str:
    """Returns the program text of a meaning: without `any`, and with sets written out."""

    def filtered(match: re.Match[str]) -> str:
        if match[2] is not None:
            return "all_boxes" if match[2] == "any" else f"filter_obj(all_boxes, lambda b: {match[2]})"
        condition, _, members = match[1].partition(" in ")
        members = members or "b.all_items_in_box()"
        return members if condition == "any" else f"filter_obj({members}, lambda x: {condition})"

    meaning, count = _ANY.sub("", meaning), 1
    while count:
        meaning, count = _SET.subn(filtered, meaning)
    return meaning


# ---------------------------------------------------------------- rules


@cache
def rules_of(name: str, labels: tuple[str, ...]) -> list[Row]:
    """Returns the rows of a rule that fit a voice."""
    for label, rows in _rules()[name]:
        if label in labels:
            return [row for row in rows if row.label in labels]
    raise KeyError(f"no rule {name} for {labels}")


@cache
def _rules() -> dict[str, list[tuple[str, list[Row]]]]:
    """The rules of dialect.txt by name, each with its label."""
    rules: dict[str, list[tuple[str, list[Row]]]] = {}
    for line in lines_of("dialect.txt"):
        if not line.startswith(" "):
            header, _, line = line.partition(":")
            name, _, label = header.partition(" @")
            rules.setdefault(name, []).append((label, []))
        rules[name][-1][1].extend(_rows(line.strip()))
    return rules


def lines_of(file: str) -> Iterator[str]:
    """Yields the lines of one of this package's files, with abbreviations written out."""
    text = (resources.files("veriscene.worlds.nlvr") / file).read_text(encoding="utf-8")
    short: dict[str, str] = {}
    for line in re.sub(r"\n {6,}", " ", text).splitlines():  # lines that continue
        line = re.sub(r"\b[A-Z_]{4,}\b", lambda match: short.get(match[0], match[0]), line)
        name, is_short, meaning = line.partition(" := ")
        if is_short:
            short[name] = meaning
        elif line and not line.startswith("--"):
            yield line


def _rows(line: str) -> Iterator[Row]:
    if line.startswith("="):
        for weight, name in (each.split() for each in line[1:].split(",")):
            yield Row(int(weight), (f"<{name}>",), None, "")
        return
    for row in filter(None, line.split(" ; ")):
        match = _ROW.fullmatch(row)
        assert match is not None
        words, _, meaning = match["text"].partition(" => ")
        wordings = tuple(each.strip() for each in words.split(" / "))
        yield Row(int(match["weight"] or 1), wordings, meaning or None, match["label"] or "")
