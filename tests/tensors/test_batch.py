"""Examples as tensors: nothing is lost or leaks from one example to another, and every item is found again."""

from collections import Counter
from dataclasses import replace
from itertools import permutations, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from veriscene.errors import InputError
from veriscene.scenes.nlvr import Example
from veriscene.scenes.scene import BOX_EXTENT, Box, Color, Item, Scene, Shape, Size
from veriscene.tensors.batch import Batch, ItemOrder, encode
from veriscene.tensors.features import ITEM_FEATURES, item_features
from veriscene.tensors.vocabulary import PADDING, Vocabulary

WORDS = ("there", "is", "a", "black", "box", "with", "3", "items")
VOCABULARY = Vocabulary.of(WORDS, minimum_count=1)
QUICK = settings(deadline=None, max_examples=60)


@st.composite
def items(draw) -> Item:
    size = draw(st.sampled_from(Size))
    place = st.integers(0, BOX_EXTENT - size.value)
    return Item(draw(place), draw(place), size, draw(st.sampled_from(Shape)), draw(st.sampled_from(Color)))


BOXES = st.lists(items(), min_size=1, max_size=8, unique_by=lambda item: (item.x, item.y)).map(tuple).map(Box)
SCENES = st.tuples(BOXES, BOXES, BOXES).map(Scene)
EXAMPLES = st.builds(
    Example,
    identifier=st.just("1-1"),
    statement=st.lists(st.sampled_from((*WORDS, "never-seen")), min_size=1, max_size=9).map(" ".join),
    scene=SCENES,
    label=st.booleans(),
)
CORPORA = st.lists(EXAMPLES, min_size=1, max_size=4)


def same(one: Batch, other: Batch) -> None:
    for name, value in vars(one).items():
        assert_close(value, getattr(other, name), atol=0, rtol=0, msg=lambda text, name=name: f"{name}: {text}")


def read_in(batch: Batch, examples: list[Example]) -> list[list[list[Item]]]:
    """The items of each box as `positions` says that they were read, after a look at whether features agree."""
    read = []
    for row, example in enumerate(examples):
        read.append([])
        for box, whole in enumerate(example.scene.boxes):
            places = batch.positions[row, box, : len(whole.items)].tolist()
            assert sorted(places) == list(range(len(whole.items)))
            in_order = [whole.items[place] for place in places]
            features = torch.tensor([item_features(item) for item in in_order])
            assert_close(batch.items[row, box, : len(whole.items)], features, atol=0, rtol=0)
            assert not batch.items[row, box, len(whole.items) :].any()
            read[-1].append(in_order)
    return read


def with_items_shuffled(example: Example, rng) -> Example:
    boxes = tuple(Box(tuple(rng.sample(box.items, len(box.items)))) for box in example.scene.boxes)
    return replace(example, scene=Scene(boxes))


def test_no_two_items_have_the_same_nine_features_and_all_lie_between_minus_one_and_one():
    looks = list(product(Size, Shape, Color))
    everything = [
        Item(x, y, size, shape, color)
        for size, shape, color in looks
        for x in range(BOX_EXTENT - size.value + 1)
        for y in range(0, BOX_EXTENT - size.value + 1, 5)
    ]
    features = torch.tensor([item_features(item) for item in everything])
    assert features.shape == (len(everything), ITEM_FEATURES) and ITEM_FEATURES == 9
    assert len(features.unique(dim=0)) == len(everything)
    assert features.abs().max() <= 1
    for one_hot in (features[:, 3:6], features[:, 6:9]):
        assert_close(one_hot.sum(1), torch.ones(len(features)))
        assert set(one_hot.unique().tolist()) == {0.0, 1.0}
    # Places are linear: the box's corners would lie at -1 and 1.
    at = {(item.x, item.y): row[:2].tolist() for item, row in zip(everything, features, strict=True)}
    assert at[0, 0] == [-1, -1] and at[50, 25] == [0, -0.5] and at[90, 0] == pytest.approx([0.8, -1])
    sizes = {item.size: row[2].item() for item, row in zip(everything, features, strict=True)}
    assert sizes[Size.SMALL] < sizes[Size.MEDIUM] < sizes[Size.LARGE]


