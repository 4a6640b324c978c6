"""Random English statements with their programs.

`english` pairs words and meanings; a level defines which kinds of sentences occur, and how often.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from veriscene.errors import InputError
from veriscene.language.notation import Statement, parse
from veriscene.worlds.nlvr.scene_drawing import SceneKind
from veriscene.worlds.nlvr.wordings import sentences
from veriscene.worlds.nlvr.wordings.broad import habits
from veriscene.worlds.nlvr.wordings.broad import level as broad
from veriscene.worlds.nlvr.wordings.descriptions import box_with, items_are, tower_of_color
from veriscene.worlds.nlvr.wordings.nouns import some_things_alone
from veriscene.worlds.nlvr.wordings.sentences import there_are
from veriscene.worlds.nlvr.wordings.wording import Pattern, Voice, Weighted, sentence


def draw(rng: random.Random, level: str = "full") -> Statement:
    """A random statement with its program."""
    if level not in LEVELS:
        raise InputError(f"unknown level {level!r}", allowed=f"choose from {', '.join(LEVELS)}")
    kind: SceneKind = rng.choice(tuple(LEVELS[level]))
    voice = _draw_voice(rng, kind, level)
    phrase = voice.weighted(*LEVELS[level][kind])(voice)
    words = habits.rewrite(voice, phrase.words) if level == "broad" else phrase.words
    capital = voice.chance(0.75) and not words.startswith(habits.LOST_CAPITAL)
    text = sentence(words, capital, full_stop=voice.chance(0.55))
    return Statement(text=text, kind=kind, program=parse(phrase.meaning))


# What one statement calls a box, boxes and an item.
MIXED = 0.08  # The share of "broad" statements that mix digits and number words.
NOUNS: Mapping[SceneKind, Weighted[tuple[str, str, str]]] = {
    "tower": ((80, ("tower", "towers", "block")), (12, ("box", "boxes", "item")), (8, ("tower", "towers", "object"))),
    "scatter": (
        (70, ("box", "boxes", "item")),
        (8, ("box", "boxes", "object")),
        (14, ("grey box", "grey boxes", "object")),
        (8, ("grey square", "grey squares", "object")),
    ),
}


def _draw_voice(rng: random.Random, kind: SceneKind, level: str) -> Voice:
    nouns = broad.NOUNS[kind] if level == "broad" else NOUNS[kind]
    box, boxes, item = rng.choices(nouns, [weight for weight, _ in nouns])[0][1]
    color = "color" if rng.random() < 0.85 else "colour"
    voice = Voice(rng, kind, box, boxes, item, digits=rng.random() < 0.4, color=color, simple=level == "simple")
    if level != "broad":
        return voice
    return replace(voice, broad=True, mixed=rng.random() < MIXED, digits=rng.random() < 0.36)


LEVELS: Mapping[str, Mapping[SceneKind, Weighted[Pattern]]] = {
    # A small network learns it in minutes: whether some, no or every tower has a colour at its top, base or anywhere.
    "simple": {
        "tower": (
            (2, there_are(some_things_alone)),
            (6, there_are(lambda voice: box_with(voice, sentences.simple_content(voice)))),
            (2, sentences.simple_each_box),
        ),
    },
    "full": {
        "tower": (
            (42, there_are(sentences.described_box)),
            (12, there_are(sentences.tower_ends)),
            (10, there_are(sentences.neighbours)),
            (8, sentences.boxes_have),
            (5, there_are(some_things_alone)),
            (5, sentences.the_tower_has),
            (4, there_are(tower_of_color)),
            (3, sentences.the_tower_end_is),
            (3, sentences.equal_ends),
            (3, sentences.comparison),
            (2, sentences.in_each_box),
            (2, items_are),
            (2, sentences.equal_numbers),
            (2, sentences.two_facts),
        ),
        "scatter": (
            (40, there_are(sentences.described_box)),
            (26, there_are(sentences.items_at_border)),
            (8, sentences.boxes_have),
            (7, items_are),
            (6, there_are(some_things_alone)),
            (4, there_are(sentences.neighbours)),
            (3, sentences.comparison),
            (3, sentences.two_facts),
            (2, sentences.in_each_box),
            (1, sentences.equal_numbers),
        ),
    },
    # Beyond "full": more constructions, and the wording habits of people who write fast.
    "broad": broad.LEVEL,
}
