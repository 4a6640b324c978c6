"""Rules that compare towers: their heights, and the values of the blocks at their tops and bases."""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.speaker import Sentence, Speaker
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

Wordings = tuple[tuple[float, str, tuple[str, ...]], ...]  # weight, meaning, wordings

# Weight, sign between the heights, wordings. {by} and {n}: two blocks and two; {there}: the other tower.
_HEIGHTS: Wordings = (
    (6, "{a} > {b}", (
        f"{{here}} ~is ({TALLER}|{TALLER}|bigger) than {{there}}", "{here} ~has more {items} than {there}",
        "{here} ~(rises above|goes higher than) {there}", "{here} ~(surpasses|exceeds|beats) {there} in height",
        "{here} ~(has a greater height|is made of more {items}) than {there}",
        f"compared (to|with) {{there}}, {{here}} ~is {TALLER}", "there ~are more {items} in {here} than in {there}",
    )),
    (4, "{a} < {b}", (
        f"{{here}} ~is ({SHORTER}|{SHORTER}|smaller) than {{there}}", "{here} ~has fewer {items} than {there}",
        f"{{here}} ~(is not|isn't) (as|so) {TALL} as {{there}}",
    )),
    (4, "{a} == {b}", (
        f"{{here}} ~is (as|just as|exactly as) {TALL} as {{there}}", "{here} ~(has|is) the same height as {there}",
        "{here} ~has (as many|the same number of) {items} as {there}", "{here} ~is equal in height to {there}",
        f"{{here}} and {{there}} ~(are equally {TALL}|(are|have) the same height)",
    )),
    (1, "{a} != {b}", ("{here} ~(does not|doesn't) have the same height as {there}",)),
    (1, "{a} >= {b}", ("{here} ~is (at least as tall as|no shorter than|as tall as or taller than) {there}",)),
    (1, "{a} <= {b}", ("{here} ~is (no taller than|not taller than|not higher than) {there}",)),
    (2, "{a} == {b} + {value}", (
        f"{{here}} ~is [exactly] {{by}} {TALLER} than {{there}}", "{here} ~has [exactly] {more} than {there}",
    )),
    (1.5, "{a} + {value} == {b}", (
        f"{{here}} ~is [exactly] {{by}} {SHORTER} than {{there}}",
        "{here} ~has [exactly] {n} fewer {items} than {there}",
    )),
    (1, "{a} >= {b} + {value}", (f"{{here}} ~is at least {{by}} {TALLER} than {{there}}",)),
    (2, "{a} == {b} + {b}", (
        f"{{here}} ~is (twice|two times|exactly twice) as {TALL} as {{there}}",
        "{here} ~has (twice|two times) as many {items} as {there}",
    )),
    (1, "{a} + {a} == {b}", (f"{{here}} ~(is half as {TALL}|has half as many {{items}}) as {{there}}",)),
)  # fmt: skip


@about_towers
def compared_heights(say: Speaker) -> Sentence | None:
    """ "The left tower is two blocks taller than the right one"; "… has twice as many blocks as the right one"."""
    if len(say.lexicon.distinct_places) < 2:
        return None
    (first, second), value = say.two_places(), say.small(1, 3)
    noun, n = say.items if value > 1 else say.item, say.number(value)
    there = say.pick(second.subject, the_one(say, second))
    meaning, texts = say.weighted(*((row[0], row[1:]) for row in _HEIGHTS))
    words = {"here": first.subject, "there": there, "items": say.items, "n": n, "by": f"{n} {noun}"}
    text = say.rng.choice(texts).format(more=f"{n} more {noun}", **words)
    return Sentence(text, meaning.format(a=f"count({first.box})", b=f"count({second.box})", value=value))


