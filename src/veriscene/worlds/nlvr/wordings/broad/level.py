"""The kinds of sentences of the level "broad", and how often they occur: about as often as in NLVR's train split."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from veriscene.worlds.nlvr.scene_drawing import SceneKind
from veriscene.worlds.nlvr.wordings import nouns, sentences
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.broad import borders, scene_facts, stacks, tower_parts
from veriscene.worlds.nlvr.wordings.broad.contents import box_with, content, described_box
from veriscene.worlds.nlvr.wordings.descriptions import items_are
from veriscene.worlds.nlvr.wordings.sentences import there_is
from veriscene.worlds.nlvr.wordings.wording import Pattern, Phrase, Things, Voice, Weighted, agree

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
OF_BOXES: Weighted[q.Quantifier] = (
    *((100, q.A), (28, q.NUMBER), (14, q.AT_LEAST), (7, q.EXACTLY), (4, q.ONLY), (3, q.NO), (1, q.AT_MOST)),
    (1, q.Quantifier("not more than {n} {things}", "count({all}) <= {n}")),
)
OF_ITEMS: Weighted[q.Quantifier] = (
    *((34, q.A), (24, q.EXACTLY), (18, q.NUMBER), (14, q.AT_LEAST), (7, q.NO), (4, q.ONLY), (2, q.AT_MOST)),
    (2, q.Quantifier("more than {n} {things}", "count({all}) > {n}")),
    (1, q.Quantifier("less than {n} {things}", "count({all}) < {n}", least=2)),
)


def there_are(describe: Callable[[Voice], Things]) -> Pattern:
    """Sentences as "there are exactly two blue circles"; boxes are recognized by their variable."""

    def there_are_some(voice: Voice) -> Phrase:
        things = describe(voice)
        if things.variable == "b":
            return there_is(q.quantified(voice, things, q.ALL_BOXES, OF_BOXES))
        if things.meaning and voice.chance(0.015):
            return Phrase(f"there are {things.plural}", f"exist({things.among(q.ALL_ITEMS)})")
        return there_is(q.quantified(voice, things, q.ALL_ITEMS, OF_ITEMS))

    return there_are_some


# Words before the verb, whether the verb is plural, and the test on the number of boxes that fit.
SHARES: Weighted[tuple[str, bool, str]] = (
    *sentences.SHARES,
    (40, ("one of the {boxes}", False, ">= 1")),
    (8, ("{n1} {box}", False, "== 1")),
    (8, ("{n2} {boxes}", True, "== 2")),
    (4, ("{n2} of the {boxes}", True, "== 2")),
    (2, ("{n2} out of the {n3} {boxes}", True, "== 2")),
    (4, ("{n1} of the {n3} {boxes}", False, "== 1")),
    (4, ("at least {n1} of the {boxes}", False, ">= 1")),
    (4, ("all {boxes}", True, "== 3")),
    (3, ("all the {n3} {boxes}", True, "== 3")),
)


def boxes_have(voice: Voice) -> Phrase:
    """As in "one of the grey boxes contains exactly two objects", "two of the three towers have a yellow base"."""
    share, plural, test = voice.weighted(*SHARES)
    verb = "{has}" if voice.chance(0.8 if voice.kind == "tower" else 0.5) else "{contains}"
    numbers = {f"n{number}": voice.number(number) for number in (1, 2, 3)}
    subject, held = share.format(box=voice.box, boxes=voice.boxes, **numbers), content(voice)
    fitting = box_with(voice, held).among(q.ALL_BOXES)
    return Phrase(f"{subject} {agree(f'{verb} {held.words}', plural)}", f"count({fitting}) {test}")


def colored_towers(voice: Voice) -> Phrase:
    """As in "one of the three towers is blue"."""
    color = voice.one_of(*nouns.COLORS)
    share, plural, test = voice.weighted(*SHARES)
    numbers = {f"n{number}": voice.number(number) for number in (1, 2, 3)}
    subject = share.format(box="tower", boxes="towers", **numbers)
    fitting = f"filter_obj(all_boxes, lambda b: All(b.all_items_in_box(), lambda x: {nouns.COLORS[color]}))"
    return Phrase(agree(f"{subject} {{is}} {color}", plural), f"count({fitting}) {test}")


def some_items_are(voice: Voice) -> Phrase:
    return items_are(voice, none_of_none=True)


TOWERS: Weighted[Pattern] = (
    (52, there_are(described_box)),
    (13, there_are(sentences.tower_ends)),
    (9, there_are(sentences.neighbours)),
    (5, boxes_have),
    (8, tower_parts.the_tower_has),
    (3, tower_parts.part_of_tower_is),
    (1, tower_parts.parts_of_tower_are),
    (1, tower_parts.color_of_tower_is),
    (4, there_are(nouns.some_things_alone)),
    (1, there_are(nouns.anything)),
    (2, scene_facts.equal_sizes),
    (1, scene_facts.sizes_listed),
    (1, scene_facts.extreme_box),
    (2, scene_facts.equal_ends),
    (1, scene_facts.equal_pairs),
    (1, scene_facts.in_boxes),
    (1, scene_facts.two_kinds_of_boxes),
    (1, scene_facts.as_part_of_towers),
    (1, colored_towers),
    (1, sentences.two_facts),
    (1, sentences.comparison),
    (1, some_items_are),
    (1, scene_facts.common_look),
)
STACKS: Weighted[Pattern] = (
    (70, there_are(described_box)),
    (8, there_are(sentences.neighbours)),
    (6, boxes_have),
    (8, stacks.item_is),
    (4, there_are(nouns.some_things_alone)),
    (2, scene_facts.equal_sizes),
    (1, scene_facts.sizes_listed),
    (1, scene_facts.in_boxes),
)
SCATTER: Weighted[Pattern] = (
    (60, there_are(described_box)),
    (42, there_are(borders.things_at_border)),
    (4, boxes_have),
    (7, there_are(nouns.some_things_alone)),
    (3, some_items_are),
    (2, borders.subject_at_border),
    (1, borders.only_at_border),
    (1, borders.alike_at_border),
    (1, scene_facts.common_look),
    (1, there_are(nouns.anything)),
    (1, there_are(sentences.neighbours)),
    (2, sentences.two_facts),
    (1, sentences.comparison),
    (2, scene_facts.equal_sizes),
    (1, scene_facts.sizes_listed),
    (1, scene_facts.extreme_box),
    (4, scene_facts.in_boxes),
    (2, scene_facts.number_in_box),
    (1, scene_facts.two_kinds_of_boxes),
)


def tower_sentence(voice: Voice) -> Phrase:
    return voice.weighted(*(TOWERS if voice.box == "tower" else STACKS))(voice)


def scatter_sentence(voice: Voice) -> Phrase:
    """Who says "grey box" mostly says "one of the grey boxes contains …"."""
    if voice.box != "box" and voice.chance(0.35):
        return boxes_have(voice)
    return voice.weighted(*SCATTER)(voice)


LEVEL: Mapping[SceneKind, Weighted[Pattern]] = {"tower": ((1, tower_sentence),), "scatter": ((1, scatter_sentence),)}
