"""Sentences about items: "all the blue circles are touching the wall", "exactly two blocks are yellow" …"""

from __future__ import annotations

from dataclasses import replace

from veriscene.meaning.english.attributes import at_border, at_end, at_tower_end, neighboured, not_at_border
from veriscene.meaning.english.nouns import COLORS, SHAPES, anything, some_color, some_shape, some_things
from veriscene.meaning.english.phrases import Attribute, Phrase, Things
from veriscene.meaning.english.quantifiers import ALL_ITEMS, COUNTS, quantified
from veriscene.meaning.english.wording import Voice, agree


def items_are(voice: Voice, where: str) -> Phrase:
    """Such a sentence about all the items, or about those of the box `b`."""
    form = voice.weighted(((4, _all_are), (2, _every_is), (4, _none_are), (6, _so_many_are)))
    things, attribute = _subject_and_predicate(voice, whole_scene=where == ALL_ITEMS)
    return form(voice, things, attribute, where)


def _subject_and_predicate(voice: Voice, whole_scene: bool) -> tuple[Things, Attribute]:
    if voice.kind == "tower":
        end = at_tower_end if whole_scene else at_end
        return some_color(voice), voice.weighted(((3, end), (1, neighboured)))(voice)
    if voice.chance(0.75):
        return voice.weighted(((5, some_things), (1, anything)))(voice), at_border(voice, of_a_box=whole_scene)
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
        # Only here: "all … are not …" can be read in two ways.
        attribute = not_at_border(voice, of_a_box=where == ALL_ITEMS)
    predicate = replace(attribute, words=f"{{is}} {attribute.words}")
    return quantified(voice, things.that(predicate), where, COUNTS)
