"""Sentences about a scene. Each function returns the words and the program text that they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from veriscene.worlds.nlvr.wordings import nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings.box_contents import compared, holds_some
from veriscene.worlds.nlvr.wordings.descriptions import any_box, box_where, box_with, box_without, content
from veriscene.worlds.nlvr.wordings.tower_contents import holds_block_at
from veriscene.worlds.nlvr.wordings.wording import Pattern, Phrase, Things, Voice, Weighted, agree, both, joined


def there_is(phrase: Phrase) -> Phrase:
    return Phrase(f"there {'are' if phrase.plural else 'is'} {phrase.words}", phrase.meaning)


def there_are(describe: Callable[[Voice], Things]) -> Pattern:
    """Sentences as "there are exactly two blue circles"; boxes are recognized by their variable."""

    def there_are_some(voice: Voice) -> Phrase:
        things = describe(voice)
        where, quantifiers = (q.ALL_BOXES, q.OF_BOXES) if things.variable == "b" else (q.ALL_ITEMS, q.OF_ITEMS)
        return there_is(q.quantified(voice, things, where, q.SIMPLE if voice.simple else quantifiers))

    return there_are_some


def described_box(voice: Voice) -> Things:
    return voice.weighted((88, lambda v: box_with(v, content(v))), (10, box_where), (2, box_without))(voice)


def items_at_border(voice: Voice) -> Things:
    things = voice.weighted((9, nouns.some_things), (1, nouns.anything))(voice)
    place = voice.weighted((3, nouns.at_border), (1, nouns.not_at_border))(voice)
    which = voice.weighted((8, ""), (1, "that {is} "), (1, "which {is} "))
    return things.that(replace(place, words=which + place.words))


def neighbours(voice: Voice) -> Things:
    relation = nouns.neighboured
    if voice.kind == "tower":
        relation = voice.weighted((9, nouns.neighboured), (1, nouns.in_between))
    return nouns.some_things(voice).that(relation(voice))


def tower_ends(voice: Voice) -> Things:
    """As in "blue block as the base of a tower with at least two blocks"."""
    end = nouns.at_tower_end(voice, voice.weighted((3, "as"), (1, "at")))
    if voice.chance(0.5):
        size = q.quantified(voice, nouns.anything(voice), q.ITEMS_OF_SAME_BOX, q.COUNTS)
        end = Phrase(f"{end.words} with {size.words}", both(end.meaning, size.meaning), end.share * 0.4)
    return nouns.some_things(voice).that(end)


def the_tower_has(voice: Voice) -> Phrase:
    """As in "the tower with three blocks has a blue block at the top": some tower of that height does."""
    size, held = q.quantified(voice, nouns.anything(voice), q.ITEMS_OF_BOX, q.COUNTS[:2]), holds_block_at(voice)
    box = any_box(voice)
    meaning = f"exist(filter_obj(all_boxes, lambda b: {both(box.meaning, size.meaning, held.meaning)}))"
    return Phrase(f"the {box.singular} with {size.words} has {agree(held.words, plural=False)}", meaning)


def the_tower_end_is(voice: Voice) -> Phrase:
    """As in "the top of a tower with three blocks is blue"."""
    end = nouns.at_tower_end(voice)
    size = q.quantified(voice, nouns.anything(voice), q.ITEMS_OF_SAME_BOX, q.COUNTS[:3])
    color = voice.one_of(*nouns.COLORS)
    ends = f"filter_obj(all_items, lambda x: {both(nouns.COLORS[color], end.meaning, size.meaning)})"
    return Phrase(f"{end.words.removeprefix('at ')} with {size.words} is {color}", f"exist({ends})")


# Words before the verb, whether the verb is plural, and the test on the number of boxes that fit.
Share = tuple[str, bool, str]
EACH: Weighted[Share] = (
    (10, ("each {box}", False, "== 3")),
    (6, ("every {box}", False, "== 3")),
    (6, ("all the {boxes}", True, "== 3")),
)
SHARES: Weighted[Share] = (
    (8, ("one of the {boxes}", False, ">= 1")),  # NLVR's raters accept more than one.
    *EACH,
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
)


def boxes_have(voice: Voice) -> Phrase:
    """As in "each box contains a blue circle", "two of the three towers have a yellow base"."""
    share = voice.weighted(*SHARES)
    verb = "{has}" if voice.kind == "tower" or voice.chance(0.6) else "{contains}"
    return _share_has(voice, share, verb, content(voice))


def _share_has(voice: Voice, share: Share, verb: str, held: Phrase) -> Phrase:
    words, plural, test = share
    numbers = {f"n{number}": voice.number(number) for number in (1, 2, 3)}
    subject = words.format(box=voice.box, boxes=voice.boxes, **numbers)
    fitting = box_with(voice, held).among(q.ALL_BOXES)
    return Phrase(f"{subject} {agree(f'{verb} {held.words}', plural)}", f"count({fitting}) {test}")


def in_each_box(voice: Voice) -> Phrase:
    """As in "there is at least one blue item in each box"."""
    held = holds_some(voice)
    each = f"{voice.one_of('each', 'every')} {voice.box}"
    meaning = f"count({box_with(voice, held).among(q.ALL_BOXES)}) == 3"
    return there_is(Phrase(f"{held.words} in {each}", meaning, plural=held.plural))


def comparison(voice: Voice) -> Phrase:
    return there_is(compared(voice, q.ALL_ITEMS))


def two_facts(voice: Voice) -> Phrase:
    """As in "there is a blue circle and at least one black item"."""
    things = nouns.different_things(voice, 2)
    return there_is(joined([q.quantified(voice, each, q.ALL_ITEMS, q.OF_ITEMS) for each in things]))


def equal_numbers(voice: Voice) -> Phrase:
    """As in "all the boxes have the same number of items", "at least two towers have the same height"."""
    what = f"number of {nouns.anything(voice).plural}"
    if voice.box == "tower" and voice.chance(0.5):
        what = "height"
    pairs, counts = "combinations(all_boxes, 2)", "count(p[0].all_items_in_box()) {} count(p[1].all_items_in_box())"
    same, different = counts.format("=="), counts.format("!=")
    words, meaning = voice.weighted(
        (3, ("at least {n} {boxes} have the same", f"exist(filter_obj({pairs}, lambda p: {same}))")),
        (2, ("all the {boxes} have the same", f"All({pairs}, lambda p: {same})")),
        (2, ("each {box} has a different", f"All({pairs}, lambda p: {different})")),
    )
    return Phrase(f"{words.format(n=voice.number(2), box=voice.box, boxes=voice.boxes)} {what}", meaning)


def equal_ends(voice: Voice) -> Phrase:
    """As in "all the towers have the same base color"."""
    end, bases, test = voice.one_of(("base", "bases", "is_bottom(x)"), ("top", "tops", "is_top(x)"))
    ends = f"filter_obj(all_items, lambda x: x.box.is_tower() and {test})"
    colors = f"count(get_set_colors({ends}))"
    color = voice.one_of(*nouns.COLORS)
    words, meaning = voice.one_of(
        (f"all the towers have the same {end} {voice.color}", f"{colors} == 1"),
        (f"the {bases} of the {voice.number(3)} towers are the same in {voice.color}", f"{colors} == 1"),
        (f"all the {bases} of the towers are {color}", f"All({ends}, lambda x: {nouns.COLORS[color]})"),
        (f"the {bases} of the towers are of {voice.number(3)} different {voice.color}s", f"{colors} == 3"),
        (f"none of the {bases} are {color}", f"All({ends}, lambda x: not {nouns.COLORS[color]})"),
    )
    return Phrase(words, meaning)


def simple_content(voice: Voice) -> Phrase:
    return holds_block_at(voice) if voice.chance(0.6) else holds_some(voice)


def simple_each_box(voice: Voice) -> Phrase:
    held = simple_content(voice)
    _, share = voice.one_of(*EACH)
    return _share_has(voice, share, "{has}", held)
