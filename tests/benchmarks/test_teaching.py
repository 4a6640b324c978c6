"""What a reader is taught besides the grammar."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from scripts import BENCHMARKS, script
from some_worlds import NLVR, scenes_of

sys.path.insert(0, str(BENCHMARKS))  # for its own imports of the other benchmarks
teaching, phrasings = script("teaching"), script("phrasings")
IN_BOX = "exist(filter_obj(all_boxes[{}], lambda x: color(x) == color.{} and shape(x) == shape.{}))"


def test_statements_that_teach_parse_and_are_true_of_some_scenes_only(tmp_path: Path) -> None:
    """All but a few: some hold of rare scenes, such as "circles: 3, then 1, then 4"."""
    scenes = scenes_of(NLVR, 60)
    constant = total = 0
    for each in teaching.statements(teaching.OWN, random.Random(1), 0):
        total += 1
        constant += len({each.program.holds(scene) for scene in scenes}) == 1
    assert total > 1000
    assert constant < 0.35 * total


@pytest.mark.parametrize("seed", range(20))
def test_variants_change_text_and_program_alike(seed: int) -> None:
    text, program = teaching.variant(
        random.Random(seed), "there is a blue circle in the left box", IN_BOX.format(0, "blue", "circle")
    )
    color = next(each for each in teaching.COLORS if each in text)
    shape = next(each for each in teaching.SHAPES if each in text)
    places = {word: at for family in teaching.PLACES for at, word in enumerate(family)}
    box = next(at for word, at in places.items() if f"the {word} " in text)
    assert program == IN_BOX.format(box, color, shape)


@pytest.mark.parametrize(
    "text",
    [
        "the first two boxes have a circle",
        "in the outer boxes, left or right, is a circle",
    ],
)
def test_boxes_stay_where_words_may_mean_something_else(text: str) -> None:
    program = "exist(filter_obj(all_boxes[0], lambda x: shape(x) == shape.circle))"
    for seed in range(20):
        varied, meaning = teaching.variant(random.Random(seed), text, program)
        assert "all_boxes[0]" in meaning
        assert ("first" in varied) == ("first" in text) and ("left" in varied) == ("left" in text)


def test_a_number_changes_only_where_text_and_program_have_the_same_one() -> None:
    found = set()
    for seed in range(40):
        text, program = teaching.variant(random.Random(seed), "there are three items", "count(all_items) == 3")
        number = int(program.rpartition(" ")[2])
        assert phrasings.NUMBERS[number] in text
        found.add(number)
        assert teaching.variant(random.Random(seed), "three items", "count(all_items) >= 2")[1].endswith("2")
    assert found == {2, 3, 4, 5, 6}


def test_a_folder_without_phrasings_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        teaching.main([str(tmp_path / "out"), "--phrasings", str(tmp_path / "none"), "--variants", "0"])
    assert stopped.value.code == f"{tmp_path / 'none' / 'casual.jsonl'}: cannot be read (No such file or directory)"


def test_phrasings_that_teach_have_nothing_of_the_styles_held_out(tmp_path: Path) -> None:
    told = {
        "scene-exists": "{a item} is there",
        "which-has": "{which} {box} has {a item}",
        "tower-height": "one is {n} high",
    }
    for style in phrasings.STYLES:
        records = [{"id": identifier, "text": f"{text} {style}"} for identifier, text in told.items()]
        (tmp_path / f"{style}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    found = list(teaching.phrasings(tmp_path, random.Random(1), 20))
    assert len(found) == 6 * 3 * 20
    styles = Counter(style for each in found for style in phrasings.STYLES if style in each.text)
    assert not {*phrasings.HELD_OUT} & {*styles} and len(styles) == 6
    joined = [each for each in found if sum(each.text.count(style) for style in phrasings.STYLES) == 2]
    assert 20 < len(joined) < 90
    assert all(each.text.endswith("?") == ("questions" in each.text.split(" ")[-1]) for each in found)
