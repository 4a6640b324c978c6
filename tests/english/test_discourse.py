"""What statements about several boxes mean, against what their words say and scenes with their boxes exchanged."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from some_worlds import NLVR, scenes_of
from veriscene import worlds
from veriscene.english import boxes, discourse
from veriscene.english.contents import together
from veriscene.english.parts import Unfit, rules_of
from veriscene.english.speaker import Sentence, Speaker
from veriscene.english.words import lexicon_of
from veriscene.language.program import Program
from veriscene.world.scene import Scene

LANGUAGE = worlds.language(NLVR)
SCENES = scenes_of(NLVR, 40, seed=3)
((_, shared),) = rules_of(discourse._TABLES, discourse._Shared, shared=1.0)
((_, values),) = rules_of(boxes._TABLES, boxes._Values, values=1.0)


def drawn(rule: Callable[[Speaker], Sentence | None], count: int) -> Iterator[tuple[str, Program]]:
    rng = random.Random(4)
    while count:
        say = Speaker(rng, lexicon_of(LANGUAGE))
        if (sentence := rule(say)) is not None:
            count -= 1
            yield say.expand(sentence.text).replace("~", "").replace("^", ""), LANGUAGE.parse(sentence.meaning)


def exchanged(scene: Scene, *order: int) -> Scene:
    return replace(scene, boxes=tuple(scene.boxes[number] for number in order))


def test_a_second_clause_is_about_the_box_of_the_first() -> None:
    for text, program in drawn(discourse.continued, 150):
        told = set()
        for scene, other in itertools.pairwise(SCENES):
            for number in range(3):
                mixed = [other.boxes[at] if at == number else scene.boxes[at] for at in range(3)]
                if program.holds(replace(scene, boxes=tuple(mixed))) is not program.holds(scene):
                    told.add(number)
        assert len(told) <= 1, text


def test_one_such_box_may_be_any() -> None:
    for text, program in drawn(discourse.one_such_box, 100):
        for scene in SCENES[:15]:
            assert program.holds(scene) is program.holds(exchanged(scene, 2, 0, 1)), text


def test_so_does_but_not_and_if_say_how_two_boxes_compare() -> None:
    kinds = set()
    for text, program in drawn(shared, 200):
        a, b = sorted({int(number) for number in re.findall(r"all_boxes\[(\d)\]", program.text)})
        order = [{a: b, b: a}.get(number, number) for number in range(3)]
        pairs = [(program.holds(scene), program.holds(exchanged(scene, *order))) for scene in SCENES]
        if re.search(r"\b(if|whenever)\b", text):
            kinds.add("if")
            assert all(one or other for one, other in pairs), text
        elif re.search(r"but not|not so|which is not|unlike|doesn't|does not", text):
            kinds.add("but not")
            assert not any(one and other for one, other in pairs), text
        else:
            kinds.add("so does")
            assert all(one is other for one, other in pairs), text
    assert len(kinds) == 3


@pytest.mark.parametrize("name", ["color", "shape", "size"])
def test_values_in_common_are_those_of_both_boxes(name: str) -> None:
    checked = set()
    for text, program in drawn(values, 400):
        numbers = re.findall(r"all_boxes\[(\d)\]", program.text)
        if len(set(numbers)) != 2 or f"{name}(" not in program.text or re.search("different|distinct", text):
            continue
        if any(f"{each}(" in program.text for each in {"color", "shape", "size"} - {name}):
            continue
        for scene in SCENES:
            one, other = ({item[name] for item in scene.boxes[int(at)].items} for at in sorted(set(numbers)))
            if re.search(r"\b(no|not|none|nothing|don't)\b", text) and re.search("in common|share|both", text):
                checked.add("none")
                assert program.holds(scene) is not bool(one & other), text
            elif re.search("in common|share|both", text):
                checked.add("some")
                assert program.holds(scene) is bool(one & other), text
            elif "same" in text:
                checked.add("same")
                assert program.holds(scene) is (one == other), text
    assert checked == {"none", "some", "same"}


def test_boxes_together_are_all_but_one() -> None:
    rng = random.Random(5)
    for _ in range(100):
        say = Speaker(rng, lexicon_of(LANGUAGE))
        try:
            where = together(say)
        except Unfit:
            continue
        words = where.subject
        named = {0: r"left|first|\b1st", 1: r"middle|cent|second|2nd", 2: r"right|third|last|3rd"}
        inside = {at for at, pattern in named.items() if re.search(pattern, words)}
        inside = (
            {0, 2} if re.search("outer|outside|end", words) else {0, 1, 2} - inside if "but the" in words else inside
        )
        counted = [LANGUAGE.parse(f"count({where.items}) == {n}") for n in range(25)]
        for scene in SCENES[:10]:
            assert counted[sum(len(scene.boxes[at].items) for at in inside)].holds(scene), words
