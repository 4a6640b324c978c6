"""How well a judge reads two plain clauses at once, and large numbers: statements whose parts are easy.

python benchmarks/clauses.py MODEL NLVR_FILE [--pairs 300] [--seed 3] [--json]

Clauses, forms and their truths are written here; only the words for numbers are the grammar's. Pairs are judged on
scattered scenes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import veriscene
from veriscene.english.words import NUMBERS
from veriscene.errors import InputError
from veriscene.judge.judge import AnyQuestion, checked
from veriscene.world.scene import Item, Scene

Test = Callable[[Scene], bool]
COLORS, SHAPES, BOXES = ("black", "blue", "yellow"), ("circle", "square", "triangle"), ("left", "middle", "right")


def clause(rng: random.Random) -> tuple[str, Test]:
    """A clause and its truth: of the scene, of a box or of every box."""
    color, shape, at, number = rng.choice(COLORS), rng.choice(SHAPES), rng.randrange(3), rng.randint(2, 3)

    def is_kind(item: Item) -> bool:
        return (item["color"], item["shape"]) == (color, shape)

    return rng.choice(
        (
            (f"there is a {color} {shape}", lambda s: any(map(is_kind, s.items))),
            (f"there is no {color} {shape}", lambda s: not any(map(is_kind, s.items))),
            (f"there are exactly {NUMBERS[number]} {color} {shape}s", lambda s: sum(map(is_kind, s.items)) == number),
            (f"the {BOXES[at]} box has a {shape}", lambda s: any(i["shape"] == shape for i in s.boxes[at].items)),
            (
                f"the {BOXES[at]} box contains at least {NUMBERS[number]} {color} items",
                lambda s: sum(i["color"] == color for i in s.boxes[at].items) >= number,
            ),
            (
                f"every box has a {color} item",
                lambda s: all(any(i["color"] == color for i in b.items) for b in s.boxes),
            ),
        )
    )


FORMS: dict[str, tuple[str, Callable[[bool, bool], bool]]] = {
    "A": ("{A}.", lambda a, b: a),
    "not A": ("It is not the case that {a}.", lambda a, b: not a),
    "not false": ("It isn't false that {a}.", lambda a, b: a),
    "A and B": ("{A} and {b}.", lambda a, b: a and b),
    "A, and B": ("{A}, and {b}.", lambda a, b: a and b),
    "A; B": ("{A}; {b}.", lambda a, b: a and b),
    "A. B.": ("{A}. {B}.", lambda a, b: a and b),
    "A but B": ("{A}, but {b}.", lambda a, b: a and b),
    "A or B": ("{A} or {b}.", lambda a, b: a or b),
    "if A then B": ("If {a} then {b}.", lambda a, b: b or not a),
    "if A, B": ("If {a}, {b}.", lambda a, b: b or not a),
}


def pairs(scenes: Sequence[Scene], count: int, seed: int) -> dict[str, list[tuple[AnyQuestion, bool]]]:
    """By form, the questions and their truths; all forms have the same clauses and scenes."""
    rng, found = random.Random(seed), {name: list[tuple[AnyQuestion, bool]]() for name in FORMS}
    for _ in range(count):
        (a, first), (b, second), scene = clause(rng), clause(rng), rng.choice(scenes)
        words = {"a": a, "b": b, "A": a[0].upper() + a[1:], "B": b[0].upper() + b[1:]}
        for name, (form, holds) in FORMS.items():
            found[name].append(((form.format(**words), scene), holds(first(scene), second(scene))))
    return found


def numbers(scenes: Sequence[Scene]) -> list[tuple[AnyQuestion, bool]]:
    """Statements about the number of all items, from ten on, in words and digits."""
    by_count = {len(scene.items): scene for scene in scenes}
    found = list[tuple[AnyQuestion, bool]]()
    for count, scene in by_count.items():
        for number in range(10, 23):
            for word in (str(number), *NUMBERS[number : number + 1]):
                found.append(((f"There are exactly {word} items.", scene), count == number))
                found.append(((f"There are at least {word} items in the picture.", scene), count >= number))
    return found


def measure(model: str, file: Path, *, count: int, seed: int) -> dict[str, dict[str, float]]:
    """By form: how many questions there are, and the shares in percent of those that are wrong and not understood."""
    judge = veriscene.load(model)
    scenes = [example.scene for example in veriscene.read(file)]
    scattered = [scene for scene in scenes if len({item["shape"] for item in scene.items}) > 1]
    if not scattered:
        raise InputError("has no scattered scenes", where=file)
    results = {}
    for name, asked in {**pairs(scattered, count, seed), "10 to 22": numbers(scenes)}.items():
        verdicts = [checked(answer).verdict for answer in judge([question for question, _ in asked])]
        wrong = sum(found not in (None, truth) for found, (_, truth) in zip(verdicts, asked, strict=True))
        shares = {"wrong": 100 * wrong / len(asked), "not_understood": 100 * verdicts.count(None) / len(asked)}
        results[name] = {"questions": len(asked), **shares}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("file", type=Path)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        results = measure(given.model, given.file, count=given.pairs, seed=given.seed)
    except InputError as error:
        sys.exit(f"clauses: {error}")
    if given.json:
        print(json.dumps(results))
        return
    for name, found in results.items():
        shares = f"{found['wrong']:5.1f} % wrong, {found['not_understood']:5.1f} % not understood"
        print(f"{name:<12} {found['questions']:4d}: {shares}")


if __name__ == "__main__":
    main()
