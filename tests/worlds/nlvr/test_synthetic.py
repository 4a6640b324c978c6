"""What synthetic corpora promise: right labels, balance, near misses, and scenes that do not give their label away."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from veriscene import worlds
from veriscene.config import LEVELS
from veriscene.errors import InputError
from veriscene.language.program import Statement, read_programs
from veriscene.world.corpus import split_file, supervision
from veriscene.world.examples import Example, normalized
from veriscene.world.scene import Scene
from veriscene.worlds import parse
from veriscene.worlds.nlvr import synthetic as corpus
from veriscene.worlds.nlvr.looks import SCENE_KINDS, WORLD, Color, SceneKind, Shape, Size
from veriscene.worlds.nlvr.synthetic import SPLITS, Corpus, labelled_scenes

PICTURES = 4


@pytest.fixture(scope="module", params=LEVELS)
def made(request: pytest.FixtureRequest) -> Corpus:
    return corpus.build(600, seed=11, level=request.param)


def presentations(made: Corpus) -> list[tuple[Statement, list[Example]]]:
    return [
        (statement, made[split][PICTURES * number : PICTURES * (number + 1)])
        for split in SPLITS
        for number, statement in enumerate(made.statements[split])
    ]


# ---------------------------------------------------------------- labels and splits


def test_labels_are_what_the_programs_say(made: Corpus) -> None:
    for statement, examples in presentations(made):
        for example in examples:
            assert statement.program.holds(example.scene) is example.label, (statement.text, example)


def test_each_statement_has_two_true_and_two_false_scenes(made: Corpus) -> None:
    for statement, examples in presentations(made):
        assert Counter(example.label for example in examples) == {True: 2, False: 2}
        assert {example.statement for example in examples} == {statement.text}
        assert len({example.presentation for example in examples}) == 1
        assert len({example.directory for example in examples}) == 1
        assert len({example.scene for example in examples}) == PICTURES


def test_the_order_of_the_pictures_tells_nothing(made: Corpus) -> None:
    true_at = Counter(
        int(example.identifier.split("-")[1]) for split in SPLITS for example in made[split] if example.label
    )
    assert all(0.4 < true_at[picture] / 600 < 0.6 for picture in range(PICTURES))


def test_splits_have_their_shares_and_no_statement_in_common(made: Corpus) -> None:
    assert {split: len(examples) for split, examples in made.items()} == {"train": 1920, "dev": 240, "test": 240}
    texts = [{normalized(example.statement) for example in made[split]} for split in SPLITS]
    assert not texts[0] & texts[1] and not texts[0] & texts[2] and not texts[1] & texts[2]
    identifiers = [example.identifier for split in SPLITS for example in made[split]]
    assert len(set(identifiers)) == len(identifiers)


def test_both_kinds_occur_about_as_often(made: Corpus) -> None:
    """A kind whose statements are hard to make true or false must not become rare."""
    kinds = Counter(statement.kind for statement, _ in presentations(made))
    assert min(kinds.values()) > 0.4 * kinds.total()


# ---------------------------------------------------------------- scenes


def test_false_scenes_are_near_misses_of_true_ones(made: Corpus) -> None:
    distances = []
    for statement, examples in presentations(made):
        true = [example.scene for example in examples if example.label]
        for example in examples:
            if not example.label:
                distances.append(min(_edits(statement.kind, example.scene, scene) for scene in true))
    assert max(distances) <= 6  # three edits, and a swap counts for two items
    assert np.mean(distances) < 2.2


def _edits(kind: str | None, one: Scene, other: Scene) -> int:
    """How many items have to change: by place in a tower, as multisets in scatter boxes."""
    return sum(
        _tower_edits(tuple(i["color"] for i in a.items), tuple(i["color"] for i in b.items))
        if kind == "tower"
        else max((Counter(a.items) - Counter(b.items)).total(), (Counter(b.items) - Counter(a.items)).total())
        for a, b in zip(one.boxes, other.boxes, strict=True)
    )


def _tower_edits(one: tuple[object, ...], other: tuple[object, ...]) -> int:
    if not one or not other:
        return len(one) + len(other)
    return min(
        _tower_edits(one[1:], other) + 1,
        _tower_edits(one, other[1:]) + 1,
        _tower_edits(one[1:], other[1:]) + (one[0] != other[0]),
    )


def test_the_scene_alone_does_not_predict_the_label(made: Corpus) -> None:
    examples = [example for split in SPLITS for example in made[split]]
    features = np.array([_scene_features(example.scene) for example in examples], dtype=float)
    features = (features - features.mean(0)) / (features.std(0) + 1e-9)
    labels = np.array([1.0 if example.label else -1.0 for example in examples])
    fold = np.array([int(example.presentation) % 2 for example in examples])
    right = []
    for held_out in (0, 1):
        weights = np.linalg.lstsq(features[fold != held_out], labels[fold != held_out], rcond=None)[0]
        right += list((features[fold == held_out] @ weights > 0) == (labels[fold == held_out] > 0))
    assert 0.44 < np.mean(right) < 0.56


def _scene_features(scene: Scene) -> list[int]:
    items = scene.items
    return [
        len(items),
        *(sum(item["color"] == color for item in items) for color in Color),
        *(sum(item["shape"] == shape for item in items) for shape in Shape),
        *(sum(item["size"] == size for item in items) for size in Size),
        *sorted(len(box.items) for box in scene.boxes),
        *sorted(len({item["color"] for item in box.items}) for box in scene.boxes),
        sum(bool(WORLD.walls_of(item)) for item in items),
        sum(len(WORLD.walls_of(item)) == 2 for item in items),
    ]


@pytest.mark.parametrize("program", ["count(all_boxes) == 3", "count(all_items) > 40", "count(all_items) > 0"])
@pytest.mark.parametrize("kind", SCENE_KINDS)
def test_what_is_always_or_never_true_gets_no_scenes(program: str, kind: SceneKind) -> None:
    statement = Statement("There is something.", kind, parse(program))
    assert labelled_scenes(np.random.default_rng(0), [statement]) == [None]


# ---------------------------------------------------------------- files, seeds, errors


def test_what_is_written_is_read_back(made: Corpus, tmp_path: Path) -> None:
    corpus.write(tmp_path, made)
    for split in SPLITS:
        assert worlds.read(split_file(tmp_path, split)) == made[split]
        programs = read_programs(corpus.program_file(tmp_path, split), worlds.language(), kinds=SCENE_KINDS)
        assert programs == made.statements[split]
    description = json.loads((tmp_path / "corpus.json").read_text())
    assert description == {"supervision": "synthetic", "statements": 600, "level": made.level, "seed": 11}
    assert {path.name for path in tmp_path.iterdir()} == {"train", "dev", "test", "programs", "corpus.json"}


def test_supervision_is_what_the_corpus_says(tmp_path: Path) -> None:
    assert supervision(tmp_path) == "labels"
    for name in ("synthetic", "programs", "labels"):
        (tmp_path / "corpus.json").write_text(json.dumps({"supervision": name}))
        assert supervision(tmp_path) == name
    for text in ("{", "[]", "{}", '{"supervision": "guesses"}', '{"supervision": ["labels"]}'):
        (tmp_path / "corpus.json").write_text(text)
        with pytest.raises(InputError):
            supervision(tmp_path)


DIGEST = """
import sys
from pathlib import Path
from veriscene.worlds.nlvr import synthetic as corpus
corpus.write(Path(sys.argv[1]), corpus.build(40, seed=int(sys.argv[2])))
"""


def test_the_same_seed_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    def digest(seed: int, hash_seed: str) -> str:
        folder = tmp_path / f"{seed}-{hash_seed}"
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", DIGEST, str(folder), str(seed)], check=True, env=environment)
        files = sorted(folder.rglob("*.json*"))
        assert len(files) == 7
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

    first = digest(1, "1")
    assert digest(1, "2") == first != digest(2, "1")


def test_progress_counts_statements() -> None:
    calls: list[tuple[int, int]] = []
    corpus.build(12, seed=0, level="simple", progress=lambda done, total: calls.append((done, total)))
    assert calls == [(number, 12) for number in range(1, 13)]


def test_more_statements_than_texts_repeat_within_their_split() -> None:
    made = corpus.build(1000, seed=4, level="simple")
    texts = {split: [normalized(statement.text) for statement in made.statements[split]] for split in SPLITS}
    assert {split: len(texts[split]) for split in SPLITS} == {"train": 800, "dev": 100, "test": 100}
    assert len(set(texts["train"])) < 800
    assert not set(texts["train"]) & set(texts["dev"])


@pytest.mark.parametrize(
    ("statements", "level"), [(-1, "full"), (0, "full"), (9, "full"), (1_000_001, "full"), (10, "hard")]
)
def test_an_unknown_level_and_too_few_or_too_many_statements_are_errors(statements: int, level: str) -> None:
    with pytest.raises(InputError):
        corpus.build(statements, seed=0, level=level)


def test_examples_for_people_have_no_misspellings() -> None:
    rng, known = random.Random(1), ("ll", "t", "atleast", "bellow", "eactly", "yelow", "theer", "wih", "ble", "sqaure")
    statements = [corpus.draw_example(rng)[0] for _ in range(100)]
    assert not {word for statement in statements for word in statement.lower().split()} & {*known}
    assert len({*statements}) > 90
