"""ShapeWorld: accuracy by set, and how far programs and grammar reach, without any training.

python benchmarks/shapeworld.py accuracy MODEL FILE     a judge's accuracy on each set of statements
python benchmarks/shapeworld.py meanings FILE           the truth of the corpus's own meanings, as our programs
python benchmarks/shapeworld.py coverage FILE           the share of wordings that the grammar draws with that meaning
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from veriscene import worlds
from veriscene.english import meaning as mean
from veriscene.english.grammar import draw
from veriscene.english.words import NUMBERS
from veriscene.language.program import Program
from veriscene.language.tokens import tokens_of
from veriscene.world.examples import Example

WORLD = worlds.get("shapeworld")
Meaning = Mapping[str, Any]
SIGNS = {"eq": "==", "neq": "!=", "lt": "<", "leq": "<=", "gt": ">", "geq": ">="}
SHARES = {0.25: (1, 4), 0.33: (1, 3), 0.5: (1, 2), 0.67: (2, 3), 0.75: (3, 4)}  # others are whole numbers
KEYS = {"x": "center_x(@)", "y": "center_y(@)", "size": "area(@)", "shade": "shade(@)"}

# ---------------------------------------------------------------- the corpus's own meanings


def kind_of(meaning: Meaning) -> str:
    """The condition on the item @ that an entity type states."""
    return mean.both(
        *sorted(f"{each['predtype']}(@) == {each['predtype']}.{each['value']}" for each in meaning["value"])
    )


def items_of(meaning: Meaning) -> str:
    return mean.those("all_items", kind_of(meaning))


def selected(meaning: Meaning) -> tuple[str, str]:
    """What a selector presupposes, and the item that it selects."""
    kind, _, number = meaning["predtype"].partition("-")
    items = items_of(meaning["scope"])
    if kind == "unique":
        return "", f"unique({items})"
    key = KEYS.get(kind) or f"distance(@, {selected(meaning['comparison'])[1]})"
    choose = "max" if meaning["value"] > 0 else "min"
    return f"count({items}) == 2" if number == "two" else "", f"{choose}({items}, key={mean.bind(key)})"


def condition_of(meaning: Meaning) -> str:
    """The condition on the item @ that a relation states."""
    kind, value = meaning["predtype"], meaning["value"]
    if kind == "negation":
        inner = condition_of(meaning["reference"])
        return inner if value > 0 else mean.negation(inner)
    if kind in ("attribute", "type"):
        return kind_of(value if kind == "type" else {"value": [value]})
    other = kind_of(meaning["reference"])
    if kind in ("x-rel", "y-rel", "z-rel"):
        sides = {"x-rel": ("right", "left"), "y-rel": ("below", "above"), "z-rel": ("in_front", "behind")}[kind]
        side = sides[value > 0]
        return mean.some(f"get_{side}(@)" if kind == "z-rel" else f"get_box_all_{side}(@)", other)
    name, sign = kind.removesuffix("-rel"), ">" if value > 0 else "<"
    if name in ("color", "shape"):
        sign = "==" if value > 0 else "!="
        return f"exist({mean.related('get_img_exclusive(@)', mean.both(other, f'{name}(@) {sign} {name}($)'))})"
    if name == "proximity":
        than = selected(meaning["comparison"])[1].replace("@", "%")
        # Nothing is closer to an item than the item itself, so it must not be the one that is compared with.
        test = f"distance($, @) {sign} distance({than}, @){' > 0' if sign == '>' else ''}"
        return f"exist({mean.related('get_img_exclusive(@)', mean.both(other, test))})".replace("%", "@")
    own, their = KEYS[name].replace("@", "$"), KEYS[name]
    return f"exist({mean.related('all_items', mean.both(other, f'{own} {sign} {their}'))})"


def truth_of(meaning: Meaning) -> str:
    """The program text of a meaning."""
    match meaning["component"]:
        case "EntityType":
            return f"exist({items_of(meaning)})"
        case "Proposition":
            first, second = map(truth_of, meaning["clauses"])
            kinds = {"conjunction": mean.both(first, second), "disjunction": mean.either(first, second)}
            # The conclusion of an implication comes first.
            kinds |= {"implication": mean.implication(second, first), "equivalence": f"({first}) == ({second})"}
            return kinds[meaning["proptype"]]
        case "NumberBound":
            inner = meaning["quantifier"]
            return mean.both(f"count({items_of(inner['restrictor'])}) == {meaning['bound']}", truth_of(inner))
        case "Existential" if meaning["restrictor"]["component"] == "Selector":
            given, item = selected(meaning["restrictor"])
            return mean.both(given, f"Any([{item}], {mean.bind(condition_of(meaning['body']))})")
        case "Existential":
            return mean.some("all_items", mean.both(kind_of(meaning["restrictor"]), condition_of(meaning["body"])))
    return _quantified(meaning)


def _quantified(meaning: Meaning) -> str:
    body, sign, value = condition_of(meaning["body"]), SIGNS[meaning["qrange"]], meaning["quantity"]
    those = mean.count("all_items", mean.both(kind_of(meaning["restrictor"]), body))
    is_comparison = "comparison" in meaning
    whole = mean.count("all_items", mean.both(kind_of(meaning["comparison"]), body)) if is_comparison else ""
    if meaning["qtype"] == "count":
        first, second = (f"{whole} + {value}", "") if value >= 0 else (whole, f" + {-value}")
        return f"{those}{second} {sign} {first}" if whole else f"{those} {sign} {value}"
    whole = whole or f"count({items_of(meaning['restrictor'])})"
    part, parts = SHARES.get(value, (int(value), 1))
    return f"{_times(those, parts)} {sign} {_times(whole, part)}"


def _times(number: str, factor: int) -> str:
    return number if factor == 1 else "0" if factor == 0 else f"{number} * {factor}"


def meanings(path: Path) -> Iterator[tuple[Example, Program]]:
    """Yields the examples of a file of ShapeWorld's, with the programs of their meanings."""
    examples = iter(worlds.read(path, WORLD))
    language = worlds.language(WORLD)
    for line in path.read_text(encoding="utf-8").splitlines():
        for statement in json.loads(line)["statements"]:
            yield next(examples), language.parse(truth_of(statement["meaning"]))


