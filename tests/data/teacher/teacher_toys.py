"""A small corpus and statements with programs, for tests of teachers."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

from samples import drawn_scene, small_config, write_corpus
from veriscene.config import Config
from veriscene.models import load_preset
from veriscene.training.source import TeacherSource
from veriscene.world.examples import Example

BLACK_TOP = "exist(filter_obj(all_items, lambda x: is_black(x) and is_top(x)))"
YELLOW_CIRCLE = "exist(filter_obj(all_items, lambda x: is_yellow(x) and is_circle(x)))"
TWO_BLUE = "count(filter_obj(all_boxes, lambda b: exist(filter_obj(b, is_blue)))) == 2"
CIRCLE_AT_TOP = "exist(filter_obj(all_items, lambda x: is_circle(x) and is_touching_wall(x, Side.TOP)))"
STATEMENTS = [
    {"sentence": "There is a tower with a black top.", "kind": "tower", "program": BLACK_TOP},
    {"statement": "There is a yellow circle.", "kind": "scatter", "program": YELLOW_CIRCLE},
    {"statement": "There are exactly two boxes with a blue item", "program": TWO_BLUE},
    {"sentence": "A circle touches the top wall.", "kind": "scatter", "program": CIRCLE_AT_TOP},
    {"sentence": "There is an item.", "kind": "scatter", "program": "exist(all_items)"},
    {"sentence": "There are five towers.", "kind": "tower", "program": "count(all_boxes) == 5"},
]
ONE_SIDED = (4, 5)
GRAMMAR = "teacher.statements=5"


def examples(count: int, seed: int) -> list[Example]:
    rng = random.Random(seed)
    texts = ["There is a black block", "There is a yellow circle."]
    return [
        Example(
            f"{n // 4}-{n % 4}",
            rng.choice(texts),
            drawn_scene(rng.getrandbits(32), ("tower", "scatter")[n % 2]),
            rng.random() < 0.5,
        )
        for n in range(count)
    ]


def corpus(folder: Path) -> Path:
    return write_corpus(folder, examples(80, seed=1), examples(20, seed=2))


def programs(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in STATEMENTS), encoding="utf-8")
    return path


def config(*changes: str) -> Config:
    settings = ["data.minimum_count=1", "training.batch=16", "training.evaluate_every=0", "training.precision=tf32"]
    settings += ["teacher.scenes=12", "teacher.grammar_scenes=6", "teacher.workers=2", "training.threads=1", *changes]
    return replace(load_preset("biatt", settings), model=small_config("biatt"))


def teacher(folder: Path, *changes: str, with_programs: bool = True) -> TeacherSource:
    files = [programs(folder / "programs.jsonl")] if with_programs else []
    return TeacherSource.open(config(*changes), corpus(folder / "corpus"), files)
