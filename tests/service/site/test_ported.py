"""The JavaScript of the static page computes what the package does: encoder, programs, readings, edits and search."""

from __future__ import annotations

import base64
import json
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packed import unpacked
from veriscene import worlds
from veriscene.data.encoder import Input
from veriscene.data.eyes import CHANNELS, GRID, read
from veriscene.data.reader import Reading, has_negative_number, large_numbers, ngrams_of, split_words
from veriscene.english import grammar
from veriscene.english.reading import reading_of
from veriscene.errors import InputError
from veriscene.judge.explain import find_flip
from veriscene.judge.folders import WEIGHTS, find
from veriscene.judge.judge import Judge, Question, Verdict
from veriscene.judge.onnx_judge import OnnxJudge, graph_inputs
from veriscene.judge.reading import with_reading
from veriscene.language.program import Program
from veriscene.language.tokens import program_of, tokens_of
from veriscene.service.site import PAGE, pack
from veriscene.world.edits import edits
from veriscene.world.scene import Scene
from veriscene.world.world_file import to_tree

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None, reason="the page's JavaScript is compared in Node, which is not installed"
)

SCRIPT = Path(__file__).with_name("ported.mjs")
STRANGE = (
    "Ther is a yelow sqare, isn't it?",
    "naïve ½ x² 3.14 café’s",
    "ONE_two ... 12,5 日本 ǅ",
    "  a\u00a0b\x1cc ",
    "a-verylongwordwithmorethansixteenletters",
)
QUESTIONS, PROGRAMS, SCENES_EACH, JUDGEMENTS = 1000, 1250, 8, (120, *[15] * 19)


@pytest.fixture(scope="module")
def judge() -> OnnxJudge:
    return OnnxJudge.load(find("best"), threads=1)


@pytest.fixture(scope="module")
def questions(judge: OnnxJudge) -> list[tuple[str, Scene]]:
    draw, rng = worlds.require(judge.world, "draw_example", "examples"), random.Random(1)
    return [draw(rng, None)[:2] for _ in range(QUESTIONS)]


