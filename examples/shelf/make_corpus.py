"""Makes a corpus of labelled statements about shelves: python make_corpus.py OUT [STATEMENTS] [SEED] [SCENES].

The templates give about 400 different statements.

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

OF_COLOR, OF_KIND = "lambda x: color(x) == {color}", "lambda x: kind(x) == {kind}"
PRODUCT = "lambda x: color(x) == {color} and kind(x) == {kind}"
TEMPLATES = [
    ("There is a {color} {kind}.", f"Any(all_items, {PRODUCT})"),
    ("No {kind} is {color}.", f"not Any(all_items, {PRODUCT})"),
    ("There is no {color} product.", f"not Any(all_items, {OF_COLOR})"),
    ("There are exactly {n} {kind}s.", f"count(filter_obj(all_items, {OF_KIND})) == {{n}}"),
    ("There are at least {n} {color} products.", f"count(filter_obj(all_items, {OF_COLOR})) >= {{n}}"),
    ("At most {n} products are on offer.", "count(filter_obj(all_items, lambda x: offer(x) == yes)) <= {n}"),
    (
        "There are more {color} products than {other} products.",
        f"count(filter_obj(all_items, {OF_COLOR})) > count(filter_obj(all_items, lambda x: color(x) == {{other}}))",
    ),
    ("A {kind} costs more than {price} euros.", "Any(all_items, lambda x: kind(x) == {kind} and price(x) > {price})"),
    (
        "No {kind} costs less than {price} euros.",
        "not Any(all_items, lambda x: kind(x) == {kind} and price(x) < {price})",
    ),
    ("Every product costs at least {price} euros.", "All(all_items, lambda x: price(x) >= {price})"),
    (
        "A {color} product on offer costs at most {price} euros.",
        "Any(all_items, lambda x: color(x) == {color} and offer(x) == yes and price(x) <= {price})",
    ),
    ("There is an empty shelf.", "Any(all_boxes, lambda b: count(b.all_items_in_box()) == 0)"),
    ("Some shelf has exactly {n} products.", "Any(all_boxes, lambda b: count(b.all_items_in_box()) == {n})"),
    ("Every shelf has a {color} product.", f"All(all_boxes, lambda b: Any(b.all_items_in_box(), {OF_COLOR}))"),
    ("Some shelf has no {kind}.", f"Any(all_boxes, lambda b: not Any(b.all_items_in_box(), {OF_KIND}))"),
    (
        "One shelf has both a {color} product and a {kind}.",
        f"Any(all_boxes, lambda b: Any(b.all_items_in_box(), {OF_COLOR}) and Any(b.all_items_in_box(), {OF_KIND}))",
    ),
    (
        "On every shelf something costs more than {price} euros.",
        "All(all_boxes, lambda b: Any(b.all_items_in_box(), lambda x: price(x) > {price}))",
    ),
    ("There are {n} shelves.", "count(all_boxes) == {n}"),
]


def main(out: Path, statements: int = 300, seed: int = 1, scenes_each: int = 16) -> None:
    """Writes a corpus; half of the scenes of each statement make it true."""
    world, rng = veriscene.World.read(WORLD_FILE), random.Random(seed)
    tried, half = 25 * scenes_each, scenes_each // 2  # scenes of one statement
    scenes = [random_scene(world, rng) for _ in range(max(3000, 3 * tried))]
    lines: dict[str, list[str]] = {}
    unbalanced: set[str] = set()
    for _ in range(statements * 20):
        if len(lines) == statements:
            break
        text, meaning = rng.choice(TEMPLATES)
        color, other = rng.sample(list(world.by_name["color"].by_name), 2)
        words = {"color": color, "other": other, "kind": rng.choice(list(world.by_name["kind"].by_name))}
        words |= {"n": str(rng.randint(1, 8)), "price": str(rng.randint(2, 19))}
        statement = text.format(**words)
        if statement in lines or statement in unbalanced:
            continue
        program, some = veriscene.parse(meaning.format(**words), world=world), rng.sample(scenes, tried)
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
