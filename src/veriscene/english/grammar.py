"""Random English statements about any world, with their programs."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache

from veriscene.english import boxes, compare, contents, definite, discourse, forms, logic, places, towers, values
from veriscene.english.meaning import Unfit
from veriscene.english.speaker import Sentence, Speaker
from veriscene.english.words import lexicon_of
from veriscene.language.language import Language
from veriscene.language.program import Statement

VERSION = 10  # of the grammar; results say which one they were made with

Rule = Callable[[Speaker], Sentence | None]


@lru_cache(maxsize=8)
def rules(is_tower: bool) -> tuple[tuple[float, ...], tuple[Rule, ...]]:
    """Returns the weights of the rules about scenes of a kind, and the rules."""
    modules = (contents, boxes, discourse, places, compare, definite, values, *((towers,) if is_tower else ()))
    found = [rule for module in modules for rule in module.RULES]
    return tuple(weight for weight, _ in found), tuple(rule for _, rule in found)


def draw(rng: random.Random, language: Language) -> Statement:
    """Draws a random statement with its program."""
    return draw_alike(rng, language, 1)[0]


def draw_alike(rng: random.Random, language: Language, count: int) -> list[Statement]:
    """Draws several wordings of one statement, with one program. Parsing a program takes longer than wording it."""
    while True:
        has_towers = language.world.towers is not None
        say = Speaker(rng, lexicon_of(language), "tower" if has_towers and rng.random() < 0.4 else None)
        try:
            sentence = logic.combined(say, simple_sentence)
        except Unfit:
            continue
        if sentence is not None:
            program = language.parse(sentence.meaning)
            return [Statement(forms.spoken(say, sentence), say.scene_kind, program) for _ in range(count)]


def simple_sentence(say: Speaker) -> Sentence | None:
    """Draws a sentence of one clause; None where a rule does not fit the world."""
    weights, options = rules(say.is_tower)
    return say.rng.choices(options, weights)[0](say)
