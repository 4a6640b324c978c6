"""The features of MaxEnt and MLP are the conjunctions that a slow reference finds."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

import pytest
import torch
from conjunctions import conjunctions
from padding import with_random_padding

from samples import random_scene, vocabulary_of
from veriscene import worlds
from veriscene.data.batch import Batch
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.data.vocabulary import SPECIAL, Vocabulary, tokenize
from veriscene.models.maxent import NO_FEATURE, NO_NUMBER, CountFeatures, numbers_of
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds.nlvr.looks import BOX_EXTENT, WORLD

STATEMENTS = (
    "There is exactly 1 black triangle not touching any edge",
    "there are 2 yellow squares and 2 yellow circles.",
    "A box with 1 blue block and a box with 2 blue blocks",  # the same gram around different numbers
    "no no no no no no no no",  # the same gram at many places
    "two",
    "at least three",
    "There is a tower with no black block at the base and a yellow block at the top",
    "seven 7 zero 0",
)


def with_walls_touched(scene: Scene) -> Scene:
    """Moves every second item to a wall; items may overlap, which does not matter to counts."""
    sides = ((0, None), (None, 0), (BOX_EXTENT, None), (None, BOX_EXTENT))

    def moved(number: int, item: Item) -> Item:
        x, y = sides[number % 4] if number % 2 else (None, None)
        last = BOX_EXTENT - item.width
        return WORLD.changed(item, x=item.x if x is None else min(x, last), y=item.y if y is None else min(y, last))

    boxes = [
        Box(tuple(moved(number + row, item) for number, item in enumerate(box.items)))
        for row, box in enumerate(scene.boxes)
    ]
    return Scene((boxes[0], boxes[1], boxes[2]))


def examples_of(statements: Sequence[str], each: int, seed: int) -> list[Example]:
    rng = random.Random(seed)
    scenes = [with_walls_touched(random_scene(rng, most=rng.choice((1, 2, 8)))) for _ in range(each * len(statements))]
    return [Example(f"{number}-0", statements[number % len(statements)], scene) for number, scene in enumerate(scenes)]


def learned_from(examples: Sequence[Example]) -> tuple[CountFeatures, Vocabulary]:
    vocabulary = vocabulary_of(examples)
    features = CountFeatures(vocabulary, WORLD)
    features.learn(encode(examples, vocabulary))
    return features, vocabulary


def encode(examples: Sequence[Example], vocabulary: Vocabulary) -> Batch:
    return Encoder(vocabulary, WORLD, order=ItemOrder.FILE)(examples)


def numbers_in(features: CountFeatures, batch: Batch) -> list[list[int]]:
    return [[number for number in row if number != NO_FEATURE] for row in features(batch).tolist()]


def where(rows: Iterable[Iterable[Hashable]]) -> dict[Hashable, tuple[int, ...]]:
    """The rows in which each thing occurs."""
    occurrences: dict[Hashable, list[int]] = defaultdict(list)
    for row, things in enumerate(rows):
        for thing in things:
            occurrences[thing].append(row)
    return {thing: tuple(numbers) for thing, numbers in occurrences.items()}


def assert_agrees_with_reference(corpus: list[Example], others: list[Example]) -> None:
    """Features are numbers and conjunctions are names, so what is compared is which examples have them."""
    features, vocabulary = learned_from(corpus)
    found = where(numbers_in(features, encode([*corpus, *others], vocabulary)))
    reference = [conjunctions(example) for example in [*corpus, *others]]
    known = set().union(*reference[: len(corpus)])
    expected = where(these & known for these in reference)
    assert set(found) == set(range(1, len(known) + 1))
    assert Counter(found.values()) == Counter(expected.values())


def test_features_are_the_conjunctions_of_the_corpus():
    assert_agrees_with_reference(examples_of(STATEMENTS, 12, seed=0), examples_of(STATEMENTS[::-1], 6, seed=1))


def test_features_are_the_conjunctions_of_nlvr(nlvr_folder):
    examples = worlds.read(nlvr_folder / "dev" / "dev.json")
    chosen = random.Random(0).sample(examples, 200)
    corpus = chosen[:100]
    words = {word for example in corpus for word in tokenize(example.statement)}
    # A number word that is not in the corpus is unknown, and then not a number.
    assert_agrees_with_reference(
        corpus, [example for example in chosen[100:] if words.issuperset(tokenize(example.statement))]
    )


def test_statements_with_other_grams_have_no_features():
    features, vocabulary = learned_from(examples_of(STATEMENTS, 2, seed=2))
    others = examples_of(["all of them were 1 green", "black 2 exactly is"], 4, seed=3)
    assert numbers_in(features, encode(others, vocabulary)) == [[]] * len(others)
    assert numbers_in(CountFeatures(vocabulary, WORLD), encode(others, vocabulary)) == [[]] * len(others)


def test_neither_padding_nor_the_rest_of_the_batch_changes_features():
    examples = examples_of(STATEMENTS, 3, seed=4)
    features, vocabulary = learned_from(examples)
    together = numbers_in(features, with_random_padding(encode(examples, vocabulary), more_words=3, more_items=2))
    alone = [numbers_in(features, encode([example], vocabulary))[0] for example in examples]
    assert list(map(sorted, together)) == list(map(sorted, alone))


def test_neither_the_order_of_boxes_nor_of_items_changes_features():
    examples = examples_of(STATEMENTS, 3, seed=5)
    features, vocabulary = learned_from(examples)
    turned = [
        replace(
            example,
            scene=Scene(tuple(Box(box.items[::-1]) for box in example.scene.boxes[1:] + example.scene.boxes[:1])),
        )
        for example in examples
    ]
    before, after = (numbers_in(features, encode(these, vocabulary)) for these in (examples, turned))
    assert list(map(sorted, before)) == list(map(sorted, after))


def test_features_do_not_depend_on_the_order_of_the_corpus():
    examples = examples_of(STATEMENTS, 3, seed=6)
    _, vocabulary = learned_from(examples)
    one, other = CountFeatures(vocabulary, WORLD), CountFeatures(vocabulary, WORLD)
    assert one.learn(encode(examples, vocabulary)) == other.learn(encode(examples[::-1], vocabulary))
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name


def test_a_large_corpus_is_read_in_chunks(monkeypatch):
    examples = examples_of(STATEMENTS, 3, seed=7)
    whole, vocabulary = learned_from(examples)
    monkeypatch.setattr("veriscene.models.maxent._CHUNK", 5)
    in_chunks, _ = learned_from(examples)
    assert len(list(in_chunks.chunks(encode(examples, vocabulary)))) == 5
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, in_chunks.state_dict()[name]), name


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("no", 0),
        ("a", 1),
        ("one", 1),
        ("sixteen", 16),
        ("12", 12),
        ("007", 7),
        ("the", NO_NUMBER),
    ],
)
def test_numbers_of_words(word, number):
    assert numbers_of(Vocabulary((*SPECIAL, word))).tolist() == [NO_NUMBER, NO_NUMBER, number]


def test_a_number_with_many_digits_is_larger_than_any_count():
    assert numbers_of(Vocabulary((*SPECIAL, "9" * 5000)))[-1] > 1000
