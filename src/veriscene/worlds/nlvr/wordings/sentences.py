"""Sentences about a scene, the boxes that they describe, and how often each kind occurs: about as often as in NLVR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from veriscene.worlds.nlvr.kinds import SceneKind
from veriscene.worlds.nlvr.wordings import boxes, comparisons, nouns, towers, walls
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.nouns import COLORS, SHAPES
from veriscene.worlds.nlvr.wordings.wording import (
    ALL_BOXES,
    ALL_ITEMS,
    ITEMS_OF_BOX,
    Pattern,
    Phrase,
    Things,
    Voice,
    Weighted,
    agree,
    both,
    every,
    exists,
    joined,
    some_box,
)

# ---------------------------------------------------------------- contents

TOWER_CONTENTS: Weighted[Pattern] = (
    (26, towers.at_part),
    (10, towers.block_at),
    (14, boxes.some),
    (12, boxes.number_of_items),
    (12, boxes.neighbours),
    (12, towers.number_and_end),
    (5, comparisons.only_kinds),
    (5, boxes.of_which),
    (5, boxes.all_of_which),
    (5, towers.stacked),
    (4, boxes.several),
    (4, towers.at_both_ends),
    (3, boxes.some_plural),
    (1, boxes.no_things),
    (3, comparisons.variety),
    (2, boxes.divided),
    (2, comparisons.alike),
    (1, comparisons.some_alike),
    (2, comparisons.all_alike),
    (2, towers.between),
    (2, towers.next_to_end),
    (1, towers.stacked_and_end),
    (1, comparisons.single_look),
    (1, boxes.and_others),
    (1, boxes.other_kind),
    (1, boxes.including),
    (1, comparisons.more_or_fewer),
    (1, boxes.parity),
)
# Where a tower is called a box, and its blocks items.
STACK_CONTENTS: Weighted[Pattern] = (
    (10, boxes.some),
    (8, boxes.number_of_items),
    (8, towers.item_on_top),
    (7, towers.wall_and_above),
    (4, towers.top_and_beneath),
    (7, boxes.of_which),
    (6, boxes.divided),
    (5, comparisons.only_kinds),
    (4, comparisons.variety),
    (3, boxes.several),
    (3, boxes.neighbours),
    (2, towers.between_and_nothing_above),
    (2, boxes.touching_pair),
    (2, walls.colored_pair),
    (2, boxes.all_of_which),
    (1, comparisons.alike),
    (1, comparisons.all_alike),
    (1, comparisons.single_look),
    (1, boxes.other_kind),
    (1, boxes.some_plural),
)
SCATTER_CONTENTS: Weighted[Pattern] = (
    (24, boxes.some),
    (18, boxes.several),
    (18, boxes.number_of_items),
    (9, boxes.of_which),
    (8, boxes.at_border),
    (1, boxes.thing_at_border),
    (1, comparisons.some_alike),
    (5, comparisons.only_kinds),
    (4, comparisons.variety),
    (4, boxes.all_of_which),
    (4, boxes.divided),
    (2, boxes.those_are),
    (3, boxes.some_plural),
    (1, boxes.no_things),
    (1, boxes.many),
    (3, boxes.two_colored),
    (3, comparisons.kinds_and_more),
    (2, comparisons.alike),
    (2, comparisons.all_alike),
    (2, comparisons.single_look),
    (2, boxes.including),
    (2, boxes.and_others),
    (1, boxes.other_kind),
    (1, walls.colored_pair),
    (1, boxes.touching_pair),
    (1, boxes.neighbours),
    (1, comparisons.more_or_fewer),
    (1, boxes.parity),
)


def content(voice: Voice) -> Phrase:
    """What a box holds; a simple voice says only which colours a tower has, and where."""
    if voice.simple:
        return towers.block_at(voice) if voice.chance(0.6) else boxes.some(voice)
    if voice.kind == "scatter":
        return voice.weighted(*SCATTER_CONTENTS)(voice)
    return voice.weighted(*(TOWER_CONTENTS if voice.box == "tower" else STACK_CONTENTS))(voice)


# ---------------------------------------------------------------- boxes

LINKS: Mapping[SceneKind, Weighted[str]] = {
    "tower": (
        *((84, "with"), (8, "that {has}"), (12, "which {has}"), (7, "having")),
        *((2, "that {contains}"), (1, "containing")),
    ),
    "scatter": (
        *((84, "with"), (8, "that {has}"), (10, "which {has}"), (1, "having")),
        *((4, "containing"), (2, "that {contains}"), (3, "which {contains}")),
    ),
}


def any_box(voice: Voice) -> Things:
    """Boxes or towers; only "tower" restricts the meaning."""
    return towers.TOWER if voice.box == "tower" else Things(voice.box, voice.boxes, variable="b")


def box_with(voice: Voice, held: Phrase) -> Things:
    link = voice.weighted(*LINKS[voice.kind])
    return any_box(voice).that(Phrase(f"{link} {held.words}", held.meaning, 0.45))


def box_with_content(voice: Voice) -> Things:
    return box_with(voice, content(voice))


def box_where(voice: Voice) -> Things:
    """As in "grey box where none of the blue objects are touching the edge"."""
    clause = items_are(voice, ITEMS_OF_BOX)
    link = voice.one_of("where", "in which", "that")
    return any_box(voice).that(Phrase(f"{link} {clause.words}", clause.meaning, 0.4))


def box_where_pair(voice: Voice) -> Things:
    """As in "box where a blue and yellow square are touching each other"."""
    pair = walls.colored_pair(voice)
    words = voice.one_of("where", "where", "in which") + " " + pair.words.replace(" touching", " are touching")
    return any_box(voice).that(Phrase(words.replace("closely are", "are closely"), pair.meaning, 0.2))


def box_without(voice: Voice) -> Things:
    """As in "box without a blue circle"."""
    things = nouns.some_things(voice)
    lacks = f"not exist({things.among(ITEMS_OF_BOX)})"
    return any_box(voice).that(Phrase(f"without a {things.singular}", lacks, 0.4))


def box_without_but_with(voice: Voice) -> Things:
    """As in "box without a blue item, with two yellow items and at least one black item"."""
    without, *others = nouns.different_things(voice, voice.weighted((2, 2), (1, 3)))
    held = joined([q.quantified(voice, each, ITEMS_OF_BOX, q.FEW) for each in others])
    words = f"without a {without.singular}{voice.one_of(', with', ' and with', ' but with')} {held.words}"
    return any_box(voice).that(Phrase(words, both(f"not exist({without.among(ITEMS_OF_BOX)})", held.meaning), 0.3))


DESCRIBED_TOWERS: Weighted[Callable[[Voice], Things]] = (
    (80, box_with_content),
    (12, towers.tower_where),
    (4, towers.tower_of_blocks),
    (4, towers.tower_of_color),
    (1, box_without),
)


def described_box(voice: Voice) -> Things:
    if voice.box == "tower":
        return voice.weighted(*DESCRIBED_TOWERS)(voice)
    return voice.weighted(
        (92, box_with_content), (4, box_where), (1, box_where_pair), (2, box_without), (1, box_without_but_with)
    )(voice)


# ---------------------------------------------------------------- sentences: there are …


def there_is(phrase: Phrase) -> Phrase:
    return Phrase(f"there {'are' if phrase.plural else 'is'} {phrase.words}", phrase.meaning)


def there_are(describe: Callable[[Voice], Things]) -> Pattern:
    """Sentences as "there are exactly two blue circles"; boxes are recognized by their variable."""

    def there_are_some(voice: Voice) -> Phrase:
        things = describe(voice)
        where, quantifiers = (ALL_BOXES, q.OF_BOXES) if things.variable == "b" else (ALL_ITEMS, q.OF_ITEMS)
        if voice.simple:
            quantifiers = q.SIMPLE
        elif where == ALL_ITEMS and things.meaning and voice.chance(0.015):
            return Phrase(f"there are {things.plural}", f"exist({things.among(ALL_ITEMS)})")
        return there_is(q.quantified(voice, things, where, quantifiers))

    return there_are_some


def neighbours(voice: Voice) -> Things:
    """As in "blue blocks on a black block"."""
    relation = nouns.neighboured
    if voice.kind == "tower":
        relation = voice.weighted((9, nouns.neighboured), (1, nouns.in_between))
    return nouns.some_things(voice).that(relation(voice))


def two_facts(voice: Voice) -> Phrase:
    """As in "there is a blue circle and at least one black item"."""
    things = nouns.different_things(voice, 2)
    return there_is(joined([q.quantified(voice, each, ALL_ITEMS, q.OF_ITEMS) for each in things]))


def two_kinds_of_boxes(voice: Voice) -> Phrase:
    """As in "there are exactly two towers with black blocks and at least one tower with blue blocks"."""
    facts = []
    for things in nouns.different_things(voice, 2):
        held = f"exist({things.among(ITEMS_OF_BOX)})"
        found = Things(f"{voice.box} with a {things.singular}", f"{voice.boxes} with {things.plural}", held, 0.6, "b")
        counts: Weighted[q.Quantifier] = ((3, q.NUMBER), (3, q.EXACTLY), (3, q.AT_LEAST), (1, q.ONLY))
        facts.append(q.quantified(voice, found, ALL_BOXES, counts))
    return there_is(joined(facts))


def number_in_box(voice: Voice) -> Phrase:
    """As in "there are seven items in a box", "there are two objects in a grey box of which one is a circle"."""
    whole, part = boxes.total(voice), boxes.some_predicate(voice)
    box = f"in {voice.weighted((4, 'a'), (2, voice.number(1)), (1, 'the same'))} {voice.box}"
    words, meaning = f"there are {whole.words} {box}", whole.meaning
    if voice.chance(0.3):
        words += f" of which {voice.number(1)} {boxes.agreed(part, plural=False)}"
        meaning = both(meaning, exists(part.meaning))
    return Phrase(words, some_box(meaning))


def comparison(voice: Voice) -> Phrase:
    """As in "there are more circles than squares"."""
    return there_is(comparisons.more_or_fewer(voice, ALL_ITEMS))


# ---------------------------------------------------------------- sentences: each box has …

# Words before the verb, whether the verb is plural, and the test on the number of boxes that fit.
Share = tuple[str, bool, str]
EACH: Weighted[Share] = (
    (10, ("each {box}", False, "== 3")),
    (6, ("every {box}", False, "== 3")),
    (6, ("all the {boxes}", True, "== 3")),
)
SHARES: Weighted[Share] = (
    *EACH,
    (48, ("one of the {boxes}", False, ">= 1")),  # NLVR's raters accept more than one.
    (4, ("all {n3} {boxes}", True, "== 3")),
    (3, ("all of the {boxes}", True, "== 3")),
    (8, ("at least {n1} {box}", False, ">= 1")),
    (6, ("at least {n2} {boxes}", True, ">= 2")),
    (5, ("exactly {n1} {box}", False, "== 1")),
    (4, ("exactly {n2} {boxes}", True, "== 2")),
    (6, ("only {n1} {box}", False, "== 1")),
    (5, ("{n2} of the {n3} {boxes}", True, "== 2")),
    (4, ("none of the {boxes}", True, "== 0")),
    (4, ("no {box}", False, "== 0")),
    (8, ("{n1} {box}", False, "== 1")),
    (8, ("{n2} {boxes}", True, "== 2")),
    (4, ("{n2} of the {boxes}", True, "== 2")),
    (2, ("{n2} out of the {n3} {boxes}", True, "== 2")),
    (4, ("{n1} of the {n3} {boxes}", False, "== 1")),
    (4, ("at least {n1} of the {boxes}", False, ">= 1")),
    (4, ("all {boxes}", True, "== 3")),
    (3, ("all the {n3} {boxes}", True, "== 3")),
)


def boxes_are(voice: Voice, predicate: str, fitting: str) -> Phrase:
    """Some share of the boxes, and the predicate that is true of the boxes `fitting`."""
    words, plural, test = voice.weighted(*(EACH if voice.simple else SHARES))
    numbers = {f"n{number}": voice.number(number) for number in (1, 2, 3)}
    subject = words.format(box=voice.box, boxes=voice.boxes, **numbers)
    return Phrase(f"{subject} {agree(predicate, plural)}", f"count({fitting}) {test}")


def boxes_have(voice: Voice) -> Phrase:
    """As in "one of the grey boxes contains exactly two objects", "two of the three towers have a yellow base"."""
    held, has = content(voice), 1.0 if voice.simple else 0.8 if voice.kind == "tower" else 0.5
    verb = "{has}" if voice.chance(has) else "{contains}"
    fitting = any_box(voice).that(replace(held, words="")).among(ALL_BOXES)
    return boxes_are(voice, f"{verb} {held.words}", fitting)


def colored_towers(voice: Voice) -> Phrase:
    """As in "one of the three towers is blue"."""
    color = voice.one_of(*COLORS)
    return boxes_are(voice, f"{{is}} {color}", f"filter_obj(all_boxes, lambda b: {every(COLORS[color])})")


def extreme_box(voice: Voice) -> Phrase:
    """As in "the grey box with least number of objects contains a blue circle"."""
    words, relation = voice.weighted((4, ("least", "<=")), (1, ("most", ">=")))
    held = voice.weighted((3, boxes.some), (1, boxes.number_of_items))(voice)
    named = f"{voice.box} with {voice.one_of('', 'the ')}{words} number of {nouns.anything(voice).plural}"
    if voice.box == "tower":
        named = voice.one_of("smallest", "shortest") if words == "least" else voice.one_of("tallest", "highest")
        named += " tower"
    verb = voice.one_of("has", "contains")
    extreme = f"All(all_boxes, lambda c: count({ITEMS_OF_BOX}) {relation} count(c.all_items_in_box()))"
    return Phrase(f"the {named} {verb} {agree(held.words, plural=False)}", some_box(both(extreme, held.meaning)))


# ---------------------------------------------------------------- sentences: all items are …


def items_are(voice: Voice, where: str = ALL_ITEMS) -> Phrase:
    """As in "all the blue circles are touching the wall", about all items or those of the box `b`.

    "All" of none is false, as NLVR's writers and the public programs mean it. "None of the circles", where there are
    no circles, is true of a scene, but false of a box.
    """
    form, whole_scene = voice.weighted((4, "all"), (2, "every"), (4, "none"), (6, "count")), where == ALL_ITEMS
    things, attribute = _subject_and_predicate(voice, whole_scene)
    if form == "count":
        if voice.kind == "scatter" and voice.chance(0.25):
            # Only here, because "all … are not …" is ambiguous.
            attribute = walls.not_at_border(voice, of_a_box=whole_scene)
        predicate = replace(attribute, words=f"{{is}} {attribute.words}")
        return q.quantified(voice, things.that(predicate), where, q.COUNTS)
    test = f"not ({attribute.meaning})" if form == "none" else attribute.meaning
    if form == "every":
        subject = f"{voice.one_of('every', 'each')} {things.singular} is"
    else:
        the = "none of the" if form == "none" else voice.one_of("all the", "all", "all of the")
        subject = f"{the} {things.plural} are"
    words = f"{subject} {agree(attribute.words, plural=form != 'every')}"
    if form == "none" and whole_scene:
        return Phrase(words, f"not exist({things.that(attribute).among(where)})")
    return Phrase(words, every(test, things.among(where)))


def _subject_and_predicate(voice: Voice, whole_scene: bool) -> tuple[Things, Phrase]:
    if voice.kind == "tower":
        end = towers.at_tower_end if whole_scene else towers.at_end
        return nouns.some_color(voice), voice.weighted((3, end), (1, nouns.neighboured))(voice)
    if voice.chance(0.75):
        things = voice.weighted((5, nouns.some_things), (1, nouns.anything))(voice)
        return things, walls.at_border(voice, of_a_box=whole_scene)
    if voice.chance(0.5):
        color = voice.one_of(*COLORS)
        things = voice.weighted((3, nouns.some_shape), (1, nouns.anything))(voice)
        return things, Phrase(color, COLORS[color])
    shape = voice.one_of(*SHAPES)
    things = voice.weighted((3, nouns.some_color), (1, nouns.anything))(voice)
    return things, Phrase(f"{{{shape}}}", SHAPES[shape])


def in_boxes(voice: Voice) -> Phrase:
    """As in "all blue items are in the same box", "there are two circles in one box"."""
    things, box, number = nouns.some_things(voice), voice.box, voice.weighted((2, 2), (1, 3))
    inside = things.among(ITEMS_OF_BOX)
    fitting = f"count(filter_obj(all_boxes, lambda b: exist({inside})))"
    together = some_box(f"count({inside}) == count({things.among(ALL_ITEMS)})")
    exact = some_box(f"count({inside}) == {number}")
    n, one, two, three = (voice.number(value) for value in (number, 1, 2, 3))
    all_things = f"all {voice.one_of('', 'the ', 'of the ')}{things.plural}"
    same, each = voice.one_of("the same", "one", "a single"), voice.one_of("every", "each")
    a_box, two_boxes = voice.one_of("the same", one, "a"), f"{voice.one_of('', 'only ', 'exactly ')}{two} {voice.boxes}"
    return voice.phrase(
        (6, f"{all_things} are in {same} {box}", together),
        (2, f"the {things.plural} are all in {voice.one_of('the same', 'one')} {box}", together),
        (4, f"there are {n} {things.plural} in {a_box} {box}", exact),
        (1, f"there are exactly {n} {things.plural} in {a_box} {box}", exact),
        (4, f"there is a {things.singular} in {each} {box}", f"{fitting} == 3"),
        (4, f"there is at least {one} {things.singular} in {each} {box}", f"{fitting} == 3"),
        (2, f"there is a {things.singular} in all {voice.one_of('the', three)} {voice.boxes}", f"{fitting} == 3"),
        (2, f"there are {things.plural} in {voice.one_of('only', 'exactly')} {one} {box}", f"{fitting} == 1"),
        (2, f"there are {things.plural} in {two_boxes}", f"{fitting} == 2"),
        (2, f"there is a {things.singular} in {two_boxes}", f"{fitting} == 2"),
    )


# ---------------------------------------------------------------- all sentences

TOWERS: Weighted[Pattern] = (
    (52, there_are(described_box)),
    (13, there_are(towers.at_end_of_height)),
    (9, there_are(neighbours)),
    (5, boxes_have),
    (8, towers.the_tower_has),
    (3, towers.part_of_tower_is),
    (1, towers.parts_of_tower_are),
    (1, towers.color_of_tower_is),
    (4, there_are(nouns.some_things_alone)),
    (1, there_are(nouns.anything)),
    (2, comparisons.equal_sizes),
    (1, comparisons.sizes_listed),
    (1, extreme_box),
    (2, comparisons.equal_ends),
    (1, comparisons.equal_pairs),
    (1, in_boxes),
    (1, two_kinds_of_boxes),
    (1, towers.as_part_of_towers),
    (1, colored_towers),
    (1, two_facts),
    (1, comparison),
    (1, items_are),
    (1, comparisons.common_look),
)
STACKS: Weighted[Pattern] = (
    (70, there_are(described_box)),
    (8, there_are(neighbours)),
    (6, boxes_have),
    (8, towers.item_is),
    (4, there_are(nouns.some_things_alone)),
    (2, comparisons.equal_sizes),
    (1, comparisons.sizes_listed),
    (1, in_boxes),
)
SCATTER: Weighted[Pattern] = (
    (60, there_are(described_box)),
    (42, there_are(walls.things_at_border)),
    (4, boxes_have),
    (7, there_are(nouns.some_things_alone)),
    (3, items_are),
    (2, walls.subject_at_border),
    (1, walls.only_at_border),
    (1, walls.alike_at_border),
    (1, comparisons.common_look),
    (1, there_are(nouns.anything)),
    (1, there_are(neighbours)),
    (2, two_facts),
    (1, comparison),
    (2, comparisons.equal_sizes),
    (1, comparisons.sizes_listed),
    (1, extreme_box),
    (4, in_boxes),
    (2, number_in_box),
    (1, two_kinds_of_boxes),
)
# A small network learns these in minutes: whether some, no or every tower has a colour at its top, base or anywhere.
SIMPLE: Weighted[Pattern] = (
    (2, there_are(nouns.some_things_alone)),
    (6, there_are(box_with_content)),
    (2, boxes_have),
)


def some_sentence(voice: Voice) -> Phrase:
    """A statement in this voice. Who says "grey box" mostly says "one of the grey boxes contains …"."""
    if voice.simple:
        return voice.weighted(*SIMPLE)(voice)
    if voice.kind == "tower":
        return voice.weighted(*(TOWERS if voice.box == "tower" else STACKS))(voice)
    if voice.box != "box" and voice.chance(0.35):
        return boxes_have(voice)
    return voice.weighted(*SCATTER)(voice)
