"""Statements that say the same of other colours, shapes, sizes and numbers, with the programs that mean the same.

Both are changed as text, word by word. A change is made only where the words of the statement account for everything in
the program that it touches: a misspelt "blck" would stay as it is while the program changed. And a program that ignores
a colour, shape or size of its statement is better not multiplied.

Programs are not understood: numbers must occur equally often in both, and not in "all three", which says how many there
are.
"""

from __future__ import annotations

import difflib
import random
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache

from veriscene.language.program import Program
from veriscene.worlds.nlvr.wordings import nouns
from veriscene.worlds.nlvr.wordings.wording import NUMBER_WORDS

COLORS, SHAPES, SIZES = (tuple(values) for values in (nouns.COLORS, nouns.SHAPES, nouns.SIZES))
SYNONYMS = {"large": "big"} | {f"{shape}s": shape for shape in SHAPES}
GREY = {"grey", "gray"}  # a grey square is a box
LEAST, MOST = 2, 6  # numbers that are exchanged: "one" often means "a", and more than six things are rare
COMPARISONS = {"exactly": "==", "at least": ">=", "at most": "<=", "more than": ">", "less than": "<"}

LIKE_LOOKS = {"block", "blocks", "bellow"}  # words of their own, though one or two letters from a colour

_MISSPELT = re.compile(rf"\b(?:(?:{'|'.join(COLORS)}) black|block blocks?)\b")
_HOW_MANY_THERE_ARE = re.compile(
    r"\b(?:both|(?:all|ll|of)(?: the)? (?:three|3)|the (?:three|3) (?:towers|boxes|colou?rs))\b"
)
_WORD = re.compile(r"[A-Za-z]+|\d+")
_NAME = re.compile(r"\b(is_)([a-z]+)\b|\b((?:Color|Shape|Size)\.)([A-Z]+)\b")
_NUMBER = re.compile(r"\b\d+\b")
_COUNTED = re.compile(rf"\b({'|'.join(COMPARISONS)}) (\d|{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_CALCULATES = re.compile(r"combinations|select|[%+\[]")  # where a number may not be one that the statement names


def vary(rng: random.Random, text: str, program: Program) -> tuple[str, str]:
    """A variant of a statement and of its program, as texts; the statement itself if nothing can be exchanged."""
    meaning = program.text
    if _is_misspelt(text) or _ignores_words(text, meaning):
        return text, meaning
    exchange = _exchange_names(rng, text, meaning)
    numbers = _exchange_numbers(rng, text, meaning)
    text = _WORD.sub(lambda word: _exchanged(rng, word[0], exchange, numbers), text)
    meaning = _NAME.sub(lambda name: _renamed(name, exchange), meaning)
    meaning = _NUMBER.sub(lambda number: str(numbers.get(int(number[0]), number[0])), meaning)
    return _exchange_comparison(rng, text, meaning)


def _is_misspelt(text: str) -> bool:
    return any(map(_may_mean_a_look, _words(text))) or bool(_MISSPELT.search(text.lower()))


@cache
def _may_mean_a_look(word: str) -> bool:
    """Whether it may be meant for a colour or shape that it is not. Sizes are too much like "are" and "all"."""
    looks = (*COLORS, *SHAPES, *(f"{shape}s" for shape in SHAPES))
    is_fine = word in looks or word in LIKE_LOOKS
    return not is_fine and bool(difflib.get_close_matches(word, looks, n=1, cutoff=0.75))


def _ignores_words(text: str, meaning: str) -> bool:
    said = _said(text)
    named = {*COLORS, *SHAPES, *SIZES} & said
    return bool(named - _meant(meaning) - ({"square"} if said & GREY else set()))


def _exchange_names(rng: random.Random, text: str, meaning: str) -> dict[str, str]:
    """Which colours, shapes and sizes become which others."""
    said, meant = _said(text), _meant(meaning)
    exchange: dict[str, str] = {}
    for values in (COLORS, SHAPES, SIZES):
        named, used = said & set(values), meant & set(values)
        # Statements such as "only yellow and black items" and "all three colours" need not name every colour.
        names_all = named == used or (values is COLORS and len(used) == len(COLORS))
        if names_all and not (values is SHAPES and said & GREY):
            exchange |= zip(values, rng.sample(values, len(values)), strict=True)
    return exchange


def _exchange_numbers(rng: random.Random, text: str, meaning: str) -> dict[int, int]:
    """Which numbers become which others; none if the statement and its program do not name the same ones."""
    said = Counter(number for word in _words(text) if (number := _value(word)) is not None and number >= LEAST)
    meant = Counter(int(number) for number in _NUMBER.findall(meaning) if int(number) >= LEAST)
    tells_all = _HOW_MANY_THERE_ARE.search(text.lower()) is not None
    if said != meant or tells_all or _CALCULATES.search(meaning) or max(said, default=0) > MOST:
        return {}
    return dict(zip(sorted(said), rng.sample(range(LEAST, MOST + 1), len(said)), strict=True))


def _exchange_comparison(rng: random.Random, text: str, meaning: str) -> tuple[str, str]:
    """Replaces "exactly two" by "at least two" and so on, if it is the only place with that number in both texts."""
    found = _COUNTED.search(text)
    if found is None or _HOW_MANY_THERE_ARE.search(text.lower()) or rng.random() < 0.5:
        return text, meaning
    number, old = _value(found[2].lower()), COMPARISONS[found[1].lower()]
    places = [place for place in _NUMBER.finditer(meaning) if int(place[0]) == number]
    if [_value(word) for word in _words(text)].count(number) != 1 or len(places) != 1:
        return text, meaning
    before = meaning[: places[0].start()]
    if not before.endswith(f" {old} "):
        return text, meaning
    phrase, new = rng.choice([*COMPARISONS.items()])
    text = text[: found.start()] + _like(found[1], phrase) + text[found.end(1) :]
    return text, f"{before.removesuffix(f'{old} ')}{new} {meaning[places[0].start() :]}"


def _exchanged(rng: random.Random, word: str, names: Mapping[str, str], numbers: Mapping[int, int]) -> str:
    lower = word.lower()
    number, name = _value(lower), SYNONYMS.get(lower, lower)
    if number is not None and number in numbers:
        new = numbers[number]
        return str(new) if word.isdigit() else _like(word, NUMBER_WORDS[new])
    if name not in names:
        return word
    new_name = names[name]
    if new_name == "big":
        new_name = rng.choice(["big", "large"])
    return _like(word, new_name + "s" * (name in SHAPES and lower.endswith("s")))


def _renamed(name: re.Match[str], exchange: Mapping[str, str]) -> str:
    before, value = (name[1], name[2]) if name[1] else (name[3], name[4])
    new = exchange.get(value.lower(), value)
    return before + (new.upper() if value.isupper() else new)


def _said(text: str) -> set[str]:
    return {SYNONYMS.get(word, word) for word in _words(text)}


def _meant(meaning: str) -> set[str]:
    """Colours, shapes and sizes, and other words that functions have in their names."""
    return {(name[2] or name[4]).lower() for name in _NAME.finditer(meaning)}


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _value(word: str) -> int | None:
    if word.isdigit():
        return int(word)
    return NUMBER_WORDS.index(word) if word in NUMBER_WORDS else None


def _like(old: str, new: str) -> str:
    """With a capital if the old word has one."""
    return new.capitalize() if old[0].isupper() else new