# ---------------------------------------------------------------- coverage of the grammar

_SHAPES = {word: "S" for choice in WORLD.attribute("shape").choices for word in choice.words} | {
    word: "Ss" for choice in WORLD.attribute("shape").choices for word in choice.plural
}
_COLORS = {word: "C" for choice in WORLD.attribute("color").choices for word in choice.words}
_NUMBERS = dict.fromkeys([*NUMBERS[2:10], *map(str, range(2, 10))], "N")
_SLOTS = {**_SHAPES, **_COLORS, **_NUMBERS, "an": "a", "colour": "color"}


def skeleton(text: str) -> str:
    """A statement in small letters, without signs, and with slots in place of values and numbers."""
    return " ".join(_SLOTS.get(word, word) for word in re.findall(r"[\w'-]+", text.lower()))


def structure(program: Program) -> str:
    """A program with slots in place of values and numbers."""
    text = re.sub(r"\b(shape|color)\.\w+", r"\1.V", " ".join(tokens_of(program)))
    return re.sub(r"(?<![\w.])[2-9](?![\w.])", "N", text)


def coverage(path: Path, count: int, seed: int) -> dict[str, Any]:
    """Draws statements and counts those of a file whose skeleton was drawn, and drawn with the same structure."""
    rng, language = random.Random(seed), worlds.language(WORLD)
    dialect = worlds.require(WORLD, "draw_statement", "dialect")
    drawn: dict[str, set[str]] = defaultdict(set)
    for number in range(count):
        statement = draw(rng, language) if number % 4 else dialect(rng)
        drawn[skeleton(statement.text)].add(structure(statement.program))
    sizes: Counter[str] = Counter()
    found: Counter[str] = Counter()
    same: Counter[str] = Counter()
    for example, program in meanings(path):
        name, key = str(example.directory), skeleton(example.statement)
        sizes[name] += 1
        found[name] += key in drawn
        same[name] += structure(program) in drawn.get(key, ())
    return {name: {"drawn": found[name] / sizes[name], "same": same[name] / sizes[name]} for name in sizes}


def accuracy(model: str, path: Path) -> dict[str, Any]:
    """Returns a judge's accuracy on each set, and on all."""
    from veriscene.judge import load

    judge, right = load(model), defaultdict[str, list[bool]](list)
    examples = worlds.read(path, judge.world)
    for example, verdict in zip(examples, judge(examples), strict=True):
        is_right = not isinstance(verdict, Exception) and verdict.verdict is example.label
        right[str(example.directory)].append(is_right)
    shares = {name: sum(each) / len(each) for name, each in sorted(right.items())}
    return {**shares, "all": sum(map(sum, right.values())) / len(examples)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("accuracy", "meanings", "coverage"))
    parser.add_argument("files", nargs="+", help="MODEL FILE, or FILE")
    parser.add_argument("--statements", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    path = Path(given.files[-1])
    if given.what == "accuracy":
        print(json.dumps(accuracy(given.files[0], path), indent=1))
    elif given.what == "coverage":
        print(json.dumps(coverage(path, given.statements, given.seed), indent=1))
    else:
        wrong: Counter[str] = Counter()
        for example, program in meanings(path):
            if program.holds(example.scene) is not example.label:
                wrong[str(example.directory)] += 1
                print(f"{example.identifier}: labelled {example.label}: {example.statement}")
        print(json.dumps({"differ": sum(wrong.values()), **wrong}))


if __name__ == "__main__":
    main()