@QUICK
@given(CORPORA)
def test_a_batch_holds_the_words_items_counts_and_labels_of_its_examples_and_nothing_more(examples):
    batch = encode(examples, VOCABULARY)
    assert len(batch) == len(examples)
    for row, example in enumerate(examples):
        numbers = VOCABULARY.encode(example.statement)
        assert batch.words[row, : batch.lengths[row]].tolist() == numbers
        assert (batch.words[row, batch.lengths[row] :] == PADDING).all()
        assert batch.word_mask[row].sum() == len(numbers)
        assert batch.counts[row].tolist() == [len(box.items) for box in example.scene.boxes]
        assert batch.item_mask[row].sum(1).tolist() == batch.counts[row].tolist()
        assert batch.labels[row].item() == float(example.label)
    assert read_in(batch, examples) == [[list(box.items) for box in example.scene.boxes] for example in examples]
    unlabelled = [*examples[1:], replace(examples[0], label=None)]
    assert encode(unlabelled, VOCABULARY).labels is None


@QUICK
@given(CORPORA, st.data())
def test_some_of_a_corpus_are_the_same_as_if_they_had_been_encoded_alone(examples, data):
    corpus = encode(examples, VOCABULARY)
    numbers = data.draw(st.lists(st.integers(0, len(examples) - 1), min_size=1, max_size=5))
    same(corpus[torch.tensor(numbers)], encode([examples[number] for number in numbers], VOCABULARY))
    start = data.draw(st.integers(0, len(examples) - 1))
    same(corpus[start : start + 2], encode(examples[start : start + 2], VOCABULARY))
    same(corpus[:], corpus)
    same(corpus.to("cpu"), corpus)
    assert len(corpus[:0]) == 0


@QUICK
@given(CORPORA, st.randoms(use_true_random=False))
def test_an_order_and_its_inverse_cancel_and_positions_follow_the_items(examples, rng):
    corpus = encode(examples, VOCABULARY)
    fullest = corpus.items.size(2)

    def shuffled(count: int) -> list[int]:
        return [*rng.sample(range(count), count), *range(count, fullest)]

    order = torch.tensor([[shuffled(count) for count in boxes] for boxes in corpus.counts.tolist()])
    there = corpus.reordered(order)
    read = read_in(there, examples)
    for row, example in enumerate(examples):
        for box, whole in enumerate(example.scene.boxes):
            assert read[row][box] == [whole.items[k] for k in order[row, box, : len(whole.items)]]
    same(there.reordered(order.argsort(dim=2)), corpus)
    # Of two orders, one after the other, positions still lead to the file: so does a model's order through them.
    twice = there.reordered(order)
    assert_close(twice.positions, there.positions.gather(2, order))
    read_in(twice, examples)


@QUICK
@given(CORPORA, st.integers(0, 2**40))
def test_a_drawn_order_has_every_item_once_and_follows_from_the_seed(examples, seed):
    corpus = encode(examples, VOCABULARY)
    drawn = corpus.in_order(ItemOrder.RANDOM, torch.Generator().manual_seed(seed))
    read_in(drawn, examples)
    assert_close(drawn.counts, corpus.counts)
    same(drawn, corpus.in_order(ItemOrder.RANDOM, torch.Generator().manual_seed(seed)))


@pytest.mark.parametrize("of_device", [False, True])
def test_a_drawn_order_is_any_permutation_with_equal_chance(of_device):
    three = Box(tuple(Item(x, 0, Size.SMALL, Shape.CIRCLE, Color.BLACK) for x in (0, 30, 60)))
    one = Example("1-1", "a", Scene((three, three, Box(three.items[:1]))))
    corpus = encode([one] * 3000, VOCABULARY)
    torch.manual_seed(0)
    drawn = (corpus.in_order(ItemOrder.RANDOM, torch.Generator().manual_seed(0)), corpus.shuffled())
    batch = drawn[of_device]
    for box in range(2):
        seen = Counter(map(tuple, batch.positions[:, box].tolist()))
        assert set(seen) == set(permutations(range(3)))
        assert sum((count - 500) ** 2 / 500 for count in seen.values()) < 25.7  # 5 degrees of freedom, 1 in 10,000
    assert (batch.positions[:, 0] == batch.positions[:, 1]).all(dim=1).float().mean() < 0.25  # boxes differ


