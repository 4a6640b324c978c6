"""Boxes and towers picked out by what is in them: "box with two blue items", "tower where the base is black" …"""

from __future__ import annotations

from collections.abc import Mapping

from veriscene.meaning.english.about_boxes import SCATTER_CONTENTS, holds_number
from veriscene.meaning.english.about_items import items_are
from veriscene.meaning.english.about_towers import TOWER_CLAUSES, TOWER_CONTENTS
from veriscene.meaning.english.nouns import COLORS, some_things
from veriscene.meaning.english.phrases import Attribute, Phrase, Things, both
from veriscene.meaning.english.quantifiers import ITEMS_OF_BOX
from veriscene.meaning.english.wording import Voice, Weighted
from veriscene.meaning.scene_drawing import SceneKind

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
    """Boxes, or towers: a meaning only for the latter."""
    is_tower = "b.is_tower()" if voice.box == "tower" else ""
    return Things(voice.box, voice.boxes, is_tower, variable="b")


def content(voice: Voice) -> Phrase:
    return voice.weighted(TOWER_CONTENTS if voice.kind == "tower" else SCATTER_CONTENTS)(voice)


def box_with(voice: Voice, held: Phrase) -> Things:
    link = voice.weighted(LINKS[voice.kind])
    return any_box(voice).that(Attribute(f"{link} {held.words}", held.meaning, 0.45))


def box_where(voice: Voice) -> Things:
    """As in "box where all the items are blue", "tower where the base is yellow"."""
    if voice.box == "tower" and voice.chance(0.8):
        clause = voice.weighted(TOWER_CLAUSES)(voice)
    else:
        clause = items_are(voice, ITEMS_OF_BOX)
    where = voice.one_of(("where", "where", "in which"))
    return any_box(voice).that(Attribute(f"{where} {clause.words}", clause.meaning, 0.45))


def box_without(voice: Voice) -> Things:
    things = some_things(voice)
    held = f"not exist({things.among(ITEMS_OF_BOX)})"
    return any_box(voice).that(Attribute(f"without a {things.singular}", held, 0.4))


def tower_of_color(voice: Voice) -> Things:
    """As in "yellow tower with two blocks"."""
    color = voice.one_of(tuple(COLORS))
    all_of_it = f"All({ITEMS_OF_BOX}, lambda x: {COLORS[color]})"
    tower = Things(f"{color} tower", f"{color} towers", both("b.is_tower()", all_of_it), 0.15, variable="b")
    if voice.chance(0.4):
        return tower
    held = holds_number(voice)
    return tower.that(Attribute(f"with {held.words}", held.meaning, 0.4))
