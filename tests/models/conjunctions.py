"""A slow reference of the features of MaxEnt: strings, tuples and sets, one example at a time."""

from __future__ import annotations

from collections.abc import Iterator

from veriscene.data.vocabulary import tokenize
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Item, Scene, Side
from veriscene.worlds.nlvr.looks import WORLD, Color, Shape

HOLE = "_"
NUMBERS = {"no": 0, "a": 1, "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
Conjunction = tuple[tuple[str, ...], str]


def conjunctions(example: Example) -> set[Conjunction]:
    """Pairs of an n-gram, possibly with its number cut out, and the name of a predicate that holds of the scene."""
    looks = looks_of(example.scene)
    found: set[Conjunction] = set()
    for gram in grams_of(tokenize(example.statement)):
        found |= {(gram, look) for look in looks}
        for place, word in enumerate(gram):
            if word.isdecimal() or word in NUMBERS:
                number = int(word) if word.isdecimal() else NUMBERS[word]
                around = (*gram[:place], HOLE, *gram[place + 1 :])
                found |= {(around, name) for name in agreeing(number, example.scene)}
    return found


def grams_of(words: list[str]) -> Iterator[tuple[str, ...]]:
    for length in range(2, 7):
        for start in range(len(words) - length + 1):
            yield tuple(words[start : start + length])


def agreeing(number: int, scene: Scene) -> Iterator[str]:
    for name, count in image_counts(scene).items():
        if count == number:
            yield f"{name} in the image"
        if count >= number:
            yield f"at least, {name} in the image"
    boxes = [box_counts(box) for box in scene.boxes]
    for name in boxes[0]:
        counts = [box[name] for box in boxes]
        if number in counts:
            yield f"{name} in some box"
        if min(counts) >= number:
            yield f"at least, {name} in each box"


def image_counts(scene: Scene) -> dict[str, int]:
    counts = kind_counts(scene.items)
    for color in Color:
        counts[f"boxes all {color}"] = sum({item["color"] for item in box.items} == {color} for box in scene.boxes)
    return counts


def box_counts(box: Box) -> dict[str, int]:
    return kind_counts(box.items) | {"items": len(box.items)}


def kind_counts(items: tuple[Item, ...]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for color in Color:
        for shape in Shape:
            kind = [item for item in items if item["color"] == color and item["shape"] == shape]
            counts[f"{color} {shape}"] = len(kind)
            counts[f"{color} {shape} at a wall"] = len([item for item in kind if WORLD.walls_of(item)])
    return counts


def looks_of(scene: Scene) -> set[str]:
    looks: set[str] = set()
    for box in scene.boxes:
        highest = min(item.y for item in box.items)
        for item in box.items:
            if item.y == highest:
                looks.add(f"{item['color']} on top")
            if Side.BOTTOM in WORLD.walls_of(item):
                looks.add(f"{item['color']} on the floor")
            if WORLD.walls_of(item):
                looks.add("something at a wall")
    return looks
