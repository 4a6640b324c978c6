"""Rules that compare towers: their heights, and the values of the blocks at their tops and bases."""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.speaker import Sentence, Speaker
from veriscene.english.tables import tables
from veriscene.english.towers import (
    AT_BOTTOM,
    AT_TOP,
    BOTTOM,
    BOXES,
    ITEMS,
    SHORTER,
    TALL,
    TALLER,
    TOP,
    about_towers,
    the_one,
    varying,
)

_TABLES = tables(__name__)


def _words(say: Speaker) -> dict[str, str]:
    """Words for all wordings about heights."""
    words = {"box": say.box, "boxes": say.boxes, "items": say.items, "two": "(at least two|two or more)"}
    return words | {"tall": TALL, "taller": TALLER, "shorter": SHORTER}


@about_towers
def compared_heights(say: Speaker) -> Sentence | None:
    """ "The left tower is two blocks taller than the right one"; "… has twice as many blocks as the right one"."""
    if len(say.lexicon.distinct_places) < 2:
        return None
    (first, second), value = say.two_places(), say.small(1, 3)
    noun, n = say.items if value > 1 else say.item, say.number(value)
    there = say.pick(second.subject, the_one(say, second))
    row = _TABLES["heights"].draw(say)
    words = {"here": first.subject, "there": there, "n": n, "by": f"{n} {noun}", "more": f"{n} more {noun}"}
    meaning = row.columns[0].format(a=f"count({first.box})", b=f"count({second.box})", value=value)
    return Sentence(row.say(say, **words, **_words(say)), meaning)


@about_towers
def extreme(say: Speaker) -> Sentence | None:
    """ "The left tower is the tallest"; "no other tower is as high as the left one"; "no tower is higher"."""
    if say.world.boxes[1] < 2:
        return None
    where = say.which()
    box, boxes, one = say.box, say.boxes, the_one(say, where)
    words = _words(say) | {"here": where.subject, "one": one, "tallest": "(tallest|highest)", "most": "most"}
    words["more"], sign = "more", ">"
    if say.chance(0.4):
        words |= {"tallest": "(shortest|lowest|smallest)", "tall": "(short|low)", "taller": SHORTER, "shorter": TALLER}
        words |= {"most": "fewest", "more": "fewer"}
        sign = "<"
    words["others"] = f"(all [the] other|the other) {boxes}|every other {box}|any other {box}|(all|) the (others|rest)"
    strict = mean.none(BOXES, f"# != {where.box} and count(#) {sign}= count({where.box})", "#")
    if say.chance(0.08):
        return Sentence(f"{where.subject} ~(is not|isn't) the {words['tallest']}", mean.negation(strict))
    if say.chance(0.08):
        weak = mean.none(BOXES, f"count(#) {sign} count({where.box})", "#")
        return Sentence(f"(no {box}|none of the {boxes}) ~is {words['taller']} than {one}", weak)
    texts = [*_TABLES["extremes"].wordings, *_TABLES["tallest"].wordings * (sign == ">")]
    return Sentence(say.rng.choice(texts).format(**words), strict)


_PAIR = "exist(filter_obj(all_boxes, lambda b1: exist(filter_obj(all_boxes, lambda b0: b0 != b1 and count(b0) {}))))"
_MEANINGS = {
    "equal": "all_same_attribute(all_boxes, lambda b0: count(b0))",
    "two_equal": _PAIR.format("== count(b1)"),
    "twice": _PAIR.format("== count(b1) + count(b1)"),
    "one_tallest": _PAIR.replace("b1: exist", "b1: not exist").format(">= count(b1)"),
}


@about_towers
def all_heights(say: Speaker) -> Sentence | None:
    """ "All towers have the same height"; "no two towers are equally tall"; "the towers get taller to the right"."""
    low, high = say.world.boxes
    if low < 2:
        return None
    words = _words(say)
    if low == high <= 4 and say.chance(0.12):
        (up, sign), (down, _) = say.rng.sample([("left to right", " < "), ("right to left", " > ")], 2)
        heights = [f"count(all_boxes[{at}])" for at in range(high)]
        return Sentence(_TABLES["rising"].say(say, up=up, down=down, **words), sign.join(heights))
    row, same = _TABLES["all_heights"].draw(say), f"(equally {TALL}|the same height|of (the same|equal) height)"
    equal = f"(have|share) the same (height|number of {say.items})|match in height|are as tall as each other"
    words |= {"same": same, "alike": f"~(are {same}|{equal})"}
    words["like_it"] = f"(of the same height|that are {same}|with the same number of {say.items})"
    return Sentence(row.say(say, **words), row.columns[0].format(**_MEANINGS))


@about_towers
def ends_compared(say: Speaker) -> Sentence | None:
    """ "All towers have the same colour on top"; "no two bases have the same colour"; "the left and right tower …"."""
    if not (options := varying(say)) or say.world.boxes[0] < 2:
        return None
    attribute, n = say.rng.choice(options), say.pick(2, 2, 3)
    name, items, boxes = say.lexicon.names[attribute.name], say.items, say.boxes
    top, tops, at, condition = say.pick(
        ("top", f"((top|topmost|uppermost) {items}|tops of the {boxes})", AT_TOP, TOP),
        ("(base|bottom)", f"((bottom|lowest) {items}|bases [of the {boxes}])", AT_BOTTOM, BOTTOM),
    )
    words = _words(say) | {"c": say.rng.choice(attribute.words), "top": top, "tops": tops, "at": at}
    if say.chance(0.18) and len(say.lexicon.distinct_places) > 1:
        text = say.rng.choice(_TABLES["two_ends"].wordings)
        first, second = say.two_places()
        a, b = (f"{name}({mean.those(where.box, condition)})" for where in (first, second))
        sign = "!=" if "differ" in text else "=="
        return Sentence(text.format(here=first.subject, there=second.subject, **words), f"{a} {sign} {b}")
    row = _TABLES["all_ends"].draw(say)
    test = row.columns[0].format(n=n)
    text = row.say(say, said=say.number(n), **words)
    return Sentence(text, f"count({name}({mean.those(ITEMS, condition)})) {test}")


RULES = ((3.5, compared_heights), (3.0, extreme), (3.0, all_heights), (3.0, ends_compared))
