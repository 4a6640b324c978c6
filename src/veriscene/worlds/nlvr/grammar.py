"""Random English statements about NLVR's scenes, with their programs.

`wordings` pairs words and meanings. The level "full" has the kinds of sentences of NLVR and the habits of its writers;
"simple" has few kinds, about towers, which a small network learns in minutes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from veriscene.config import LEVELS
from veriscene.errors import InputError
from veriscene.language.notation import Statement, parse
from veriscene.worlds.nlvr.kinds import SCENE_KINDS, SceneKind
from veriscene.worlds.nlvr.wordings import habits
from veriscene.worlds.nlvr.wordings.sentences import some_sentence
from veriscene.worlds.nlvr.wordings.wording import Voice, Weighted, sentence

MIXED = 0.08  # The share of statements that mix digits and number words.
# Writers of one kind of statement keep to the same nouns: box, boxes, item.
NOUNS: Mapping[SceneKind, Weighted[tuple[str, str, str]]] = {
    "tower": (
        *((72, ("tower", "towers", "block")), (17, ("box", "boxes", "item")), (5, ("tower", "towers", "object"))),
        *((2, ("box", "boxes", "square")), (2, ("box", "boxes", "block")), (1, ("tower", "towers", "item"))),
        (1, ("tower", "towers", "square")),
    ),
    "scatter": (
        *((70, ("box", "boxes", "item")), (9, ("box", "boxes", "object")), (2, ("box", "boxes", "shape"))),
        *((12, ("grey box", "grey boxes", "object")), (8, ("grey square", "grey squares", "object"))),
    ),
}
SIMPLE_NOUNS = NOUNS["tower"][:3]


def draw(rng: random.Random, level: str = "full") -> Statement:
    """Draws a random statement with its program; raises InputError for an unknown level."""
    if level not in LEVELS:
        raise InputError(f"unknown level {level!r}", allowed=f"choose from {', '.join(LEVELS)}")
    simple = level == "simple"
    kind: SceneKind = "tower" if simple else rng.choice(SCENE_KINDS)
    nouns = SIMPLE_NOUNS if simple else NOUNS[kind]
    box, boxes, item = rng.choices(nouns, [weight for weight, _ in nouns])[0][1]
    color = "color" if rng.random() < 0.85 else "colour"
    mixed, digits = rng.random() < MIXED and not simple, rng.random() < 0.36
    voice = Voice(rng, kind, box, boxes, item, digits=digits, color=color, simple=simple, mixed=mixed)
    phrase = some_sentence(voice)
    words = phrase.words if simple else habits.rewrite(voice, phrase.words)
    capital = voice.chance(0.75) and not words.startswith(habits.LOST_CAPITAL)
    text = sentence(words, capital, full_stop=voice.chance(0.55))
    return Statement(text=text, kind=kind, program=parse(phrase.meaning))
