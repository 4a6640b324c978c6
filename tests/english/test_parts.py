"""Rows of tables: what their meanings say, and which wordings fit."""

from __future__ import annotations

import random

import pytest

from some_worlds import NLVR
from veriscene import worlds
from veriscene.english.parts import Parts, Unfit
from veriscene.english.speaker import Kind, Speaker
from veriscene.english.tables import Row
from veriscene.english.words import lexicon_of


def parts(meaning: str) -> Parts:
    found = Parts(Speaker(random.Random(1), lexicon_of(worlds.language(NLVR))), Row([meaning]))
    found.add_kinds(Kind("cat", "cats", "color(@) == black"))
    return found


@pytest.mark.parametrize(
    ("meaning", "program"),
    [
        (
            "some({exist x})",
            "exist(filter_obj(all_boxes, lambda b1: exist(filter_obj(b1, lambda x0: color(x0) == black))))",
        ),
        ("not not {exist x scene}", "exist(filter_obj(all_items, lambda x0: color(x0) == black))"),
        ("each(count(#))", "lambda b0: count(b0)"),
        (
            "pair(count(#) == count($))",
            "exist(filter_obj(all_boxes, lambda b1: exist(filter_obj(all_boxes,"
            " lambda b0: b0 != b1 and count(b0) == count(b1)))))",
        ),
    ],
)
def test_meanings_of_rows_are_written_out(meaning: str, program: str) -> None:
    assert parts(meaning).test() == program


def test_wordings_with_unknown_parts_are_left_out() -> None:
    found = parts("{exist x}")
    assert {found.worded(["{x}", "{unknown}"]) for _ in range(20)} == {"a cat"}
    with pytest.raises(Unfit):
        found.worded(["{unknown}"])