@QUICK
@given(CORPORA, st.integers(0, 2**40))
def test_a_batch_and_itself_in_another_order_are_the_examples_twice(examples, seed):
    torch.manual_seed(seed)
    corpus = encode(examples, VOCABULARY)
    shuffled = corpus.shuffled()
    twice = corpus.followed_by(shuffled)
    read_in(twice, examples * 2)
    same(twice[: len(examples)], corpus)
    same(twice[len(examples) :], shuffled)


@QUICK
@given(CORPORA, st.randoms(use_true_random=False), st.sampled_from([ItemOrder.RANDOM, ItemOrder.SORTED]))
def test_the_order_of_inference_depends_neither_on_the_file_nor_on_the_other_examples(examples, rng, order):
    whole = read_in(encode(examples, VOCABULARY).in_order(order), examples)
    for row, example in enumerate(examples):
        alone = read_in(encode([example], VOCABULARY).in_order(order), [example])
        assert alone == [whole[row]]
    shuffled = [with_items_shuffled(example, rng) for example in examples]
    assert read_in(encode(shuffled, VOCABULARY).in_order(order), shuffled) == whole


@QUICK
@given(CORPORA)
def test_sorted_is_from_left_to_right_then_upwards_and_file_is_as_it_was(examples):
    corpus = encode(examples, VOCABULARY)
    for boxes in read_in(corpus.in_order(ItemOrder.SORTED), examples):
        for read in boxes:
            assert read == sorted(read, key=lambda item: (item.x, -item.y))
    same(corpus.in_order(ItemOrder.FILE), corpus)


def test_the_scramble_of_inference_favours_no_look_of_an_item():
    """Of two items in a box, each kind comes first about as often as not."""
    generator = torch.Generator().manual_seed(0)

    def draw(limit: int) -> int:
        return int(torch.randint(limit, (), generator=generator))

    def item() -> Item:
        size, shape, color = list(Size)[draw(3)], list(Shape)[draw(3)], list(Color)[draw(3)]
        return Item(draw(101 - size.value), draw(101 - size.value), size, shape, color)

    examples = [Example("1-1", "a", Scene(tuple(Box((item(), item())) for _ in range(3)))) for _ in range(1500)]
    read = read_in(encode(examples, VOCABULARY).in_order(ItemOrder.RANDOM), examples)
    pairs = [pair for boxes in read for pair in boxes]
    for look in (lambda i: i.x, lambda i: i.y, lambda i: i.size.value, *_is_each_of(Shape), *_is_each_of(Color)):
        differ = [(look(first), look(second)) for first, second in pairs if look(first) != look(second)]
        share = sum(first > second for first, second in differ) / len(differ)
        assert abs(share - 0.5) < 5 * 0.5 / len(differ) ** 0.5


def _is_each_of(kind):
    return [lambda item, value=value: value in (item.shape, item.color) for value in kind]


def test_the_scramble_of_inference_reads_towers_in_all_orders():
    """The corpus's towers stand at one place in steps of 21 pixels: twelve items make up all of them."""
    towers = [
        Box(tuple(Item(40, 80 - 21 * k, Size.MEDIUM, Shape.SQUARE, color) for k, color in enumerate(colors)))
        for colors in product(Color, repeat=4)
    ]
    examples = [Example("1-1", "a", Scene((tower, tower, tower))) for tower in towers]
    orders = encode(examples, VOCABULARY).in_order(ItemOrder.RANDOM).positions[:, 0].tolist()
    assert len(set(map(tuple, orders))) >= 18  # of 24; 81 random orders would have about 23
    upwards = [first < second for order in orders for place, first in enumerate(order) for second in order[place + 1 :]]
    assert abs(sum(upwards) / len(upwards) - 0.5) < 0.12


def test_a_blank_statement_is_refused_by_name():
    box = Box((Item(0, 0, Size.SMALL, Shape.CIRCLE, Color.BLACK),))
    with pytest.raises(InputError, match=r"'7-2'.*blank"):
        encode([Example("7-2", " \t ", Scene((box, box, box)))], VOCABULARY)


def test_an_empty_box_is_refused_rather_than_judged():
    full = Box((Item(40, 80, Size.MEDIUM, Shape.SQUARE, Color.BLACK),))
    with pytest.raises(InputError, match="a box is empty"):
        encode([Example("1-1", "a", Scene((full, Box(()), full)))], VOCABULARY)
