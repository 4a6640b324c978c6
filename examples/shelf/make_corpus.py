"""Makes a corpus of labelled statements about shelves: python make_corpus.py OUT [STATEMENTS] [SEED] [SCENES].

The templates give several thousand different statements.

A statement comes from a template together with its meaning, a program; its label on a scene is the program's value.
Writes OUT/world.toml and OUT/{train,dev,test}/{train,dev,test}.json, one JSON object per line.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path

import veriscene
from veriscene.world.random_scenes import random_scene

WORLD_FILE = Path(__file__).with_name("shelf.toml")

# A kind of product: how it is called, one and several, and its condition on x.
THINGS = [
    ("{color} product", "{color} products", "color(x) == {color}"),
    ("{kind}", "{kind}s", "kind(x) == {kind}"),
    ("{color} {kind}", "{color} {kind}s", "color(x) == {color} and kind(x) == {kind}"),
    ("{kind} on offer", "{kind}s on offer", "kind(x) == {kind} and offer(x) == yes"),
    ("{color} product on offer", "{color} products on offer", "color(x) == {color} and offer(x) == yes"),
    ("product on offer", "products on offer", "offer(x) == yes"),
]


def those(of: str, condition: str) -> str:
    return f"filter_obj({of}, lambda x: {condition})"


ONE, TWO = those("all_items", "{one}"), those("all_items", "{two}")  # all products of such kinds
HERE, THERE = those("b", "{one}"), those("b", "{two}")  # those of a shelf
CHEAPER, DEARER = "{one} and price(x) < {price}", "{one} and price(x) > {price}"
TEMPLATES = [
    ("There is a {one}.", f"exist({ONE})"),
    ("There is no {one}.", f"not exist({ONE})"),
    ("There are exactly {n} {ones}.", f"count({ONE}) == {{n}}"),
    ("There are at least {n} {ones}.", f"count({ONE}) >= {{n}}"),
    ("At most {n} {ones} are here.", f"count({ONE}) <= {{n}}"),
    ("There are more {ones} than {twos}.", f"count({ONE}) > count({TWO})"),
    ("A {one} costs more than {price} euros.", f"exist({those('all_items', DEARER)})"),
    ("No {one} costs less than {price} euros.", f"not exist({those('all_items', CHEAPER)})"),
    ("Every {one} costs at least {price} euros.", f"not exist({those('all_items', CHEAPER)})"),
    ("A {one} costs at most {price} euros.", f"exist({those('all_items', '{one} and price(x) <= {price}')})"),
    ("There is an empty shelf.", "Any(all_boxes, lambda b: count(b) == 0)"),
    ("Some shelf has exactly {n} {ones}.", f"Any(all_boxes, lambda b: count({HERE}) == {{n}})"),
    ("Every shelf has a {one}.", f"All(all_boxes, lambda b: exist({HERE}))"),
    ("Some shelf has no {one}.", f"Any(all_boxes, lambda b: not exist({HERE}))"),
    (
        "One shelf has both a {one} and a {two}.",
        f"Any(all_boxes, lambda b: exist({HERE}) and exist({THERE}))",
    ),
    (
        "On every shelf a {one} costs more than {price} euros.",
        f"All(all_boxes, lambda b: exist({those('b', DEARER)}))",
    ),
    ("There are {n} shelves.", "count(all_boxes) == {n}"),
]


def draw_statement(rng: random.Random, world: veriscene.World) -> tuple[str, str]:
    """Returns a statement and its program."""
    text, meaning = rng.choice(TEMPLATES)
    words, conditions = {"n": str(rng.randint(1, 8)), "price": str(rng.randint(2, 19))}, {}
    for name, thing in zip(("one", "two"), rng.sample(THINGS, 2), strict=True):
        values = {each: rng.choice(list(world.by_name[each].by_name)) for each in ("color", "kind")}
        words[name], words[f"{name}s"], conditions[name] = (part.format(**values) for part in thing)
    return text.format(**words), meaning.format(**{**words, **conditions})


def main(out: Path, statements: int = 3000, seed: int = 1, scenes_each: int = 16) -> None:
    """Writes a corpus; half of the scenes of each statement make it true."""
    world, rng = veriscene.World.read(WORLD_FILE), random.Random(seed)
    tried, half = 25 * scenes_each, scenes_each // 2  # scenes of one statement
    scenes = [random_scene(world, rng) for _ in range(max(3000, 3 * tried))]
    lines: dict[str, list[str]] = {}
    unbalanced: set[str] = set()
    for _ in range(statements * 20):
        if len(lines) == statements:
            break
        statement, meaning = draw_statement(rng, world)
        if statement in lines or statement in unbalanced:
            continue
        program, some = veriscene.parse(meaning, world=world), rng.sample(scenes, tried)
        holds = [program.holds(scene) for scene in some]
        if not half <= sum(holds) <= len(holds) - half:
            unbalanced.add(statement)
            continue
        chosen = [n for label in (True, False) for n in [n for n, held in enumerate(holds) if held is label][:half]]
        lines[statement] = [
            json.dumps(
                {
                    "identifier": f"{len(lines)}-{number}",
                    "statement": statement,
                    "scene": world.to_json_scene(some[index]),
                    "label": holds[index],
                },
                ensure_ascii=False,
            )
            for number, index in enumerate(chosen)
        ]
    order = rng.sample(list(lines), len(lines))  # statements of dev and test do not occur in train
    tenth = max(1, len(order) // 10)
    for split, part in {"dev": order[:tenth], "test": order[tenth : 2 * tenth], "train": order[2 * tenth :]}.items():
        (out / split).mkdir(parents=True, exist_ok=True)
        text = "\n".join(line for statement in part for line in lines[statement]) + "\n"
        (out / split / f"{split}.json").write_text(text, encoding="utf-8")
        print(f"{split}: {len(part)} statements")
    shutil.copy(WORLD_FILE, out / "world.toml")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
