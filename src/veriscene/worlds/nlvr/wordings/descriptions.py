"""Boxes described by their contents ("tower where the base is black"), and clauses about items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from veriscene.worlds.nlvr.scene_drawing import SceneKind
from veriscene.worlds.nlvr.wordings import nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.box_contents import SCATTER_CONTENTS, holds_number
from veriscene.worlds.nlvr.wordings.tower_contents import TOWER_CLAUSES, TOWER_CONTENTS
from veriscene.worlds.nlvr.wordings.wording import Phrase, Things, Voice, Weighted, agree, both

LINKS: Mapping[SceneKind, Weighted[str]] = {
    "tower": ((60, "with"), (10, "that {has}"), (10, "which {has}"), (6, "having")),
    "scatter": (
        (60, "with"),
        (8, "that {has}"),
        (8, "which {has}"),
        (3, "having"),
        (4, "containing"),
        (4, "that {contains}"),
        (4, "which {contains}"),
    ),
}


def any_box(voice: Voice) -> Things:
    """Boxes or towers; only "tower" restricts the meaning."""
    is_tower = "b.is_tower()" if voice.box == "tower" else ""
    return Things(voice.box, voice.boxes, is_tower, variable="b")


def content(voice: Voice) -> Phrase:
    return voice.weighted(*(TOWER_CONTENTS if voice.kind == "tower" else SCATTER_CONTENTS))(voice)


def box_with(voice: Voice, held: Phrase) -> Things:
    link = voice.weighted(*LINKS[voice.kind])
    return any_box(voice).that(Phrase(f"{link} {held.words}", held.meaning, 0.45))


def box_where(voice: Voice) -> Things:
    """As in "box where all the items are blue", "tower where the base is yellow"."""
    if voice.box == "tower" and voice.chance(0.8):
        clause = voice.weighted(*TOWER_CLAUSES)(voice)
    else:
        clause = items_are(voice, q.ITEMS_OF_BOX)
    where = voice.one_of("where", "where", "in which")
    return any_box(voice).that(Phrase(f"{where} {clause.words}", clause.meaning, 0.45))


def box_without(voice: Voice) -> Things:
    things = nouns.some_things(voice)
    held = f"not exist({things.among(q.ITEMS_OF_BOX)})"
    return any_box(voice).that(Phrase(f"without a {things.singular}", held, 0.4))


def tower_of_color(voice: Voice) -> Things:
    """As in "yellow tower with two blocks"."""
    color = voice.one_of(*nouns.COLORS)
    all_of_it = f"All({q.ITEMS_OF_BOX}, lambda x: {nouns.COLORS[color]})"
    tower = Things(f"{color} tower", f"{color} towers", both("b.is_tower()", all_of_it), 0.15, variable="b")
    if voice.chance(0.4):
        return tower
    held = holds_number(voice)
    return tower.that(Phrase(f"with {held.words}", held.meaning, 0.4))


def items_are(voice: Voice, where: str = q.ALL_ITEMS, none_of_none: bool = False) -> Phrase:
    """As in "all the blue circles are touching the wall", about all items or those of the box `b`.

    "All" of none is false, as NLVR's writers and the public programs mean it. "None of the circles", where there are
    no circles, is as true as `none_of_none`.
    """
    form = voice.weighted((4, "all"), (2, "every"), (4, "none"), (6, "count"))
    things, attribute = _subject_and_predicate(voice, whole_scene=where == q.ALL_ITEMS)
    if form == "count":
        if voice.kind == "scatter" and voice.chance(0.25):
            # Only here, because "all … are not …" is ambiguous.
            attribute = nouns.not_at_border(voice, of_a_box=where == q.ALL_ITEMS)
        predicate = replace(attribute, words=f"{{is}} {attribute.words}")
        return q.quantified(voice, things.that(predicate), where, q.COUNTS)
    test = f"not ({attribute.meaning})" if form == "none" else attribute.meaning
    if form == "every":
        subject = f"{voice.one_of('every', 'each')} {things.singular} is"
    else:
        the = "none of the" if form == "none" else voice.one_of("all the", "all", "all of the")
        subject = f"{the} {things.plural} are"
    words = f"{subject} {agree(attribute.words, plural=form != 'every')}"
    if form == "none" and none_of_none:
        return Phrase(words, f"not exist({things.that(attribute).among(where)})")
    return Phrase(words, f"All({things.among(where)}, lambda x: {test})")


def _subject_and_predicate(voice: Voice, whole_scene: bool) -> tuple[Things, Phrase]:
    if voice.kind == "tower":
        end = nouns.at_tower_end if whole_scene else nouns.at_end
        return nouns.some_color(voice), voice.weighted((3, end), (1, nouns.neighboured))(voice)
    if voice.chance(0.75):
        things = voice.weighted((5, nouns.some_things), (1, nouns.anything))(voice)
        return things, nouns.at_border(voice, of_a_box=whole_scene)
    if voice.chance(0.5):
        color = voice.one_of(*nouns.COLORS)
        things = voice.weighted((3, nouns.some_shape), (1, nouns.anything))(voice)
        return things, Phrase(color, nouns.COLORS[color])
    shape = voice.one_of(*nouns.SHAPES)
    things = voice.weighted((3, nouns.some_color), (1, nouns.anything))(voice)
    return things, Phrase(f"{{{shape}}}", nouns.SHAPES[shape])
