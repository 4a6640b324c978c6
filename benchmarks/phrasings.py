"""How well a reader reads other people's phrasings: 142 meanings in eight styles, with slots that NLVR's words fill.

python benchmarks/phrasings.py READER PHRASINGS [--styles everyday nonnative] [--fillings 2] [--worst 10] [--json FILE]

READER is the file that `veriscene train-reader` wrote; PHRASINGS the folder with STYLE.jsonl (`id`, `text`, or `text`
and `program`, as in benchmarks/english). A
phrasing counts as read where the reading has the truth of the meaning on all of 100 scenes, towers for those about
towers. A filling whose meaning is always true or always false there is drawn again, so that a match says something.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veriscene import worlds
from veriscene.data.reader import Reading
from veriscene.errors import InputError
from veriscene.files import opened, parse_json, read_text
from veriscene.language.program import Program
from veriscene.models.reader import Reader
from veriscene.world.scene import Scene
from veriscene.worlds.nlvr.scenes import draw_scenes

STYLES = ("casual", "precise", "simple", "descriptive", "terse", "questions", "nonnative", "everyday")
HELD_OUT = ("nonnative", "everyday")  # no rule of the grammar was written from these
SCENES, TRIES = 100, 40
LANGUAGE = worlds.language("nlvr")

# ---------------------------------------------------------------- meanings

# Conditions on an item, `@`: that it is of the first kind, of the second kind, that it has the value. B and B2 are
# particular boxes. What is in angle brackets is filled in as the slots of the phrasing are.
K, K2, V = "<K @>", "<K2 @>", "<V @>"
ALL, B, B2 = "all_items", "<B>", "<B2>"


def those(members: str, condition: str, name: str = "x") -> str:
    return f"filter_obj({members}, lambda {name}: {condition.replace('@', name)})"


def exist(members: str, condition: str, name: str = "x") -> str:
    return f"exist({those(members, condition, name)})"


def none(members: str, condition: str, name: str = "x") -> str:
    return f"not {exist(members, condition, name)}"


def count(members: str, condition: str, name: str = "x") -> str:
    return f"count({those(members, condition, name)})"


def some_box(condition: str) -> str:
    return f"exist(filter_obj(all_boxes, lambda b: {condition}))"


def every_box(condition: str) -> str:
    return f"not exist(filter_obj(all_boxes, lambda b: not ({condition})))"


def boxes(condition: str) -> str:
    return f"count(filter_obj(all_boxes, lambda b: {condition}))"


def pairwise(operator: str, value: str) -> str:
    """A comparison of a number of each of the three boxes with those of the others; `#` is the box."""
    values = [value.replace("#", f"all_boxes[{number}]") for number in range(3)]
    return " and ".join(f"{values[a]} {operator} {values[b]}" for a, b in ((0, 1), (1, 2), (0, 2)))


def others(where: str, condition: str) -> str:
    """No box but one meets a condition, in which the box is `b`."""
    return f"not exist(filter_obj(all_boxes, lambda b: b != {where} and {condition}))"


_K, _K2 = count(ALL, K), count(ALL, K2)
_IN_B = exist(B, K)
_TALLEST = "not exist(filter_obj(all_boxes, lambda c: count(c) > count(b)))"
_BIGGER = "size(x) > size(y)"


def related(others: str) -> str:
    """Some item of the first kind has one of the second kind among others, a function of the item `x`."""
    return exist(ALL, f"{K} and {exist(others, K2, 'y')}")


MEANINGS: dict[str, str] = {
    "scene-exists": exist(ALL, K),
    "scene-none": none(ALL, K),
    "scene-exactly": f"{_K} == <n>",
    "scene-at-least": f"{_K} >= <n>",
    "scene-more-than": f"{_K} > <n>",
    "scene-at-most": f"{_K} <= <n>",
    "scene-fewer-than": f"{_K} < <n>",
    "scene-only-one": f"{_K} == 1",
    "scene-total": "count(all_items) == <n>",
    "scene-total-more": "count(all_items) > <n>",
    "scene-more-than-other": f"{_K} > {_K2}",
    "scene-as-many": f"{_K} == {_K2}",
    "scene-twice": f"{_K} == {_K2} + {_K2}",
    "scene-all-are": none(ALL, f"{K} and not {V}"),
    "scene-not-all-are": exist(ALL, f"{K} and not {V}"),
    "scene-none-are": none(ALL, f"{K} and {V}"),
    "scene-some-are": exist(ALL, f"{K} and {V}"),
    "scene-some-are-not": exist(ALL, f"{K} and not {V}"),
    "scene-most-are": f"{count(ALL, f'{K} and {V}')} > {count(ALL, f'{K} and not {V}')}",
    "scene-half-are": f"{count(ALL, f'{K} and {V}')} == {count(ALL, f'{K} and not {V}')}",
    "scene-all-but-one": f"{count(ALL, f'{K} and not {V}')} == 1",
    "scene-n-of": f"{count(ALL, f'{K} and {V}')} == <n>",
    "scene-at-least-n-of": f"{count(ALL, f'{K} and {V}')} >= <n>",
    "scene-only-kind": none(ALL, f"{V} and not ({K})"),
    "scene-everything": none(ALL, f"not {V}"),
    "scene-nothing": none(ALL, V),
    "scene-both-exist": f"{exist(ALL, K)} and {exist(ALL, K2)}",
    "scene-one-not-other": f"{exist(ALL, K)} and {none(ALL, K2)}",
    "scene-either": f"{exist(ALL, K)} or {exist(ALL, K2)}",
    "scene-neither": f"{none(ALL, K)} and {none(ALL, K2)}",
    "scene-not-both": f"{exist(ALL, K)} != {exist(ALL, K2)}",
    "scene-if-then": f"{none(ALL, K)} or {exist(ALL, K2)}",
    "scene-unless": f"{exist(ALL, K)} or {exist(ALL, K2)}",
    "scene-same-color": f"count(color({those(ALL, K)})) <= 1",
    "scene-different-colors": f"count(color({those(ALL, K)})) == {_K}",
    "scene-n-colors": f"count(color({those(ALL, K)})) == <n>",
    "scene-same-kind": "count(shape(all_items)) == 1",
    "scene-same-size": f"count(size({those(ALL, K)})) <= 1",
    "boxes-some-has": some_box(exist("b", K)),
    "boxes-every-has": every_box(exist("b", K)),
    "boxes-none-has": none(ALL, K),
    "boxes-n-have": f"{boxes(exist('b', K))} == <n>",
    "boxes-at-least-n-have": f"{boxes(exist('b', K))} >= <n>",
    "boxes-only-one-has": f"{boxes(exist('b', K))} == 1",
    "boxes-some-lacks": some_box(none("b", K)),
    "boxes-not-every-has": some_box(none("b", K)),
    "boxes-some-only": some_box(none("b", f"not ({K})")),
    "boxes-every-only": none(ALL, f"not ({K})"),
    "boxes-some-exactly": some_box(f"{count('b', K)} == <n>"),
    "boxes-some-at-least": some_box(f"{count('b', K)} >= <n>"),
    "boxes-every-exactly": every_box(f"{count('b', K)} == <n>"),
    "boxes-every-at-least": every_box(f"{count('b', K)} >= <n>"),
    "boxes-n-boxes-exactly": boxes(f"{count('b', K)} == <m>") + " == <n>",
    "boxes-some-both": some_box(f"{exist('b', K)} and {exist('b', K2)}"),
    "boxes-none-both": "not " + some_box(f"{exist('b', K)} and {exist('b', K2)}"),
    "boxes-some-not": some_box(f"{exist('b', K)} and {none('b', K2)}"),
    "boxes-wherever": "not " + some_box(f"{exist('b', K)} and {none('b', K2)}"),
    "boxes-some-more": some_box(f"{count('b', K)} > {count('b', K2)}"),
    "boxes-every-more": every_box(f"{count('b', K)} > {count('b', K2)}"),
    "boxes-same-number": pairwise("==", count("#", K)),
    "boxes-different-number": pairwise("!=", count("#", K)),
    "boxes-all-in-one": some_box(none(ALL, f"{K} and @.box != b")),
    "boxes-in-several": f"{boxes(exist('b', K))} >= 2",
    "boxes-some-one-color": some_box("count(color(b)) == 1"),
    "boxes-every-one-color": every_box("count(color(b)) == 1"),
    "boxes-some-colors-differ": some_box("count(color(b)) == count(b)"),
    "boxes-most-boxes": f"{boxes(exist('b', K))} >= 2",
    "which-has": _IN_B,
    "which-lacks": f"not {_IN_B}",
    "which-exactly": f"{count(B, K)} == <n>",
    "which-at-least": f"{count(B, K)} >= <n>",
    "which-fewer": f"{count(B, K)} < <n>",
    "which-only": none(B, f"not ({K})"),
    "which-everything": none(B, f"not {V}"),
    "which-nothing": none(B, V),
    "which-most": f"{count(B, V)} > {count(B, f'not {V}')}",
    "which-more-than-which2": f"{count(B, K)} > {count(B2, K)}",
    "which-same-as-which2": f"{count(B, K)} == {count(B2, K)}",
    "which-most-of-all": others(B, f"{count('b', K)} >= {count(B, K)}"),
    "which-fewest": others(B, f"{count('b', K)} <= {count(B, K)}"),
    "which-only-which": f"{_IN_B} and {others(B, exist('b', K))}",
    "which-all-there": none(ALL, f"{K} and @.box != {B}"),
    "which-both-which": f"{_IN_B} and {exist(B2, K)}",
    "which-neither-which": f"not {_IN_B} and {none(B2, K)}",
    "which-which-not-which2": f"{_IN_B} and {none(B2, K)}",
    "which-item-there-item2-elsewhere": f"{_IN_B} and {exist(B2, K2)}",
    "which-has-both": f"{_IN_B} and {exist(B, K2)}",
    "which-has-no-more": f"{count(B, K)} > {count(B, K2)}",
    "which-outer": f"{exist('all_boxes[0]', K)} and {exist('all_boxes[2]', K)}",
    "place-above": related("get_box_all_below(x)"),
    "place-below": related("get_box_all_above(x)"),
    "place-on-top-of": related("get_directly_below(x)"),
    "place-left-of": related("get_box_all_right(x)"),
    "place-right-of": related("get_box_all_left(x)"),
    "place-touches": related("get_touching(x)"),
    "place-none-touches": f"not {related('get_touching(x)')}",
    "place-wall": exist(ALL, f"{K} and is_touching_wall(@)"),
    "place-side": exist(ALL, f"{K} and is_touching_wall(@, Side.<SIDE>)"),
    "place-no-wall": none(ALL, f"{K} and is_touching_wall(@)"),
    "place-all-wall": none(ALL, f"{K} and not is_touching_wall(@)"),
    "place-corner": exist(ALL, f"{K} and is_touching_corner(@)"),
    "place-floor": none(ALL, f"{K} and not is_touching_wall(@, Side.BOTTOM)"),
    "place-n-wall": f"{count(ALL, f'{K} and is_touching_wall(@)')} == <n>",
    # Where several are equally high, all of them must be: as the grammar says it of superlatives.
    "place-highest": some_box(none("b", f"is_top(@) and not ({K})")),
    "place-lowest": some_box(none("b", f"is_bottom(@) and not ({K})")),
    "place-which-highest": none(B, f"is_top(@) and not {V}"),
    "place-leftmost": none(B, f"is_leftmost(@) and not ({K})"),
    "place-between": exist(
        ALL,
        f"{K} and ({exist('get_box_all_left(x)', K2, 'y')} and {exist('get_box_all_right(x)', K2, 'y')}"
        f" or {exist('get_box_all_above(x)', K2, 'y')} and {exist('get_box_all_below(x)', K2, 'y')})",
    ),
    "place-all-above": some_box(none("b", f"{K} and not contained({those('b', K2, 'y')}, get_box_all_below(x))")),
    "tower-some-top": exist(ALL, f"{K} and is_top(@)"),
    "tower-every-top": every_box(exist("b", f"{K} and is_top(@)")),
    "tower-no-top": none(ALL, f"{K} and is_top(@)"),
    "tower-which-top": exist(B, f"{K} and is_top(@)"),
    "tower-some-base": exist(ALL, f"{K} and is_bottom(@)"),
    "tower-every-base": every_box(exist("b", f"{K} and is_bottom(@)")),
    "tower-which-base": exist(B, f"{K} and is_bottom(@)"),
    "tower-n-tops": f"{count(ALL, f'{K} and is_top(@)')} == <n>",
    "tower-same-ends": some_box(f"count(color({those('b', 'is_top(@) or is_bottom(@)')})) == 1"),
    "tower-same-tops": f"count(color({those(ALL, 'is_top(@)')})) == 1",
    "tower-different-bases": f"count(color({those(ALL, 'is_bottom(@)')})) == 3",
    "tower-height": some_box("count(b) == <n>"),
    "tower-which-height": f"count({B}) == <n>",
    "tower-at-least-height": every_box("count(b) >= <n>"),
    "tower-tallest": others(B, f"count(b) >= count({B})"),
    "tower-shortest": others(B, f"count(b) <= count({B})"),
    "tower-taller-than": f"count({B}) > count({B2})",
    "tower-same-height-two": f"not ({pairwise('!=', 'count(#)')})",
    "tower-same-height-all": pairwise("==", "count(#)"),
    "tower-all-heights-differ": pairwise("!=", "count(#)"),
    "tower-one-color": some_box("count(color(b)) == 1"),
    "tower-which-one-color": none(B, f"not {V}"),
    "tower-tallest-top": "not " + some_box(f"{_TALLEST} and {none('b', f'{K} and is_top(@)')}"),
    "tower-second": exist(ALL, f"is_second(@) and {V}"),
    "tower-never-on": f"not {related('get_directly_below(x)')}",
    "tower-each-color-once": some_box("count(color(b)) == count(b)"),
    "size-biggest": f"All({those(ALL, 'size(@) == max(size(all_items))')}, lambda x: <V x>)",
    "size-smallest": f"All({those(ALL, 'size(@) == min(size(all_items))')}, lambda x: <V x>)",
    "size-bigger": exist(ALL, f"{K} and {exist(ALL, f'{K2} and {_BIGGER}', 'y')}"),
    "size-bigger-than-all": exist(ALL, f"{K} and {none(ALL, f'{K2} and not {_BIGGER}', 'y')}"),
    "size-all-bigger": none(ALL, f"{K} and {exist(ALL, f'{K2} and not {_BIGGER}', 'y')}"),
    "size-which-biggest": f"All({those(B, f'size(@) == max(size({B}))')}, lambda x: <V x>)",
    "size-same-size-two": some_box(exist("b", f"{K} and {exist('b', f'{K2} and size(x) == size(y)', 'y')}")),
}

# ---------------------------------------------------------------- slots

COLORS, SHAPES = ("yellow", "black", "blue"), (("square", "squares"), ("circle", "circles"), ("triangle", "triangles"))
SIZES = {"small": "small", "medium": "medium", "big": "large", "large": "large"}
BOXES = (("box", "boxes"), ("box", "boxes"), ("section", "sections"), ("panel", "panels"))
THINGS = (("item", "items"), ("object", "objects"), ("shape", "shapes"), ("thing", "things"))
PLACES = (("left", "middle", "right"), ("first", "second", "third"), ("first", "second", "last"))
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True)
class Filling:
    """A text without slots, and its meaning."""

    identifier: str
    text: str
    meaning: Program


def fill(rng: random.Random, identifier: str, text: str) -> Filling:
    """Fills the slots of a phrasing at random, and those of its meaning alike."""
    group = identifier.partition("-")[0]
    has_value = "{value}" in text or "<V " in MEANINGS[identifier]
    tells_color = "color" in identifier or has_value
    (one, ones, first), (two, twos, second) = _kinds(rng, group, no_color=tells_color, no_size="size" in identifier)
    value = rng.choice(COLORS)
    numbers = {"n": rng.randint(2, 4), "m": rng.randint(1, 3)}
    if identifier.startswith("scene-total"):
        numbers["n"] = rng.randint(6, 12)
    elif identifier in (
        "boxes-n-have",
        "boxes-at-least-n-have",
        "boxes-n-boxes-exactly",
        "tower-n-tops",
        "scene-n-colors",
    ):
        numbers["n"] = rng.randint(2, 3)
    elif identifier in ("boxes-every-exactly", "boxes-every-at-least") or group == "place":
        numbers["n"] = 2
    said = {name: NUMBERS[number] if rng.random() < 0.6 else str(number) for name, number in numbers.items()}
    words = rng.choice(PLACES)
    at, other = rng.sample(range(3), 2)
    side = rng.choice(("left", "right", "top", "bottom"))
    box, thing = rng.choice(BOXES), rng.choice(THINGS)
    slots = {
        "a item": f"a {one}", "item": one, "items": ones, "a item2": f"a {two}", "item2": two, "items2": twos,
        "n items": f"{said['n']} {ones}", "m items": f"{said['m']} {ones if numbers['m'] > 1 else one}",
        **said, "value": value, "which": words[at], "which2": words[other], "side": side,
        "box": box[0], "boxes": box[1], "thing": thing[0], "things": thing[1],
    }  # fmt: skip
    meaning = re.sub(r"<K (\w)>", lambda found: first.replace("@", found[1]), MEANINGS[identifier])
    meaning = re.sub(r"<K2 (\w)>", lambda found: second.replace("@", found[1]), meaning)
    meaning = re.sub(r"<V (\w)>", lambda found: f"color({found[1]}) == color.{value}", meaning)
    meaning = meaning.replace(B, f"all_boxes[{at}]").replace(B2, f"all_boxes[{other}]").replace("<SIDE>", side.upper())
    for name, number in numbers.items():
        meaning = meaning.replace(f"<{name}>", str(number))
    filled = re.sub(r"\{([^}]*)\}", lambda found: slots[found[1]], text)
    filled = re.sub(r"\b([aA]) (?=[aeio])", r"\1n ", filled)
    return Filling(identifier, filled, LANGUAGE.parse(meaning))


def _kinds(rng: random.Random, group: str, *, no_color: bool, no_size: bool) -> list[tuple[str, str, str]]:
    """Two kinds of items, none of which includes the other: singular, plural and condition on `@`."""
    if group == "tower":
        nouns = rng.choice(((("block", "blocks"),) * 2, (("block", "blocks"),) * 2, (("square", "squares"),) * 2))
    else:
        nouns = tuple(rng.sample(SHAPES, 2))
    use_color, use_size = not no_color and rng.random() < 0.6, not no_size and group != "tower" and rng.random() < 0.12
    colors = rng.sample(COLORS, 2)
    if (
        group != "tower" and use_color and rng.random() < 0.25
    ):  # "yellow circles" and "black circles", or any of a colour
        nouns = (nouns[0],) * 2 if rng.random() < 0.5 else (rng.choice(THINGS[:2]),) * 2
    found = []
    for (singular, plural), color in zip(nouns, colors, strict=True):
        conditions, adjectives = [], []
        if use_size:
            word = rng.choice(list(SIZES))
            adjectives.append(word)
            conditions.append(f"size(@) == size.{SIZES[word]}")
        if use_color or group == "tower":
            adjectives.append(color)
            conditions.append(f"color(@) == color.{color}")
        if (singular, plural) in SHAPES:
            conditions.append(f"shape(@) == shape.{singular}")
        words = "".join(f"{each} " for each in adjectives)
        found.append((words + singular, words + plural, " and ".join(conditions)))
    return found


# ---------------------------------------------------------------- measuring

_OF_TOWERS = re.compile(r"tower|stack|block|brick|pile|column", re.I)


def fillings(
    path: Path, rng: random.Random, number: int, scenes: Callable[[str], Sequence[Scene]]
) -> Iterator[tuple[Filling, list[bool]]]:
    """Yields the phrasings of a file, each filled several times, with the truth of its meaning on the scenes."""
    for line, text in enumerate(read_text(path).splitlines(), 1):
        record = parse_json(text)
        if isinstance(record, dict) and "program" in record:
            filling = Filling(
                "tower-" if _OF_TOWERS.search(record["text"]) else "own-",
                record["text"],
                LANGUAGE.parse(record["program"]),
            )
            yield filling, truths(filling.meaning, scenes(filling.identifier))
            continue
        if not isinstance(record, dict) or record.get("id") not in MEANINGS:
            raise InputError("has no known meaning", where=f"{path}:{line}")
        for _ in range(number):
            for _ in range(TRIES):
                filling = fill(rng, record["id"], record["text"])
                truth = truths(filling.meaning, scenes(filling.identifier))
                if any(truth) and not all(truth):
                    break
            yield filling, truth


def truths(program: Program, scenes: Sequence[Scene]) -> list[bool]:
    return [program.holds(scene) for scene in scenes]


def measure(
    reader: Reader, path: Path, number: int, seed: int
) -> tuple[dict[str, list[bool]], list[tuple[Filling, Reading]]]:
    """Returns, by meaning, which fillings were read rightly, and those that were not."""
    generator = np.random.default_rng(seed)
    drawn = {kind: draw_scenes(generator, kind, SCENES).scenes() for kind in ("scatter", "tower")}
    of_kind = {kind: list(scenes) for kind, scenes in drawn.items()}

    def scenes(identifier: str) -> list[Scene]:
        return of_kind["tower" if identifier.startswith("tower-") else "scatter"]

    found = list(fillings(path, random.Random(seed), number, scenes))
    right: dict[str, list[bool]] = defaultdict(list)
    wrong = []
    for start in range(0, len(found), 64):
        some = found[start : start + 64]
        for (filling, truth), reading in zip(some, reader.read([each.text for each, _ in some]), strict=True):
            program = reading.program
            is_right = program is not None and truths(program, scenes(filling.identifier)) == truth
            right[filling.identifier].append(is_right)
            if not is_right:
                wrong.append((filling, reading))
    return right, wrong


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", type=Path)
    parser.add_argument("phrasings", type=Path)
    parser.add_argument("--styles", nargs="+", default=list(STYLES), help="names of files")
    parser.add_argument("--fillings", type=int, default=2, help="of each phrasing")
    parser.add_argument("--worst", type=int, default=10, help="meanings to list")
    parser.add_argument("--examples", type=int, default=0, help="wrong readings to list; not of held-out styles")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    try:
        for style in options.styles:
            with opened(options.phrasings / f"{style}.jsonl"):  # before anything is printed
                pass
        reader = Reader.load(options.reader)
        if reader.language != LANGUAGE:
            what = f"reads statements about the world {reader.language.world.name}"
            raise InputError(what, where=options.reader, allowed=f"these phrasings are about {LANGUAGE.world.name}")
        report: dict[str, object] = {"grammar": reader.grammar, "fillings": options.fillings, "seed": options.seed}
        by_meaning: dict[str, list[bool]] = defaultdict(list)
        print(f"{'style':14}{'read':>8}{'not understood':>16}{'meanings under 50 %':>22}")
        for style in options.styles:
            right, wrong = measure(reader, options.phrasings / f"{style}.jsonl", options.fillings, options.seed)
            each = [value for values in right.values() for value in values]
            none_read = sum(reading.program is None for _, reading in wrong) / len(each)
            weak = sum(sum(values) < len(values) / 2 for values in right.values())
            share = sum(each) / len(each)
            print(f"{style:14}{share:8.1%}{none_read:16.1%}{weak:22d}{'   held out' if style in HELD_OUT else ''}")
            groups: dict[str, list[bool]] = defaultdict(list)
            for identifier, values in right.items():
                by_meaning[identifier] += values
                groups[identifier.partition("-")[0]] += values
            report[style] = {"read": share, "not understood": none_read} | {
                group: sum(values) / len(values) for group, values in groups.items()
            }
            if style not in HELD_OUT:
                for filling, reading in random.Random(options.seed).sample(wrong, min(options.examples, len(wrong))):
                    print(
                        f"    {filling.identifier}: {filling.text}\n        {reading.program and reading.program.text}"
                    )
    except (InputError, OSError) as error:
        sys.exit(str(error))
    shares = {identifier: sum(values) / len(values) for identifier, values in by_meaning.items()}
    worst = sorted(shares, key=shares.__getitem__)[: options.worst]
    print("worst meanings:", ", ".join(f"{identifier} {shares[identifier]:.0%}" for identifier in worst))
    if options.json:
        options.json.write_text(json.dumps(report | {"meanings": shares}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
