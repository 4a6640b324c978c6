"""What constructs of the grammar mean: programs against plain Python that reads the words, and against the reading that
is most easily mistaken for it."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import pytest
from drawn import scenes

from some_worlds import NLVR, scenes_of
from veriscene import worlds
from veriscene.english import boxes, compare, counts, shares, towers, values
from veriscene.english.parts import contents_of, rules_of
from veriscene.english.speaker import Domain, Speaker
from veriscene.english.words import NUMBERS, lexicon_of
from veriscene.language.program import Program
from veriscene.world.scene import Item, Scene

LANGUAGE = worlds.language(NLVR)
LEXICON = lexicon_of(LANGUAGE)
MIDDLE = Domain("all_boxes[1]", "in the middle box", "the middle box", box="all_boxes[1]")
VALUES = {each.name: [choice.name for choice in each.choices] for each in NLVR.attributes}


def _with_twins(scene: Scene, at: int) -> Scene:
    """The scene with few items in each box; in some, one item is copied."""
    kept = [box.items[: 1 + (at + number) % 4] for number, box in enumerate(scene.boxes)]
    kept[1] = (*kept[1], *kept[at // 4 % 3][:1]) if at % 4 < 2 else kept[1]
    return replace(scene, boxes=tuple(replace(box, items=items) for box, items in zip(scene.boxes, kept, strict=True)))


SCENES = [_with_twins(scene, at) for at, scene in enumerate(scenes_of(NLVR, 120, seed=5))]


# ---------------------------------------------------------------- words, read independently of the grammar

WORDS = {word: (each.name, choice.name) for each in NLVR.attributes for choice in each.choices for word in choice.words}
WORDS |= {word: key for key, pairs in LEXICON.nouns.items() for pair in pairs for word in pair}
ITEMS = {word for pair in (*LEXICON.items, ("thing", "things"), ("piece", "pieces")) for word in pair}
NAMES = {"colour": "color"} | {name: name for name in VALUES}


def kind_of(words: str) -> Callable[[Item], bool] | None:
    """The test of "small black circles"; None for words that say more than values."""
    told = [WORDS[word] for word in words.split() if word not in ITEMS and word in WORDS]
    known = all(word in WORDS or word in ITEMS for word in words.split())
    return (lambda item: all(item[name] == value for name, value in told)) if known and words else None


def groups_of(match: re.Match[str]) -> SimpleNamespace | None:
    found: dict[str, Any] = {}
    for name, words in match.groupdict().items():
        if name in "cd":
            found[name] = NAMES.get(words) or NAMES.get(words.removesuffix("s"))
        elif name in "mn":
            found[name] = NUMBERS.index(words) if words in NUMBERS else int(words) if words.isdecimal() else None
        elif name == "v":
            found[name] = [WORDS[each][1] for each in re.split(r", then |, | and ", words)]
        else:
            found[name] = kind_of(words)
    return None if None in found.values() else SimpleNamespace(**found)


# ---------------------------------------------------------------- what rules draw

# Tables and the parts of their rows; without parts, functions.
CONTENTS = {
    "exceptions": (shares, shares._Excepted),
    "limits": (counts, counts._Numbers),
    "combinations": (counts, counts._TwoKinds),
    "within": (shares, shares.AttributeParts),
    "twins": (shares, shares._Twins),
    "denied": (shares, shares.Properties),
    "non": (shares, shares.Properties),
    "differences": (counts, counts._TwoKinds),
    "comparisons": (counts, counts._TwoKinds),
    "bounds": (compare, compare._Compared),
}
RULES = {
    "missing": (values, values._Missing),
    "dominant": (values, values._ValueParts),
    "distributions": (boxes, boxes.BoxParts),
    "box differences": (boxes, boxes.BoxParts),
    "copies": (boxes, boxes._Copies),
    "values": (boxes, boxes._Values),
    "steps": (boxes, boxes.BoxParts),
    "contrasts": (boxes, boxes.BoxParts),
    "measured": (boxes, boxes._Measured),
    "orders": (towers, towers._TowerParts),
    "in_order": (towers, towers._OfTower),
    "alternating": (towers, towers._OfTower),
}
OF_TOWERS = ("in_order", "alternating", "blocks_of", "orders")


@lru_cache
def drawn(table: str) -> tuple[tuple[str, Program], ...]:
    """Texts of a table with their programs; contents are those of the middle box."""

    def all_of() -> Iterator[tuple[str, str]]:
        rng = random.Random(6)
        for _ in range(1500 if table in CONTENTS else 3000):
            say = Speaker(rng, LEXICON, "tower" if table in OF_TOWERS else None)
            say.foreign = 0
            if table in CONTENTS:
                module, parts = CONTENTS[table]
                content = getattr(module, table, None)
                if parts is not None:
                    ((_, content),) = contents_of(module._TABLES, parts, **{table: 1.0})
                if (found := content(say, MIDDLE)) is not None:
                    for text in filter(None, (found.things, found.clause)):
                        yield say.expand(text.replace("{at}", "")), found.test
                continue
            if table in RULES:
                module, parts = RULES[table]
                ((_, rule),) = rules_of(module._TABLES, parts, **{table.rpartition(" ")[2]: 1.0})
            else:
                rule = getattr(towers, table)
            if (sentence := rule(say)) is not None:
                yield say.expand(sentence.text), sentence.meaning

    return tuple((text.replace("~", "").replace("^", ""), LANGUAGE.parse(meaning)) for text, meaning in all_of())


# ---------------------------------------------------------------- plain readings

Meaning = Callable[[Scene, Any], bool]
SIZES = VALUES["size"]


def middle(scene: Scene) -> Sequence[Item]:
    return scene.boxes[1].items


def pairs(items: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    return itertools.combinations(items, 2)


def alike(one: Item, other: Item) -> bool:
    return all(one[name] == other[name] for name in VALUES)


def among(test: Callable[[Item], bool], items: Sequence[Item]) -> list[Item]:
    return [item for item in items if test(item)]


def different(name: str, items: Sequence[Item]) -> int:
    return len({item[name] for item in items})


def number(test: Callable[[Item], bool], items: Sequence[Item]) -> int:
    return len(among(test, items))


def size(item: Item) -> int:
    return SIZES.index(str(item["size"]))


def copies(scene: Scene, g: Any) -> bool:
    return any(alike(a, b) for a in among(g.x, scene.boxes[0].items) for b in scene.boxes[2].items)


def colors(scene: Scene, at: int) -> list[Any]:
    """From the bottom up."""
    return [item["color"] for item in sorted(scene.boxes[at].items, key=lambda item: -item.y)]


def counts_of(scene: Scene, test: Callable[[Item], bool]) -> list[int]:
    return [number(test, box.items) for box in scene.boxes]


def some_exceed_all(scene: Scene, g: Any) -> bool:
    left, right = ([size(item) for item in among(g.x, scene.boxes[at].items)] for at in (0, 2))
    return any(all(one > other for other in right) for one in left)


def alternate(found: Sequence[Any]) -> bool:
    return len(set(found)) == 2 and all(a != b for a, b in itertools.pairwise(found))


LEFT, RIGHT = (rf"the ({at}|{at}most|far {at}|{at}-hand) \w+" for at in ("left", "right"))
MIDDLE_ONE = r"the (middle|center|centre|central|second|2nd) \w+"
IN, A, TWIN = "(in|inside|within)", "(a|some|at least one)", "(a twin|an exact copy|a duplicate|a double)"
ORDER = "(from left to right|going left to right|left to right)"
ALL, ASIDE = "(all|all the|all of the)", "(not counting|leaving aside|ignoring|apart from)"
EXCEPT = "(except|except for|apart from|excepting|with the exception of)"
TOP, MOST = "(top|topmost|upper|uppermost|highest)", "(biggest|largest)"
MISSING, ALTERNATE = "(missing|absent|lacking)", "(alternate|take turns)"
# The table, the words, what they mean, and what they could be taken to mean.
CASES: dict[str, tuple[str, str, Meaning, Meaning]] = {
    "some two share a value": (
        "within", r"two (?P<x>.+) (of|with) the same (?P<c>\w+)",
        lambda s, g: any(a[g.c] == b[g.c] for a, b in pairs(among(g.x, middle(s)))),
        lambda s, g: bool(among(g.x, middle(s))),  # an item compared with itself
    ),
    "no value occurs twice": (
        "within", r"no (?P<c>\w+) (appears|occurs|is used|is found|shows up) (twice|more than once|a second time)",
        lambda s, g: all(a[g.c] != b[g.c] for a, b in pairs(middle(s))),
        lambda s, g: not middle(s),
    ),
    "all differ in a value": (
        "within", r"the (?P<x>.+) (all differ|differ|are all different|are all unlike) in (?P<c>\w+)",
        lambda s, g: different(g.c, among(g.x, middle(s))) == len(among(g.x, middle(s))),
        lambda s, g: different(g.c, among(g.x, middle(s))) > 1,  # only not all the same
    ),
    "most share a value": (
        "within", r"(most|more than half) of the (?P<x>.+) (have|share) the same (?P<c>\w+)",
        lambda s, g: any(
            2 * number(lambda b, a=a: b[g.c] == a[g.c], among(g.x, middle(s))) > number(g.x, middle(s))  # type: ignore[misc]
            for a in middle(s) if g.x(a)
        ),
        lambda s, g: different(g.c, among(g.x, middle(s))) == 1,
    ),
    "two are identical": (
        "twins", r"two identical (?P<x>.+)",
        lambda s, g: any(alike(a, b) for a, b in pairs(among(g.x, middle(s)))),
        lambda s, g: any(a["color"] == b["color"] for a, b in pairs(among(g.x, middle(s)))),
    ),
    "each has a twin": (
        "twins", r"(every|each) (?P<x>.+) has (a twin|an exact copy|a duplicate|a double|an identical partner)",
        lambda s, g: all(sum(alike(a, b) for b in middle(s)) > 1 for a in among(g.x, middle(s))),
        lambda s, g: all(sum(alike(a, b) for i in s.boxes for b in i.items) > 1 for a in among(g.x, middle(s))),
    ),
    "all are identical": (
        "twins", r"the (?P<x>.+) are (all )?(identical|exactly alike|exactly the same|indistinguishable)",
        lambda s, g: all(alike(a, b) for a, b in pairs(among(g.x, middle(s)))),
        lambda s, g: any(alike(a, b) for a, b in pairs(among(g.x, middle(s)))),
    ),
    "neither kind has a property": (
        "denied", r"neither (the )?(?P<x>.+) nor (the )?(?P<y>.+) are (?P<p>\w+)",
        lambda s, g: not any((g.x(a) or g.y(a)) and g.p(a) for a in middle(s)),
        lambda s, g: not all(g.p(a) for a in middle(s) if g.x(a) or g.y(a)),  # not all of them
    ),
    "every non-black item": (
        "non", r"(every|each|any) non-(?P<p>\w+) (?P<x>.+) is (a )?(?P<q>\w+)",
        lambda s, g: all(g.p(a) or g.q(a) for a in among(g.x, middle(s))),
        lambda s, g: not any(g.p(a) and g.q(a) for a in among(g.x, middle(s))),  # no black item
    ),
    "numbers differ by": (
        "differences", r"the numbers of (?P<x>.+) and (?P<y>.+) +differ by ((exactly|just) )?(?P<n>\w+)",
        lambda s, g: abs(number(g.x, middle(s)) - number(g.y, middle(s))) == g.n,
        lambda s, g: number(g.x, middle(s)) - number(g.y, middle(s)) == g.n,  # in one direction
    ),
    "so many fewer": (
        "comparisons", r"(exactly |just |precisely )?(?P<n>\w+) (fewer|less) (?P<x>.+) than (?P<y>.+)",
        lambda s, g: number(g.y, middle(s)) - number(g.x, middle(s)) == g.n,
        lambda s, g: number(g.x, middle(s)) - number(g.y, middle(s)) == g.n,
    ),
    "none is bigger than any": (
        "bounds", r"no (?P<x>.+) is (bigger|larger) than (a|any) (?P<y>.+)",
        lambda s, g: not any(size(a) > size(b) for a in among(g.x, middle(s)) for b in among(g.y, middle(s))),
        lambda s, g: not any(size(a) < size(b) for a in among(g.x, middle(s)) for b in among(g.y, middle(s))),
    ),
    "nothing is bigger than the one": (
        "bounds", r"nothing is (bigger|larger) than the ((only|one) )?(?P<y>.+)",
        lambda s, g: number(g.y, middle(s)) == 1 and all(size(a) <= size(among(g.y, middle(s))[0]) for a in middle(s)),
        lambda s, g: number(g.y, middle(s)) == 1 and all(size(a) >= size(among(g.y, middle(s))[0]) for a in middle(s)),
    ),
    "one value is missing": (
        "missing", rf"(((exactly|just|only) )?one|a single) (?P<c>\w+) is {MISSING} (from|in) {MIDDLE_ONE}",
        lambda s, g: different(g.c, middle(s)) == len(VALUES[g.c]) - 1,
        lambda s, g: different(g.c, middle(s)) < len(VALUES[g.c]),  # at least one
    ),
    "no value is missing": (
        "missing", rf"(no|not a single) (?P<c>\w+) is {MISSING} (from|in) {MIDDLE_ONE}",
        lambda s, g: different(g.c, middle(s)) == len(VALUES[g.c]),
        lambda s, g: different(g.c, middle(s)) > 0,
    ),
    "dominated by": (
        "dominant", rf"{MIDDLE_ONE} is dominated by (the )?(?P<x>.+)",
        lambda s, g: 2 * number(g.x, middle(s)) > len(middle(s)),
        lambda s, g: number(g.x, middle(s)) == len(middle(s)),
    ),
    "wherever": (
        "distributions", r"(wherever|whenever|anywhere) there is a (?P<x>.+?),? there is (also )?a (?P<y>.+?)( too)?",
        lambda s, g: all(any(map(g.y, box.items)) or not any(map(g.x, box.items)) for box in s.boxes),
        lambda s, g: any(g.y(a) for b in s.boxes for a in b.items) or not any(g.x(a) for b in s.boxes for a in b.items),
    ),
    "outer boxes differ by": (
        "box differences", r"the numbers of (?P<x>.+) in the (two )?(outer|outermost|end) \w+ differ by (?P<n>\w+)",
        lambda s, g: abs(number(g.x, s.boxes[0].items) - number(g.x, s.boxes[2].items)) == g.n,
        lambda s, g: number(g.x, s.boxes[0].items) - number(g.x, s.boxes[2].items) == g.n,
    ),
    "a copy in another box": (
        "copies", rf"a (?P<x>.+) {IN} {LEFT} has {TWIN} {IN} {RIGHT}",
        copies,
        lambda s, g: any(map(g.x, s.boxes[0].items)) and any(map(g.x, s.boxes[2].items)),
    ),
    "lacks a value of the other": (
        "values", rf"{LEFT} (lacks|is missing|is without) {A} (?P<c>\w+) that {RIGHT} (has|contains)",
        lambda s, g: bool({a[g.c] for a in s.boxes[2].items} - {a[g.c] for a in s.boxes[0].items}),
        lambda s, g: bool({a[g.c] for a in s.boxes[0].items} - {a[g.c] for a in s.boxes[2].items}),
    ),
    "colours in order": (
        "in_order", rf"{LEFT} is (?P<v>[\w, ]+) from (bottom to top|base to top|the \w+ up)",
        lambda s, g: colors(s, 0) == g.v,
        lambda s, g: colors(s, 0) == g.v[::-1],
    ),
    "colours alternate": (
        "alternating", rf"the colou?rs of {LEFT} {ALTERNATE}",
        lambda s, g: alternate(colors(s, 0)),
        lambda s, g: len(colors(s, 0)) > 1 and all(a != b for a, b in itertools.pairwise(colors(s, 0))),
    ),
    "except": (
        "exceptions", rf"{ALL} (?P<x>.+?) are (?P<p>\w+), (except|but not|except for|save for) the (?P<y>\w+) ones",
        lambda s, g: all(g.p(a) is not g.y(a) for a in among(g.x, middle(s))),
        lambda s, g: all(g.p(a) or g.y(a) for a in among(g.x, middle(s))),  # nothing said of the exceptions
    ),
    "not counting": (
        "exceptions", rf"{ASIDE} the (?P<y>\w+) ones, {ALL} (?P<x>.+?) are (?P<p>\w+)",
        lambda s, g: all(g.p(a) or g.y(a) for a in among(g.x, middle(s))),
        lambda s, g: all(g.p(a) is not g.y(a) for a in among(g.x, middle(s))),
    ),
    "a single exception": (
        "exceptions", rf"{ALL} (?P<x>.+?) are (?P<p>\w+), {EXCEPT} (one|a single) (?P<y>\w+) one",
        lambda s, g: [g.y(a) for a in among(g.x, middle(s)) if not g.p(a)] == [True],
        lambda s, g: all(g.p(a) or g.y(a) for a in among(g.x, middle(s))),  # any number of them
    ),
    "short of": (
        "limits", r"the number of (?P<x>.+) is (?P<n>\w+) short of (?P<m>\w+)",
        lambda s, g: number(g.x, middle(s)) == g.m - g.n,
        lambda s, g: number(g.x, middle(s)) == g.m,
    ),
    "two kinds but not a third": (
        "combinations", r"(?P<x>.+?) and (?P<y>.+?),? but no (?P<w>.+)",
        lambda s, g: any(map(g.x, middle(s))) and any(map(g.y, middle(s))) and not any(map(g.w, middle(s))),
        lambda s, g: any(g.x(a) or g.y(a) for a in middle(s)) and not any(map(g.w, middle(s))),
    ),
    "alone in a value": (
        "within", r"no (?P<x>.+) (has|is alone in|is the only one of) its (?P<c>\w+)( to itself)?",
        lambda s, g: all([b[g.c] for b in among(g.x, middle(s))].count(a[g.c]) > 1 for a in among(g.x, middle(s))),
        lambda s, g: different(g.c, among(g.x, middle(s))) < number(g.x, middle(s)),  # some two share it
    ),
    "one value but not the other": (
        "within", r"two (?P<x>.+) that (match|agree|are alike) in (?P<c>\w+) but not in (?P<d>\w+)",
        lambda s, g: any(a[g.c] == b[g.c] and a[g.d] != b[g.d] for a, b in pairs(among(g.x, middle(s)))),
        lambda s, g: different(g.c, among(g.x, middle(s))) < number(g.x, middle(s)) and different(g.d, middle(s)) > 1,
    ),
    "more values than others": (
        "within", r"there are more different (?P<c>\w+) than (different )?(?P<d>\w+) among the (?P<x>.+)",
        lambda s, g: different(g.c, among(g.x, middle(s))) > different(g.d, among(g.x, middle(s))),
        lambda s, g: different(g.c, among(g.x, middle(s))) < different(g.d, among(g.x, middle(s))),
    ),
    "otherwise": (
        "denied", r"the (?P<x>.+) are (?P<q>\w+) if they are (?P<p>\w+)[;,] otherwise they are (?P<r>\w+)",
        lambda s, g: all(g.q(a) if g.p(a) else g.r(a) for a in among(g.x, middle(s))),
        lambda s, g: all(g.q(a) or not g.p(a) for a in among(g.x, middle(s))),
    ),
    "never rises": (
        "steps", rf"the number of (?P<x>.+) never (rises|grows|increases|goes up) (from \w+ to \w+, )?{ORDER}",
        lambda s, g: all(a >= b for a, b in itertools.pairwise(counts_of(s, g.x))),
        lambda s, g: all(a > b for a, b in itertools.pairwise(counts_of(s, g.x))),
    ),
    "directly to the left": (
        "steps", r"a \w+ with a (?P<x>.+) is (directly|immediately|right) to the left of a \w+ with a (?P<y>.+)",
        lambda s, g: any(a and b for a, b in zip(counts_of(s, g.x), counts_of(s, g.y)[1:], strict=False)),
        lambda s, g: any(a and any(counts_of(s, g.y)[at + 1 :]) for at, a in enumerate(counts_of(s, g.x))),
    ),
    "more of one, fewer of the other": (
        "contrasts", rf"{LEFT} has more (?P<x>.+) than {RIGHT},? but fewer (?P<y>.+)",
        lambda s, g: counts_of(s, g.x)[0] > counts_of(s, g.x)[2] and counts_of(s, g.y)[0] < counts_of(s, g.y)[2],
        lambda s, g: counts_of(s, g.x)[0] > counts_of(s, g.x)[2] and counts_of(s, g.y)[0] < counts_of(s, g.x)[0],
    ),
    "the biggest of two boxes": (
        "measured", rf"the {MOST} (?P<x>.+) {IN} {LEFT} is (bigger|larger) than the {MOST} .+ {IN} {RIGHT}",
        some_exceed_all,
        lambda s, g: all(size(a) > size(b) for a in among(g.x, s.boxes[0].items) for b in among(g.x, s.boxes[2].items)),
    ),
    "all but one value": (
        "twins", r"two (?P<x>.+) that (differ only in|differ in nothing but|are the same apart from their) (?P<c>\w+)",
        lambda s, g: any([n for n in VALUES if a[n] != b[n]] == [g.c] for a, b in pairs(among(g.x, middle(s)))),
        lambda s, g: any(a[g.c] != b[g.c] for a, b in pairs(among(g.x, middle(s)))),
    ),
    "what all the others have": (
        "values", rf"{LEFT} lacks a (?P<c>\w+) that (all the other \w+ have|every other \w+ has)",
        lambda s, g: bool(
            {i[g.c] for i in s.boxes[1].items} & {i[g.c] for i in s.boxes[2].items} - {i[g.c] for i in s.boxes[0].items}
        ),
        lambda s, g: bool({i[g.c] for b in s.boxes[1:] for i in b.items} - {i[g.c] for i in s.boxes[0].items}),
    ),
    "any two boxes share": (
        "values", r"any two \w+ have a (?P<c>\w+) in common",
        lambda s, g: all(a & b for a, b in itertools.combinations([{i[g.c] for i in box.items} for box in s.boxes], 2)),
        lambda s, g: bool(set.intersection(*({item[g.c] for item in box.items} for box in s.boxes))),  # one for all
    ),
    "colours in reverse order": (
        "orders", rf"{LEFT} and {RIGHT} have the same colou?rs in (opposite|reverse) order",
        lambda s, g: colors(s, 0) == colors(s, 2)[::-1],
        lambda s, g: colors(s, 0) == colors(s, 2),
    ),
    "the top two match": (
        "blocks_of", rf"the {TOP} (two|2) \w+ of {LEFT} (match in|share a|have the same|are the same) colou?r",
        lambda s, g: len(colors(s, 0)) > 1 and colors(s, 0)[-1] == colors(s, 0)[-2],
        lambda s, g: len(set(colors(s, 0)[-2:])) == 1,  # true of a single block
    ),
    "only the top": (
        "blocks_of", rf"in {LEFT}, only the {TOP} \w+ is (?P<v>\w+)",
        lambda s, g: colors(s, 0)[-1] in g.v and not set(colors(s, 0)[:-1]) & set(g.v),
        lambda s, g: colors(s, 0)[-1] in g.v,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_statements_mean_what_their_words_say(name: str) -> None:
    table, words, meaning, mistaken = CASES[name]
    judged = scenes(NLVR, "tower") if table in OF_TOWERS else SCENES
    read, truths, is_told_apart = 0, set(), False
    for text, program in drawn(table):
        match = re.fullmatch(words, " ".join(text.split()))
        if match is None or (g := groups_of(match)) is None:
            continue
        read += 1
        for scene in judged:
            expected = meaning(scene, g)
            assert program.holds(scene) is expected, text
            truths.add(expected)
            is_told_apart |= expected is not mistaken(scene, g)
    assert read >= 2 and len(truths) == 2 and is_told_apart, (read, truths, is_told_apart)
