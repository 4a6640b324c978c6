"""The public programs against the labels of the real corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from veriscene import worlds
from veriscene.language.execution import compile_expression
from veriscene.language.program import read_programs
from veriscene.world.corpus import split_file

LANGUAGE = worlds.language("nlvr")
# Train labels come from one rater each and are noisy; dev labels come from five.
LEAST_AGREEMENT = {"dev": 0.995, "train": 0.945}
LEAST_COVERAGE = 0.998  # Five nonsensical train statements have no program.


def collapsed(sentence: str) -> str:
    """The two sources differ in the white space of some sentences."""
    return " ".join(sentence.split())


@pytest.mark.parametrize("split", LEAST_AGREEMENT)
def test_programs_agree_with_labels(nlvr_folder: Path, programs_folder: Path, split: str) -> None:
    stated = read_programs(programs_folder / f"{split}.jsonl", LANGUAGE)
    # Compiled, because `holds` would hide a failing presupposition; there is none on these scenes.
    exact = {each.text: compile_expression(each.program.expression, LANGUAGE.place) for each in reversed(stated)}
    loose = {collapsed(sentence): value for sentence, value in exact.items()}
    examples = worlds.read(split_file(nlvr_folder, split))
    covered = agreed = 0
    for example in examples:
        value = exact.get(example.statement) or loose.get(collapsed(example.statement))
        if value is not None:
            covered += 1
            agreed += value(example.scene) is example.label
    figures = f"{split}: {covered} of {len(examples)} examples have a program, {agreed} agree ({agreed / covered:.2%})"
    print(figures)
    assert covered >= LEAST_COVERAGE * len(examples), figures
    assert agreed >= LEAST_AGREEMENT[split] * covered, figures


@pytest.mark.parametrize("split", LEAST_AGREEMENT)
def test_public_programs_round_trip(programs_folder: Path, split: str) -> None:
    stated = read_programs(programs_folder / f"{split}.jsonl", LANGUAGE)
    assert len(stated) >= 250
    for each in stated:
        assert LANGUAGE.parse(each.program.text) == each.program