def run(judge: OnnxJudge, tasks: Sequence[Sequence[Any]]) -> list[Any]:
    """Returns the results of tasks (see ported.mjs)."""
    world = {**to_tree(judge.world), "abilities": {}}
    assert judge.reader is not None
    reader = {"config": {}, "words": judge.reader.words, "tokens": judge.reader.tokens}
    about = {"vocabulary": judge.encoder.vocabulary.words, "offers": judge.offers, "reader": reader}
    given = {"world": world, "about": about, "tasks": tasks}
    done = subprocess.run(
        [str(NODE), str(SCRIPT), str(PAGE)], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[Any] = json.loads(done.stdout)
    return found


def programs(judge: OnnxJudge, count: int) -> list[Program]:
    """Programs of the grammar and of NLVR's dialect that the reader can write."""
    rng, language = random.Random(2), worlds.language(judge.world)
    dialect = worlds.require(judge.world, "draw_statement", "statements")
    assert judge.reader is not None
    known, found = set(judge.reader.tokens), dict[str, Program]()
    while len(found) < count:
        drawn = grammar.draw(rng, language) if rng.random() < 0.5 else dialect(rng, "full")
        if known.issuperset(tokens_of(drawn.program)):
            # Read back, because several ways to write the same are one in tokens.
            program = program_of(tokens_of(drawn.program), language)
            found[program.text] = program
    return list(found.values())


def test_arrays_of_questions(judge: OnnxJudge, questions: list[tuple[str, Scene]]) -> None:
    asked = [
        (f"{STRANGE[at % 5]} {text}" if at % 7 == 0 else text, scene) for at, (text, scene) in enumerate(questions)
    ]
    groups = [asked[start : start + 16] for start in range(0, len(asked), 16)]
    shown = [
        [{"statement": text, "scene": judge.world.to_json_scene(scene)} for text, scene in group] for group in groups
    ]
    for group, found in zip(groups, run(judge, [["encode", each] for each in shown]), strict=True):
        encoded = judge._encode([Question(text, scene) for text, scene in group])
        assert encoded.positions is not None
        for name, expected in graph_inputs(encoded).items():
            array = np.array(found[name]["data"]).reshape(found[name]["shape"])
            np.testing.assert_array_equal(array.astype(expected.dtype), expected)
        for row, (text, _) in enumerate(group):
            for box, order in enumerate(found["positions"][row]):
                assert order == encoded.positions[row, box, : len(order)].tolist()
            assert found["unknown"][row] == judge.unknown_words(text)
            assert found["is_new"][row] == judge.has_new_words(text)


def test_words_of_the_reader(judge: OnnxJudge, questions: list[tuple[str, Scene]]) -> None:
    marked = [
        "2-3 items",
        "4–5",
        "2-2-1",
        "1.5-2",
        "<3 circles",
        "a<=2",
        "≥ 2",
        "≥2",
        "'There is.'",
        "*two*",
        "'tis 'so",
    ]
    texts = [*STRANGE, *marked, *(text for text, _ in questions)]
    found = run(judge, [["split", text, 8192] for text in texts])
    assert found == [[[word, list(ngrams_of(word, 8192))] for word in split_words(text)] for text in texts]
    signed = ["There are -1 items.", "−2 items", "a box with (–3) items", "minus two items", "has minus 3"]
    signed += ["2-3 items", "yellow goes 2 – 2 – 1", "a - 1", "all circles minus one are blue", "minus onety"]
    assert run(judge, [["negative", text] for text in signed]) == [has_negative_number(text) for text in signed]
    assert [has_negative_number(text) for text in signed] == [True] * 5 + [False] * 5
    large = ["16 items", "sixteen or ninety", "20 percent", "twelve", "9999999999999999999999 squares", "13th", "1999"]
    assert [set(found) for found in run(judge, [["large", text] for text in large])] == [
        large_numbers(split_words(text)) for text in large
    ]


def test_execution_and_readings(judge: OnnxJudge, questions: list[tuple[str, Scene]]) -> None:
    rng, drawn = random.Random(3), programs(judge, PROGRAMS)
    scenes = [rng.sample([scene for _, scene in questions], SCENES_EACH) for _ in drawn]
    assert PROGRAMS * SCENES_EACH >= 10_000
    shown = [[judge.world.to_json_scene(scene) for scene in each] for each in scenes]
    tasks = [["program", tokens_of(program), each] for program, each in zip(drawn, shown, strict=True)]
    for program, each, found in zip(drawn, scenes, run(judge, tasks), strict=True):
        holds = [program.holds(scene) for scene in each]
        assert found == {"text": program.text, "reading": reading_of(program), "holds": holds}


def test_tokens_that_are_no_program(judge: OnnxJudge, questions: list[tuple[str, Scene]]) -> None:
    rng, language = random.Random(4), worlds.language(judge.world)
    assert judge.reader is not None
    changed = []
    for program in programs(judge, 600):
        tokens = tokens_of(program)
        for _ in range(rng.randint(1, 2)):
            tokens[rng.randrange(len(tokens))] = rng.choice(judge.reader.tokens[6:])
        changed.append(tokens)
    scene = questions[0][1]
    found = run(judge, [["program", tokens, [judge.world.to_json_scene(scene)]] for tokens in changed])
    valid = 0
    for tokens, result in zip(changed, found, strict=True):
        try:
            program = program_of(tokens, language)
        except InputError:
            assert result is None, tokens
        else:
            valid += 1
            assert result == {"text": program.text, "reading": reading_of(program), "holds": [program.holds(scene)]}
    assert 0 < valid < len(changed)


def test_all_tokens_are_known(judge: OnnxJudge) -> None:
    """Each function that the reader can write has its JavaScript."""
    assert judge.reader is not None
    text = "\n".join(path.read_text() for path in (PAGE / "local").glob("*.js"))
    for token in judge.reader.tokens[6:]:
        name = token.partition("/")[0]
        for attribute in judge.world.by_name:
            name = name.replace(attribute, "${name}")
        assert "/" not in token or name in text or name in ("and", "or", "{}", "[]=", "${name}") or " " in name, token


def test_edits(judge: OnnxJudge, questions: list[tuple[str, Scene]]) -> None:
    world, scenes = judge.world, [scene for _, scene in questions[:150]]
    for scene, found in zip(
        scenes, run(judge, [["edits", world.to_json_scene(scene)] for scene in scenes]), strict=True
    ):
        expected = [
            {**edit.to_json(), "cost": edit.cost, "scene": world.to_json_scene(after)}
            for edit, after in edits(world, scene)
        ]
        assert found == expected


class ProgramJudge(Judge):
    """Judges by a program, and by a sum over the items that stands for what a network adds."""

    def __init__(self, judge: OnnxJudge, program: Program) -> None:
        self.encoder, self.order, self.read = judge.encoder, judge.order, program

    def program(self, statement: str) -> Program:
        return self.read

    def _judge(self, questions: list[Question], *, maps: bool = True, readings: bool = True) -> list[Verdict]:
        found = []
        for question in questions:
            assert question.scene is not None
            bias = sum((item.x * 7 + item.y * 13 + item.width * 3) % 101 for item in question.scene.items) % 64
            share = (bias + 1) / 130
            probability = 0.5 + share if self.read.holds(question.scene) else 0.5 - share
            found.append(Verdict(probability, None, None, None, {}, world=self.world))
        return found


def test_search_for_the_smallest_change(judge: OnnxJudge, questions: list[tuple[str, Scene]]) -> None:
    world, drawn = judge.world, programs(judge, QUESTIONS)
    assert Input.ITEMS in judge.encoder.inputs
    limits = [JUDGEMENTS[number % len(JUDGEMENTS)] for number in range(QUESTIONS)]
    tasks = [
        ["search", tokens_of(program), world.to_json_scene(scene), most]
        for program, (_, scene), most in zip(drawn, questions, limits, strict=True)
    ]
    for program, (text, scene), most, found in zip(drawn, questions, limits, run(judge, tasks), strict=True):
        search = find_flip(ProgramJudge(judge, program), Question(text, scene), most_judgements=most)
        flip = search.flip
        assert found == {
            "judgements": search.judgements,
            "complete": search.complete,
            "edits": None if flip is None else [edit.to_json() for edit in flip.edits],
            "scene": None if flip is None else world.to_json_scene(flip.scene),
        }


def test_network_and_reader_together(judge: OnnxJudge, questions: list[tuple[str, Scene]]) -> None:
    rng, drawn = random.Random(5), programs(judge, 300)
    tasks, expected = [], []
    for number, (program, (text, scene)) in enumerate(zip(drawn, questions, strict=False)):
        probability, certainty, dialect, outside = (rng.random() for _ in range(4))
        is_new, written = rng.random() < 0.3, None if number % 9 == 0 else program
        reading = Reading(written, certainty, dialect, outside**2)
        verdict = Verdict(probability, None, None, None, {}, world=judge.world)
        expected.append(with_reading(verdict, Question(text, scene), reading, is_new=is_new).to_json())
        shown = {"certainty": certainty, "dialect": dialect, "outside": outside**2}
        shown["tokens"] = None if written is None else tokens_of(written)
        tasks.append(["combine", probability, shown, judge.world.to_json_scene(scene), is_new])
    for found, wanted in zip(run(judge, tasks), expected, strict=True):
        assert found["probability"] == pytest.approx(wanted["probability"], abs=1e-9)
        assert all(found[name] == wanted[name] for name in ("verdict", "understood", "reading", "disputed"))


def test_packed_weights(judge: OnnxJudge) -> None:
    path = find("best") / WEIGHTS
    packed, segments = pack(path)
    assert len(packed) < 0.52 * path.stat().st_size
    (found,) = run(judge, [["unpack", base64.b64encode(packed).decode(), segments]])
    assert base64.b64decode(found) == unpacked(packed, segments)


def test_items_that_eyes_see(judge: OnnxJudge) -> None:
    outputs = np.random.default_rng(1).normal(-1.0, 1.5, (6, CHANNELS, GRID, GRID)).astype(np.float32)
    (found,) = run(judge, [["eyes", outputs.ravel().tolist(), outputs.shape]])
    assert found == judge.world.to_json_scene(Scene(tuple(read(outputs))))
