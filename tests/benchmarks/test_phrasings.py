"""The programs of the phrasings' meanings, and the counts of ambiguous constructs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import veriscene
from scripts import script
from some_worlds import NLVR, scenes_of
from veriscene.data.reader import Reading
from veriscene.judge.folders import shipped_readers
from veriscene.language.program import Statement
from veriscene.worlds import parse

phrasings = script("phrasings")
ambiguous = script("ambiguous")
HELD_OUT = Path(phrasings.__file__).parent / "english" / "held_out"
ABOVE = "exist(filter_obj(all_items, lambda x: exist({}(x))))"


@pytest.mark.parametrize("identifier", phrasings.MEANINGS)
def test_every_meaning_has_a_program_whatever_fills_its_slots(identifier: str) -> None:
    rng = random.Random(1)
    for _ in range(5):
        filling = phrasings.fill(
            rng, identifier, "{a item} {items2} {n items} {m} {value} {which} {which2} {side} {box}"
        )
        assert not set("{}<>") & set(filling.text)
        filling.meaning.holds(scenes_of(NLVR, 1)[0])


def test_a_reading_counts_where_it_has_the_truth_of_the_meaning(tmp_path: Path) -> None:
    """A reader that always says the same: right of the one phrasing that means it."""

    class Constant:
        def read(self, statements: list[str]) -> list[Reading]:
            return [Reading(parse("exist(filter_obj(all_boxes, lambda b: count(color(b)) == 1))"), 1, 0, 0)] * len(
                statements
            )

    ways = [
        ("boxes-some-one-color", "one {box} has one colour"),
        ("scene-none", "no {items}"),
        ("tower-one-color", "a tower"),
    ]
    path = tmp_path / "style.jsonl"
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in ways), encoding="utf-8")
    right, wrong = phrasings.measure(Constant(), path, 3, 1)
    assert right == {"boxes-some-one-color": [True] * 3, "scene-none": [False] * 3, "tower-one-color": [True] * 3}
    assert [filling.identifier for filling, _ in wrong] == ["scene-none"] * 3


def test_an_unknown_style_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    reader = shipped_readers()["shapeworld"]
    with pytest.raises(SystemExit) as stopped:
        phrasings.main([str(reader), str(HELD_OUT), "--styles", "spoken"])
    assert str(stopped.value.code).startswith(f"{HELD_OUT / 'spoken.jsonl'}: ")
    assert capsys.readouterr().out == ""


def test_a_reader_of_another_world_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    reader = shipped_readers()["shapeworld"]
    with pytest.raises(SystemExit) as stopped:
        phrasings.main([str(reader), str(HELD_OUT), "--styles", "sample"])
    assert str(stopped.value.code).startswith(f"{reader}: ") and "\n" not in str(stopped.value.code)
    assert capsys.readouterr().out == ""


def test_best_reads_what_others_write() -> None:
    """Statements with programs that were written without the grammar, and that no reader was taught."""
    right, _ = phrasings.measure(veriscene.load("best").reader, HELD_OUT / "sample.jsonl", 1, 1)
    found = [value for values in right.values() for value in values]
    assert len(found) == 197 and sum(found) / len(found) > 0.92


@pytest.mark.parametrize(
    ("name", "text", "program", "differs"),
    [
        ("bare-number", "There are two circles.", "count(filter_obj(all_items, is_circle)) >= 2", True),
        ("bare-number", "There are two circles.", "count(filter_obj(all_items, is_circle)) == 2", False),
        ("bare-number", "There are at least two circles.", "count(filter_obj(all_items, is_circle)) >= 2", False),
        ("one-of", "One of the boxes has a circle.", "count(filter_obj(all_boxes, lambda b: exist(b))) == 1", True),
        ("above", "There is a block above another.", ABOVE.format("get_above"), True),
        ("above", "There is a block above another.", ABOVE.format("get_box_all_above"), False),
        ("all", "All circles are blue.", "All(filter_obj(all_items, is_circle), is_blue)", True),
        ("all", "All items are blue.", "All(all_items, is_blue)", False),
    ],
)  # fmt: skip
def test_other_readings_are_found(name: str, text: str, program: str, differs: bool) -> None:
    construct = ambiguous.CONSTRUCTS[name]
    assert construct.occurs(text.lower())
    assert bool(construct.differs(Statement(text, "scatter", parse(program)))) is differs
