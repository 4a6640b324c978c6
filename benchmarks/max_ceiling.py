"""How accurate can a model be whose verdict is the max over three box scores (the paper's pooling)?

    python benchmarks/max_ceiling.py NLVR PROGRAMS

The score of a box is the share of scenes with this box and two random ones of which the statement's program holds. An
example is judged true if its best box's score reaches a threshold, chosen per statement on dev itself and on random
scenes. This is a lower bound, since another score may do better, and an analysis, not a model: it uses programs and dev
labels.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from pathlib import Path

from veriscene import worlds
from veriscene.language.program import Program, read_programs
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Scene
from veriscene.worlds.nlvr.looks import WORLD

PAIRS, RANDOM_SCENES = 24, 40  # pairs of other boxes that a box is scored with


def has_towers(scene: Scene) -> bool:
    return all(map(WORLD.is_tower, scene.boxes))


def right_with_max(program: Program, examples: list[Example], boxes: list[Box], rng: random.Random) -> int:
    """How many of a statement's examples a threshold on the best box's score gets right."""
    pairs = [(rng.choice(boxes), rng.choice(boxes)) for _ in range(PAIRS)]

    def best_score(scene: Scene) -> int:
        return max(sum(program.holds(Scene((box, *pair))) for pair in pairs) for box in scene.boxes)

    drawn = [Scene((rng.choice(boxes), rng.choice(boxes), rng.choice(boxes))) for _ in range(RANDOM_SCENES)]
    judged = [(best_score(example.scene), example.label) for example in examples]
    seen = [*judged, *((best_score(scene), program.holds(scene)) for scene in drawn)]
    threshold = max(range(PAIRS + 2), key=lambda t: sum((score >= t) == label for score, label in seen))
    return sum((score >= threshold) == label for score, label in judged)


def main(nlvr_folder: Path, programs: Path) -> None:
    rng = random.Random(0)
    boxes: dict[bool, list[Box]] = defaultdict(list)
    for example in worlds.read(split_file(nlvr_folder, "train")):
        boxes[has_towers(example.scene)].extend(example.scene.boxes)
    by_statement: dict[str, list[Example]] = defaultdict(list)
    for example in worlds.read(split_file(nlvr_folder, "dev")):
        by_statement[example.statement].append(example)
    meanings = {stated.text: stated.program for stated in read_programs(programs / "dev.jsonl", worlds.language())}
    right: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for statement, examples in by_statement.items():
        is_towers = has_towers(examples[0].scene)
        found = right_with_max(meanings[statement], examples, boxes[is_towers], rng)
        for name in ("all", "towers" if is_towers else "scatter"):
            right[name][0] += found
            right[name][1] += len(examples)
    for name, (count, total) in right.items():
        print(f"{name:<8} {count / total:.1%} of {total}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
