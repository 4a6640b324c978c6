"""Sentences about items: "all the blue circles are touching the wall", "exactly two blocks are yellow" …"""

from __future__ import annotations

from dataclasses import replace

from veriscene.meaning.english.phrases import (
    COLORS,
    SHAPES,
    Attribute,
    Phrase,
    Things,
    anything,
    at_border,
    at_tower_end,
    neighboured,
    some_color,
    some_shape,
    some_things,
)
from veriscene.meaning.english.quantifiers import COUNTS, quantified
from veriscene.meaning.english.wording import Voice, agree


def items_are(voice: Voice, where: str) -> Phrase:
    things, attribute = _subject_and_predicate(voice)
    return voice.weighted(((4, _all_are), (2, _every_is), (4, _none_are), (6, _so_many_are)))(
        voice, things, attribute, where
    )


def _subject_and_predicate(voice: Voice) -> tuple[Things, Attribute]:
    if voice.kind == "tower":
        return some_color(voice), voice.weighted(((3, at_tower_end), (1, neighboured)))(voice)
    if voice.chance(0.75):
        return voice.weighted(((5, some_things), (1, anything)))(voice), at_border(voice)
    if voice.chance(0.5):
        color = voice.one_of(tuple(COLORS))
        return voice.weighted(((3, some_shape), (1, anything)))(voice), Attribute(color, COLORS[color])
    shape = voice.one_of(tuple(SHAPES))
    return voice.weighted(((3, some_color), (1, anything)))(voice), Attribute(f"{{{shape}}}", SHAPES[shape])


def _all_are(voice: Voice, things: Things, attribute: Attribute, where: str) -> Phrase:
    """False where there are none: so NLVR's writers mean it, and those who wrote its programs."""
    the = voice.one_of(("all the", "all", "all of the"))
    words = f"{the} {things.plural} are {agree(attribute.words, plural=True)}"
    return Phrase(words, f"All({things.among(where)}, lambda x: {attribute.meaning})")


def _every_is(voice: Voice, things: Things, attribute: Attribute, where: str) -> Phrase:
    words = f"{voice.one_of(('every', 'each'))} {things.singular} is {agree(attribute.words, plural=False)}"
    return Phrase(words, f"All({things.among(where)}, lambda x: {attribute.meaning})")


def _none_are(voice: Voice, things: Things, attribute: Attribute, where: str) -> Phrase:
    words = f"none of the {things.plural} are {agree(attribute.words, plural=True)}"
    return Phrase(words, f"All({things.among(where)}, lambda x: not ({attribute.meaning}))")


def _so_many_are(voice: Voice, things: Things, attribute: Attribute, where: str) -> Phrase:
    if voice.kind == "scatter" and voice.chance(0.25):
        attribute = attribute.negated()  # Only here: "all … are not …" can be read in two ways.
    predicate = replace(attribute, words=f"{{is}} {attribute.words}")
    return quantified(voice, things.that(predicate), where, COUNTS)
