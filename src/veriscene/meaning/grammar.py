"""Random statements in English with their meanings: `draw` gives one.

Words and meanings are paired in `english`; here a level says which sentences are in use, and how often.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from veriscene.errors import InputError
from veriscene.meaning.english import sentences
from veriscene.meaning.english.phrases import Phrase
from veriscene.meaning.english.wording import Voice, Weighted, sentence
from veriscene.meaning.notation import parse
from veriscene.meaning.program import Program
from veriscene.meaning.scene_drawing import SceneKind

Pattern = Callable[[Voice], Phrase]


@dataclass(frozen=True)
class Statement:
    text: str
    kind: SceneKind
    program: Program


def draw(rng: random.Random, level: str = "full", kind: SceneKind | None = None) -> Statement:
    """A random statement about scenes of that kind (of any that the level has, without one), with its meaning."""
    if level not in LEVELS:
        raise InputError(f"unknown level {level!r} of the grammar; choose from {', '.join(LEVELS)}")
    patterns = LEVELS[level]
    chosen: SceneKind = rng.choice(tuple(patterns)) if kind is None else kind
    if chosen not in patterns:
        raise InputError(f"level {level!r} has no statements about {chosen} scenes; choose from {', '.join(patterns)}")
    voice = _voice(rng, chosen, simple=level == "simple")
    phrase = voice.weighted(patterns[chosen])(voice)
    text = sentence(phrase.words, capital=voice.chance(0.75), full_stop=voice.chance(0.55))
    return Statement(text=text, kind=chosen, program=parse(phrase.meaning))


# ---------------------------------------------------------------- voices

NOUNS: Mapping[SceneKind, Weighted[tuple[str, str, str]]] = {
    "tower": ((80, ("tower", "towers", "block")), (12, ("box", "boxes", "item")), (8, ("tower", "towers", "object"))),
    "scatter": (
        (70, ("box", "boxes", "item")),
        (8, ("box", "boxes", "object")),
        (14, ("grey box", "grey boxes", "object")),
        (8, ("grey square", "grey squares", "object")),
    ),
}


def _voice(rng: random.Random, kind: SceneKind, simple: bool) -> Voice:
    nouns = NOUNS[kind]
    box, boxes, item = rng.choices(nouns, [weight for weight, _ in nouns])[0][1]
    color = "color" if rng.random() < 0.85 else "colour"
    return Voice(rng, kind, box=box, boxes=boxes, item=item, digits=rng.random() < 0.4, color=color, simple=simple)


# ---------------------------------------------------------------- levels

# What a small network learns in minutes: whether some, no or each tower has a colour somewhere, at its top or base.
SIMPLE_PATTERNS: Mapping[SceneKind, Weighted[Pattern]] = {
    "tower": ((2, sentences.there_are_items), (6, sentences.simple_box), (2, sentences.simple_each_box)),
}
FULL_PATTERNS: Mapping[SceneKind, Weighted[Pattern]] = {
    "tower": (
        (42, sentences.there_is_box),
        (12, sentences.there_are_tower_ends),
        (10, sentences.there_are_neighbours),
        (8, sentences.boxes_have),
        (5, sentences.there_are_items),
        (5, sentences.the_tower_has),
        (4, sentences.there_is_colored_tower),
        (3, sentences.the_tower_end_is),
        (3, sentences.equal_ends),
        (3, sentences.comparison),
        (2, sentences.in_each_box),
        (2, sentences.items_sentence),
        (2, sentences.equal_numbers),
        (2, sentences.two_facts),
    ),
    "scatter": (
        (40, sentences.there_is_box),
        (26, sentences.there_are_items_at_border),
        (8, sentences.boxes_have),
        (7, sentences.items_sentence),
        (6, sentences.there_are_items),
        (4, sentences.there_are_neighbours),
        (3, sentences.comparison),
        (3, sentences.two_facts),
        (2, sentences.in_each_box),
        (1, sentences.equal_numbers),
    ),
}
LEVELS: Mapping[str, Mapping[SceneKind, Weighted[Pattern]]] = {"simple": SIMPLE_PATTERNS, "full": FULL_PATTERNS}
