"""Batches: whatever works on all fields covers every field, and nothing leaks from one example to another."""

from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_corpora import CORPORA, QUICK, VOCABULARY, assert_same

from samples import vocabulary_of, yellow_circle_examples
from veriscene.data.batch import Batch
from veriscene.data.encoder import Encoder, Input, ItemOrder
from veriscene.data.items import TensorStruct
from veriscene.worlds.nlvr.looks import WORLD

ENCODE = Encoder(VOCABULARY, WORLD, frozenset({Input.ITEMS, Input.CHARACTERS}), order=ItemOrder.FILE)
ALL_INPUTS = frozenset(Input)


@dataclass(frozen=True)
class Graph(TensorStruct):
    depth: torch.Tensor


@dataclass(frozen=True)
class LargerBatch(Batch):
    """What a future input would add: a tensor and a struct."""

    weights: torch.Tensor | None = None
    graph: Graph | None = None


def larger_batch(count: int = 4) -> LargerBatch:
    examples = yellow_circle_examples(count)
    batch = Encoder(vocabulary_of(examples), WORLD, ALL_INPUTS)(examples)
    return LargerBatch(**vars(batch), weights=torch.arange(count), graph=Graph(torch.arange(3 * count).view(count, 3)))


def test_a_new_field_takes_part_in_everything():
    batch = larger_batch()
    turned = batch[torch.tensor([2, 0])]
    assert isinstance(turned, LargerBatch)
    assert turned.weights.tolist() == [2, 0] and turned.graph.depth.tolist() == [[6, 7, 8], [0, 1, 2]]
    assert batch[1:3].weights.tolist() == [1, 2]
    twice = batch.concatenated(batch)
    assert twice.weights.tolist() == [0, 1, 2, 3] * 2 and len(twice.graph.depth) == 8
    moved = batch.to("meta")
    assert {tensor.device.type for tensor in moved.tensors()} == {"meta"}
    assert moved.weights.is_meta and moved.graph.depth.is_meta
    assert len(batch.tensors()) == 13
    assert replace(batch, weights=batch.weights + 1).fingerprint() != batch.fingerprint()
    assert replace(batch, graph=Graph(batch.graph.depth + 1)).fingerprint() != batch.fingerprint()


def test_the_fingerprint_changes_with_every_value_and_shape():
    batch = larger_batch()
    original = batch.fingerprint()
    assert batch.map(torch.clone).fingerprint() == original
    seen = {original}
    for number in range(len(batch.tensors())):
        for change in (_last_value_changed, lambda tensor: tensor[None]):
            tensors = iter(range(len(batch.tensors())))
            seen.add(batch.map(lambda tensor: change(tensor) if next(tensors) == number else tensor).fingerprint())  # noqa: B023
    assert len(seen) == 1 + 2 * len(batch.tensors())
    assert replace(batch, labels=None).fingerprint() not in seen


def _last_value_changed(tensor: torch.Tensor) -> torch.Tensor:
    changed = tensor.clone()
    changed.view(-1)[-1] = changed.view(-1)[-1] == 0  # also for booleans
    return changed


def test_batches_with_different_fields_cannot_be_joined():
    batch = larger_batch()
    for one, other in [(batch, replace(batch, labels=None)), (replace(batch, labels=None), batch)]:
        with pytest.raises(ValueError, match="labels"):
            one.concatenated(other)


@QUICK
@given(CORPORA, st.data())
def test_part_of_a_corpus_equals_those_examples_encoded_alone(examples, data):
    corpus = ENCODE(examples)
    numbers = data.draw(st.lists(st.integers(0, len(examples) - 1), min_size=1, max_size=5))
    assert_same(corpus[torch.tensor(numbers)], ENCODE([examples[number] for number in numbers]))
    start = data.draw(st.integers(0, len(examples) - 1))
    assert_same(corpus[start : start + 2], ENCODE(examples[start : start + 2]))
    assert_same(corpus[:], corpus)
    assert_same(corpus.to("cpu"), corpus)
    assert len(corpus[:0]) == 0


@QUICK
@given(CORPORA)
def test_concatenated_halves_are_the_batches(examples):
    corpus = ENCODE(examples)
    statement = replace(corpus.statement, words=corpus.statement.words.flip(0))
    other = replace(corpus, statement=statement)
    twice = corpus.concatenated(other)
    assert_same(twice[: len(examples)], corpus)
    assert torch.equal(twice.statement.words[len(examples) :], other.statement.words)


@pytest.mark.parametrize("inputs", [frozenset({Input.PIXELS}), ALL_INPUTS, frozenset()])
def test_a_batch_has_exactly_the_inputs_of_its_encoder(inputs):
    examples = yellow_circle_examples(5)
    corpus = Encoder(vocabulary_of(examples), WORLD, inputs)(examples)
    for batch in (corpus, corpus[:2], corpus[torch.tensor([3])].concatenated(corpus[torch.tensor([3])])):
        assert (batch.items is not None) == (Input.ITEMS in inputs)
        assert (batch.pixels is not None) == (Input.PIXELS in inputs)
        assert (batch.statement.characters is not None) == (Input.CHARACTERS in inputs)