@about_towers
def extreme(say: Speaker) -> Sentence | None:
    """ "The left tower is the tallest"; "no other tower is as high as the left one"; "no tower is higher"."""
    if say.world.boxes[1] < 2:
        return None
    where = say.which()
    box, boxes, subject, one = say.box, say.boxes, where.subject, the_one(say, where)
    tallest, tall, taller, shorter, most, more, sign = "(tallest|highest)", TALL, TALLER, SHORTER, "most", "more", ">"
    if say.chance(0.4):
        tallest, tall, taller, shorter = "(shortest|lowest|smallest)", "(short|low)", SHORTER, TALLER
        most, more, sign = "fewest", "fewer", "<"
    others = f"(all [the] other|the other) {boxes}|every other {box}|any other {box}|(all|) the (others|rest)"
    strict = mean.none(BOXES, f"# != {where.box} and count(#) {sign}= count({where.box})", "#")
    if say.chance(0.08):
        return Sentence(f"{subject} ~(is not|isn't) the {tallest}", mean.negation(strict))
    if say.chance(0.08):
        weak = mean.none(BOXES, f"count(#) {sign} count({where.box})", "#")
        return Sentence(f"(no {box}|none of the {boxes}) ~is {taller} than {one}", weak)
    texts = (
        f"{subject} ~is the {tallest} [one|{box}|of all|of all the {boxes}]",
        f"{subject} ~(is {taller}|has {more} {say.items}) than ({others})",
        f"{subject} ~has the {most} {say.items}",
        f"the {tallest} (one|{box}) [of all|of them] ~is {subject}",
        f"no other {box} ~is as {tall} as {one}",
        f"((all the|all|the) other {boxes}|the rest of the {boxes}) ~are {shorter} than {one}",
        f"every other {box} ~is {shorter} than {one}",
        f"of all the {boxes}, {one} ~is the {tallest}",
        f"{tallest} {box}: {one}",
        *[f"{subject} ~(rises above|surpasses|beats) ({others}) in height"] * (sign == ">"),
    )
    return Sentence(say.pick(*texts), strict)


_SAME = f"(equally {TALL}|the same height|of (the same|equal) height)"
_ALIKE = f"~(are {_SAME}|(have|share) the same (height|number of {{items}})|match in height|are as tall as each other)"
_LIKE_IT = f"(of the same height|that are {_SAME}|with the same number of {{items}})"
_TWO = "(at least two|two or more)"
_EQUAL = "all_same_attribute(all_boxes, lambda b0: count(b0))"
_PAIR = "exist(filter_obj(all_boxes, lambda b1: exist(filter_obj(all_boxes, lambda b0: b0 != b1 and count(b0) {}))))"
_ONE_TALLEST = _PAIR.replace("b1: exist", "b1: not exist").format(">= count(b1)")
# Weight, meaning, wordings.
_ALL_HEIGHTS: Wordings = (
    (3, _EQUAL, (
        f"(all|all the|all of the) {{boxes}} {_ALIKE}", f"the {{boxes}} ~are all {_SAME}",
        f"every {{box}} ~(has the same (height|number of {{items}})|is as {TALL}) as the others",
        f"no {{box}} ~is {TALLER} than (another|another one|any other)", "the {boxes} ~(don't|do not) differ in height",
        "no two {boxes} ~(differ in height|have different heights)", "{box} heights: all (equal|the same)",
        "the heights of the {boxes} ~are all the same",
    )),
    (2.5, f"not {_PAIR.format('== count(b1)')}", (
        f"no two {{boxes}} {_ALIKE}", "(all|all the|all of the) {boxes} ~(have|are) different heights",
        "(every|each) {box} ~has (a different height|its own height|a height of its own|a different number of {items})",
        "the {boxes} ~are all (different heights|of different heights|different in height)",
        f"there ~are no two {{boxes}} {_LIKE_IT}", f"no {{box}} ~is (as|just as) {TALL} as another [one]",
        "the heights of the {boxes} ~are all different", "{box} heights: all different",
    )),
    (2, _PAIR.format("== count(b1)"), (
        f"{_TWO} [of the] {{boxes}} {_ALIKE}", f"there ~are {_TWO} {{boxes}} {_LIKE_IT}",
        f"(some|one) {{box}} ~is (as|just as|exactly as) {TALL} as another [one|{{box}}]",
        "(not all|not all of the) {boxes} ~(have different heights|differ in height)",
    )),
    (1.5, f"not {_EQUAL}", (
        f"not all [of the] {{boxes}} {_ALIKE}", f"the {{boxes}} ~(are not|aren't) all {_SAME}",
        "the {boxes} ~vary in height",
    )),
    (0.7, _PAIR.format("== count(b1) + count(b1)"), (
        f"(a|one|some) {{box}} ~is (twice|exactly twice) as {TALL} as another [one]",
    )),
    (0.7, _ONE_TALLEST, (f"one (of the {{boxes}}|{{box}}) ~is {TALLER} than (all [the] others|the rest)",)),
)  # fmt: skip
_RISING = (
    f"the {{boxes}} ~(get|become) {TALLER} [and {TALLER}] from {{up}}",
    "the {boxes} ~(increase|grow|rise) in height from {up}",
    f"from {{up}}, the {{boxes}} ~(get|become) {TALLER}",
    f"the {{boxes}} ~(get|become) {SHORTER} from {{down}}",
    "from {down}, the {boxes} ~decrease in height",
)


