"""The public programs against the labels of the real corpus, which people gave without seeing any program."""

from __future__ import annotations

from pathlib import Path

import pytest

from veriscene.meaning.notation import StatedProgram, parse, read_programs
from veriscene.scenes import nlvr

# Train labels come from one rater each; the five raters of dev leave nearly no noise.
LEAST_AGREEMENT = {"dev": 0.995, "train": 0.945}
LEAST_COVERAGE = 0.998  # Five sentences of train have no program: they make no sense.


@pytest.fixture(scope="module")
def programs_folder(nlvr_folder: Path) -> Path:
    for folder in (nlvr_folder / "programs", nlvr_folder.parent / "programs"):
        if (folder / "dev.jsonl").is_file():
            return folder
    pytest.skip(f"no programs in or beside {nlvr_folder}; put dev.jsonl and train.jsonl into a folder `programs` there")


def read(folder: Path, split: str) -> list[StatedProgram]:
    return read_programs(folder / f"{split}.jsonl")


def collapsed(sentence: str) -> str:
    """Some sentences differ between the two sources in their blanks, and in nothing else."""
    return " ".join(sentence.split())


@pytest.mark.parametrize("split", LEAST_AGREEMENT)
def test_programs_agree_with_labels(nlvr_folder: Path, programs_folder: Path, split: str) -> None:
    stated = read(programs_folder, split)
    exact = {each.sentence: each.program for each in reversed(stated)}
    loose = {collapsed(each.sentence): each.program for each in reversed(stated)}
    examples = nlvr.read(nlvr.split_file(nlvr_folder, split))
    covered = agreed = 0
    for example in examples:
        program = exact.get(example.statement) or loose.get(collapsed(example.statement))
        if program is not None:
            covered += 1
            # `value` and not `holds`: on these scenes no presupposition fails, so none can flatter the figures.
            agreed += program.value(example.scene) is example.label
    figures = f"{split}: {covered} of {len(examples)} examples have a program, {agreed} agree ({agreed / covered:.2%})"
    print(figures)
    assert covered >= LEAST_COVERAGE * len(examples), figures
    assert agreed >= LEAST_AGREEMENT[split] * covered, figures


@pytest.mark.parametrize("split", LEAST_AGREEMENT)
def test_real_programs_come_back_from_their_text(programs_folder: Path, split: str) -> None:
    stated = read(programs_folder, split)
    assert len(stated) >= 250
    for each in stated:
        assert parse(each.program.text) == each.program
