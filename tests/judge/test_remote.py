"""Judging in bulk where networks run elsewhere: in another process, and in shapes of which there are few."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from test_judging_in_bulk import answers, assert_answers

import veriscene
from samples import yellow_circle_examples
from small_models import small_checkpoint
from veriscene.data.encoder import Encoded
from veriscene.data.reader import split_words
from veriscene.errors import InputError
from veriscene.judge.bulk import Bulk, judge_missing
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.judge import FIELDS, MAPS, Judge, Question, ReaderJudge
from veriscene.judge.remote import served
from veriscene.models.reader import Reader
from veriscene.world.examples import Example, write
from veriscene.worlds.nlvr.looks import WORLD

PLAIN = ("Is there a circle that is bigger than all the others?", "At least two things touch the wall, I think.")
# Some in dialect, some plain, some that the network does not know.
EXAMPLES = [
    replace(each, statement=(each.statement, *PLAIN, f"there is a zorky{n} circle")[n % 4])
    for n, each in enumerate(yellow_circle_examples(40))
]
DEVICE = "cpu:0"  # torch on the CPU, judged as on a GPU


@pytest.fixture(scope="module")
def judge() -> TorchJudge:
    found = veriscene.load("best", device=DEVICE)
    assert isinstance(found, TorchJudge) and isinstance(found.reader, Reader)
    return found


def test_workers_answer_with_networks_of_another_process(judge: TorchJudge, tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", EXAMPLES, WORLD)
    bulk = Bulk("best", tmp_path / "in.jsonl", tmp_path / "out", device=DEVICE, part=6)
    assert len(bulk.parts) > 3
    done = judge_missing(bulk, (0, 1), workers=3)
    assert done["questions"] == len(EXAMPLES)
    assert_answers(answers(tmp_path / "out"), EXAMPLES, judge)


def test_every_kind_of_judge_can_be_elsewhere(judge: TorchJudge) -> None:
    reader = ReaderJudge(judge.reader) if judge.reader else None
    assert reader is not None
    for own in (judge, reader, veriscene.load("best-pixels", device=DEVICE)):
        with served(own) as remote:
            assert type(remote).__name__ != "TorchJudge"
            for given, expected in zip(remote(EXAMPLES[:4]), own(EXAMPLES[:4]), strict=True):
                assert given.probability == pytest.approx(expected.probability, abs=1e-6)
                assert replace(given, probability=0.0) == replace(expected, probability=0.0)


def test_an_error_elsewhere_is_raised_here(judge: TorchJudge) -> None:
    class Broken(TorchJudge):
        def run(self, *_: object) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
            raise InputError("broken", where="elsewhere")

    with served(Broken(judge.checkpoint)) as remote, pytest.raises(InputError, match=r"^elsewhere: broken$"):
        remote(EXAMPLES[:1])


def encoded(judge: Judge, examples: list[Example]) -> Encoded:
    return judge._encode([Question(example.statement, example.scene) for example in examples])


@pytest.mark.parametrize("name", ["best", "biatt-pointer", "nmn"])
def test_padded_groups_of_a_graph_are_judged_as_one_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veriscene.judge.checkpoint.GPU_GROUP", 7)  # several groups, of other lengths
    judge = TorchJudge(small_checkpoint(name)) if name == "nmn" else TorchJudge.load(name)
    given = encoded(judge, EXAMPLES)
    fields = [name for name in FIELDS if name not in MAPS]
    plain, grouped = judge.run(given, fields), judge._run_captured(given, fields)
    assert plain.keys() == grouped.keys()
    for field, array in plain.items():
        np.testing.assert_allclose(grouped[field], array, atol=1e-5)
    pickle.dumps(judge)


def test_programs_are_the_same_token_by_token_and_in_parts_of_few_shapes(
    judge: TorchJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepwise, reader = veriscene.load("best").reader, judge.reader
    assert isinstance(reader, Reader) and stepwise is not None
    split = [split_words(text) for text in dict.fromkeys(example.statement for example in EXAMPLES)]
    in_parts = Reader(reader.network, reader.words, reader.tokens, reader.language)
    step = len(in_parts._places)
    in_parts._plain = in_parts._begin, {range(1, step - 1): partial(in_parts._go_on, range(1, step - 1))}
    in_parts.capture()
    monkeypatch.setattr("veriscene.models.reader.MIN_ROWS", 20)  # the last group is not padded
    for is_brief in (None, np.arange(len(split)) % 3 > 0):
        expected = stepwise.write(*stepwise.numbered(split), is_brief)
        for written in (each.write(*each.numbered(split), is_brief) for each in (reader, in_parts)):
            np.testing.assert_array_equal(written[0], expected[0])
            for own, other in zip(written[1:], expected[1:], strict=True):
                np.testing.assert_allclose(own, other, atol=1e-3)


@pytest.mark.gpu
def test_a_gpu_answers_as_a_cpu_does(tmp_path: Path) -> None:
    examples = [replace(each, identifier=f"{copy}-{n}") for copy in range(9) for n, each in enumerate(EXAMPLES)]
    write(tmp_path / "in.jsonl", examples, WORLD)
    judge_missing(Bulk("best", tmp_path / "in.jsonl", tmp_path / "out", device="cuda"), (0, 1), workers=1)
    judge_missing(Bulk("best", tmp_path / "in.jsonl", tmp_path / "2", device="cuda", part=50), (0, 1), workers=3)
    expected = veriscene.load("best")(examples)
    for name in ("out", "2"):
        for row, verdict in zip(answers(tmp_path / name), expected, strict=True):
            assert isinstance(verdict, veriscene.Verdict)
            assert row["probability"] == pytest.approx(verdict.probability, abs=1e-2)
