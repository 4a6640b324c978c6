"""Programs on many scenes at once, against the plain evaluator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from close_calls import LANGUAGE, draw_scene
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import random_programs

from some_worlds import WORLDS, scenes_of
from veriscene import worlds
from veriscene.english.grammar import draw
from veriscene.errors import InputError
from veriscene.language import execution
from veriscene.language.bulk.arrays import SceneArrays, layout_of
from veriscene.language.bulk.evaluation import BulkProgram, compile_rows
from veriscene.language.bulk.rows import Unsupported
from veriscene.language.execution import MAX_STEPS, compile_expression
from veriscene.language.functions import Undefined
from veriscene.language.program import Program, read_programs
from veriscene.world.corpus import split_file
from veriscene.world.scene import Scene
from veriscene.world.schema import World

each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
TRUE, FALSE, UNDEFINED = 1, 0, -1

# What the public programs do not use, and where evaluation stops before an operand or a member without a value.
ODD_PROGRAMS = """
unique(filter_obj(all_items, is_black)).color == Color.BLACK
exist(filter_obj(all_items, is_black)) and is_top(unique(filter_obj(all_items, is_black)))
count(filter_obj(all_items, is_black)) != 1 or is_square(unique(filter_obj(all_items, is_black)))
Any(all_items, lambda x: is_blue(x) or is_circle(unique(get_touching(x))))
All(all_items, lambda x: is_blue(x) and is_circle(unique(get_above(x))))
Any(all_boxes, lambda b: is_blue(min(filter_obj(b, is_square), key=lambda x: count(get_touching(x)))))
count(all_items) % count(filter_obj(all_items, is_black)) == 0
not is_yellow(all_items[9])
exist(filter_obj(all_boxes[0], is_black)) and exist(filter_obj(all_items[2:5], is_circle))
count(filter_obj(all_items[3:], is_circle)) > 1
exist(filter_obj(all_items, lambda x: is_closely_touching_specific_corner(x, sideA=Side.TOP, sideB=Side.LEFT)))
exist(filter_obj(all_items, lambda x: is_touching_corner(x, side=Side.ANY)))
exist(filter_obj(all_items, lambda x: x.size == Size.BIG and member_of(x.color, {Color.BLACK, Color.BLUE})))
all_same_attribute(all_items, lambda x: x.shape)
all_same_attribute(all_boxes, lambda b: get_set_colors(b.all_items_in_box()))
all_same_attribute(filter_obj(all_items, is_small), lambda x: x.box)
all_same(all_boxes)
contained(get_touching(filter_obj(all_items, is_black)), filter_obj(all_items, is_square))
exist(filter_obj(all_items, lambda x: count(get_box_exclusive(x)) == 2 and len(get_box_inclusive(x)) == 3))
exist(filter_obj(all_items, lambda x: exist(get_img_all_above(x))))
exist(filter_obj(combinations(all_items, 2), lambda p: is_closely_touching(p[0], p[1]) and p[0].box != p[1].box))
count(combinations(all_boxes, 2)) == 3 and exist(select(2, all_items))
equal(all_boxes[0], all_boxes[1].all_items_in_box()) or equal(count(all_items), 9)
len(query_color(all_items) + query_color(all_boxes[0])) > len(set(query_color(all_items)))
len([all_items[0], all_items[0]]) == 2 and count([all_items[0], all_items[0]]) == 1
union(get_above(all_items[0]), filter_obj(all_items, is_big)) == get_below(filter_obj(all_items, is_top))
exist(intersect(get_set_shapes(all_boxes[0]), get_set_shapes(all_boxes[1]))) and all(all_items)
exist(filter_obj(all_items, lambda x: exist(filter_obj(x.box, lambda x: is_black(x))) and is_yellow(x)))
exist(filter_obj(all_items, is_black) or filter_obj(all_items, is_big))
count(all_items) and exist(all_items) and filter_obj(all_items, is_circle)
1 == count(filter_obj(all_items, is_black)) <= count(filter_obj(all_items, is_circle))
""".strip().splitlines()


def plain(programs: Sequence[Program], scenes: Sequence[Scene]) -> np.ndarray:
    """(program, scene): TRUE, FALSE or UNDEFINED, by the plain evaluator."""
    codes = [compile_expression(program.expression, program.language.place) for program in programs]
    found = np.full((len(codes), len(scenes)), UNDEFINED)
    for column, scene in enumerate(scenes):
        for row, code in enumerate(codes):
            with suppress(Undefined):
                found[row, column] = bool(code(scene))
    return found


def bulk(programs: Sequence[Program], scenes: Sequence[Scene]) -> np.ndarray:
    arrays = SceneArrays.of(programs[0].language.world, scenes)
    truths = [BulkProgram(program)(arrays) for program in programs]
    return np.array([np.where(truth.undefined, UNDEFINED, truth.holds) for truth in truths])


def test_the_public_programs_have_the_same_value_on_each_of_many_scenes(
    nlvr_folder: Path, programs_folder: Path
) -> None:
    programs = [each.program for each in read_programs(programs_folder / "train.jsonl", LANGUAGE)]
    corpus = [example.scene for example in worlds.read(split_file(nlvr_folder, "train"))]
    scenes = [*random.Random(1).sample(corpus, 80), *map(draw_scene, range(40)), *scenes_of(LANGUAGE.world, 40)]
    expected = plain(programs, scenes)
    assert np.array_equal(bulk(programs, scenes), expected)
    assert (expected == UNDEFINED).sum() > 100, "scenes on which programs have no value must be among them"
    vectorised = np.mean([BulkProgram(program).vectorised for program in programs])
    print(f"{vectorised:.2%} of {len(programs)} programs are vectorised")
    assert vectorised >= 0.98


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_odd_programs_have_the_same_value(seed: int) -> None:
    programs = [*map(LANGUAGE.parse, ODD_PROGRAMS)]
    scenes = [*map(draw_scene, range(seed, seed + 8)), *scenes_of(LANGUAGE.world, 8, seed)]
    assert np.array_equal(bulk(programs, scenes), plain(programs, scenes))


def affordable(programs: Sequence[Program], scenes: Sequence[Scene]) -> list[Program]:
    """Those that do not take too many steps."""
    found = []
    for program in programs:
        with suppress(InputError):
            for scene in scenes:
                program.holds(scene)
            found.append(program)
    return found


@each_world
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_random_programs_have_the_same_value_in_any_world(world: World, seed: int) -> None:
    scenes = scenes_of(world, 7, seed)
    programs = affordable(random_programs(worlds.language(world), random.Random(seed)), scenes)
    one, other = bulk(programs, scenes), plain(programs, scenes)
    for program, ours, theirs in zip(programs, one, other, strict=True):
        assert np.array_equal(ours, theirs), program


@each_world
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32))
def test_the_grammars_programs_have_the_same_value(world: World, seed: int) -> None:
    rng, scenes = random.Random(seed), scenes_of(world, 12, seed)
    programs = [draw(rng, worlds.language(world)).program for _ in range(150)]
    assert np.array_equal(bulk(programs, scenes), plain(programs, scenes))


@each_world
def test_the_grammars_programs_are_vectorised(world: World) -> None:
    """A teacher evaluates them by the million."""
    rng, language = random.Random(1), worlds.language(world)
    programs = [draw(rng, language).program for _ in range(600)]
    assert np.mean([BulkProgram(program).vectorised for program in programs]) > 0.95


@each_world
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_the_cost_of_a_program_bounds_the_steps_of_the_plain_evaluator(world: World, seed: int) -> None:
    """So that a program that may take too many steps is left to it."""
    language, (scene,) = worlds.language(world), scenes_of(world, 1, seed)
    odd = map(LANGUAGE.parse, ODD_PROGRAMS if world == LANGUAGE.world else ())
    for program in [*odd, *random_programs(language, random.Random(seed))]:
        with suppress(Unsupported, Undefined):
            code = compile_rows(program.expression, layout_of(world))
            bound = code.cost + code.operators
            if bound <= MAX_STEPS:
                with patch.object(execution, "MAX_STEPS", bound):  # more are an InputError
                    compile_expression(program.expression, language.place)(scene)


def test_too_many_steps_are_refused_as_by_the_plain_evaluator() -> None:
    text = "is_black(a)"
    for name in "abcdef":
        text = f"count(filter_obj(all_items, lambda {name}: {text})) > 0"
    program = LANGUAGE.parse(text)
    scene = max(scenes_of(LANGUAGE.world, 50), key=lambda scene: len(scene.items))
    with pytest.raises(InputError):
        program.holds(scene)
    with pytest.raises(InputError):
        BulkProgram(program)(SceneArrays.of(LANGUAGE.world, [scene]))


@each_world
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_arrays_and_scenes_are_inverse_and_no_scene_depends_on_another(world: World, seed: int) -> None:
    scenes = scenes_of(world, 6, seed)
    arrays = SceneArrays.of(world, scenes)
    assert arrays.scenes() == scenes
    assert arrays[np.array([4, 1])].scenes() == [scenes[4], scenes[1]]
    assert SceneArrays.concatenated([arrays[:2], arrays[2:]]).scenes() == scenes
    programs = affordable(random_programs(worlds.language(world), random.Random(seed)), scenes)
    assert np.array_equal(bulk(programs, scenes)[:, 2:3], bulk(programs, scenes[2:3]))
    assert bulk(programs, []).shape == (len(programs), 0)