@about_towers
def all_heights(say: Speaker) -> Sentence | None:
    """ "All towers have the same height"; "no two towers are equally tall"; "the towers get taller to the right"."""
    low, high = say.world.boxes
    if low < 2:
        return None
    words = {"box": say.box, "boxes": say.boxes, "items": say.items}
    if low == high <= 4 and say.chance(0.12):
        (up, sign), (down, _) = say.rng.sample([("left to right", " < "), ("right to left", " > ")], 2)
        heights = [f"count(all_boxes[{at}])" for at in range(high)]
        return Sentence(say.pick(*_RISING).format(up=up, down=down, **words), sign.join(heights))
    meaning, texts = say.weighted(*((row[0], row[1:]) for row in _ALL_HEIGHTS))
    return Sentence(say.rng.choice(texts).format(**words), meaning)


# Weight, test of the number of values at an end of all towers, wordings. {at}: "on top"; {tops}: "top blocks".
_ALL_ENDS: Wordings = (
    (4, "== 1", (
        "(all|all the|all of the) {boxes} ~have the same {c} {at}", "(all|all the) {boxes} ~have the same {top} {c}",
        "the {tops} (~are all the same {c}|all ~(have|share) the same {c}|all ~match in {c})",
        "every {box} ~has the same {c} {at}", "no two {boxes} ~have different {c}s {at}",
        "there ~is (only|just) one {c} {at} of the {boxes}", "{box} {top}s: all [the] same {c}",
    )),
    (1, ">= 2", (
        "not all [of the] {boxes} ~have the same {c} {at}", "the {tops} ~(are not|aren't) all the same {c}",
    )),
    (1, "== {n}", ("there ~are [exactly] {said} [different] {c}s among the {tops}",)),
    (3, "== count(all_boxes)", (
        "no two {boxes} ~have the same {c} {at}", "(every|each) {box} ~has (a different {c}|its own {c}) {at}",
        "the {tops} (~are all different {c}s|all ~(have different {c}s|differ in {c}))",
        "no {c} ~(is|occurs|appears) {at} of (two|more than one) {boxes}", "{box} {top}s: all different {c}s",
        "no two {boxes} ~share (a|the same) {top} {c}",
    )),
    (1.5, "< count(all_boxes)", (
        f"{_TWO} [of the] {{boxes}} ~have the same {{c}} {{at}}", "not all [of the] {boxes} ~have different {c}s {at}",
        "some {c} ~(is|occurs) {at} of (at least two|more than one of the) {boxes}",
    )),
)  # fmt: skip
_TWO_ENDS = (
    ("==", "{here} and {there} ~(have|share) the same {c} {at}"),
    ("==", "{here} ~has the same {c} {at} as {there}"),
    ("==", "the {top} of {here} ~(has|is) the same {c} as the {top} of {there}"),
    ("==", "the {top}s of {here} and {there} ~(match|agree) in {c}"),
    ("!=", "{here} and {there} ~(have different {c}s|do not have the same {c}) {at}"),
    ("!=", "the {top}s of {here} and {there} ~(are different {c}s|differ in {c})"),
)


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
    words = {"c": say.rng.choice(attribute.words), "top": top, "tops": tops, "at": at, "box": say.box, "boxes": boxes}
    if say.chance(0.18) and len(say.lexicon.distinct_places) > 1:
        sign, text = say.pick(*_TWO_ENDS)
        first, second = say.two_places()
        a, b = (f"{name}({mean.those(where.box, condition)})" for where in (first, second))
        return Sentence(text.format(here=first.subject, there=second.subject, **words), f"{a} {sign} {b}")
    test, texts = say.weighted(*((row[0], row[1:]) for row in _ALL_ENDS))
    text = say.rng.choice(texts).format(said=say.number(n), **words)
    return Sentence(text, f"count({name}({mean.those(ITEMS, condition)})) {test.format(n=n)}")


RULES = ((3.5, compared_heights), (3.0, extreme), (3.0, all_heights), (3.0, ends_compared))
