"""Examples as tensors: nothing is lost, and the order of inference depends on nothing but the box."""

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_corpora import CORPORA, QUICK, VOCABULARY, items_read

from samples import random_scene, vocabulary_of, yellow_circle_examples
from veriscene.data.encoder import Encoder, Input, ItemOrder, reading_order
from veriscene.data.vocabulary import PADDING
from veriscene.errors import InputError
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Item, Scene
from veriscene.worlds.nlvr import raster
from veriscene.worlds.nlvr.looks import WORLD, Color, Shape, Size, make_item
from veriscene.worlds.nlvr.pictures import cut, to_png

ENCODE = {order: Encoder(VOCABULARY, WORLD, order=order) for order in ItemOrder}


def with_items_shuffled(example: Example, rng) -> Example:
    boxes = tuple(Box(tuple(rng.sample(box.items, len(box.items)))) for box in example.scene.boxes)
    return replace(example, scene=Scene(boxes))


@QUICK
@given(CORPORA)
def test_a_batch_holds_the_words_items_and_labels_of_its_examples(examples):
    batch = ENCODE[ItemOrder.FILE](examples)
    assert len(batch) == len(examples)
    for row, example in enumerate(examples):
        numbers, length = VOCABULARY.encode(example.statement), batch.statement.lengths[row]
        assert batch.statement.words[row, :length].tolist() == numbers
        assert (batch.statement.words[row, length:] == PADDING).all()
        assert batch.statement.mask[row].sum() == len(numbers)
        assert batch.items.counts[row].tolist() == [len(box.items) for box in example.scene.boxes]
        assert batch.items.mask[row].sum(1).tolist() == batch.items.counts[row].tolist()
        assert batch.labels[row].item() == float(example.label)
    in_file = [[list(box.items) for box in example.scene.boxes] for example in examples]
    assert items_read(batch, examples) == in_file
    unlabelled = [*examples[1:], replace(examples[0], label=None)]
    assert ENCODE[ItemOrder.FILE](unlabelled).labels is None


@QUICK
@given(CORPORA, st.randoms(use_true_random=False), st.sampled_from([ItemOrder.RANDOM, ItemOrder.SORTED]))
def test_the_order_depends_neither_on_the_file_nor_on_the_other_examples(examples, rng, order):
    whole = items_read(ENCODE[order](examples), examples)
    for row, example in enumerate(examples):
        assert items_read(ENCODE[order]([example]), [example]) == [whole[row]]
    shuffled = [with_items_shuffled(example, rng) for example in examples]
    assert items_read(ENCODE[order](shuffled), shuffled) == whole


@QUICK
@given(CORPORA)
def test_sorted_is_from_left_to_right_then_upwards(examples):
    for boxes in items_read(ENCODE[ItemOrder.SORTED](examples), examples):
        for read in boxes:
            assert read == sorted(read, key=lambda item: (item.x, -item.y))


def test_the_scramble_is_the_one_that_published_results_used():
    """A regression anchor: verdicts of shipped checkpoints depend on it."""
    colors, shapes, sizes = list(Color), list(Shape), list(Size)
    box = [make_item(9 * k, 7 * k, sizes[k % 3], shapes[k // 3 % 3], colors[(k + k // 3) % 3]) for k in range(8)]
    assert reading_order(box, ItemOrder.RANDOM, WORLD) == [0, 5, 2, 3, 1, 7, 4, 6]


def test_the_scramble_favours_no_kind_of_item():
    """Of two items in a box, each kind comes first about half of the time."""
    generator = torch.Generator().manual_seed(0)

    def draw(limit: int) -> int:
        return int(torch.randint(limit, (), generator=generator))

    def item() -> Item:
        size, shape, color = list(Size)[draw(3)], list(Shape)[draw(3)], list(Color)[draw(3)]
        return make_item(draw(101 - size.extent), draw(101 - size.extent), size, shape, color)

    pairs = [(item(), item()) for _ in range(4500)]
    read = [[pair[number] for number in reading_order(pair, ItemOrder.RANDOM, WORLD)] for pair in pairs]

    def is_each_of(kind):
        return [lambda item, value=value: value in (item["shape"], item["color"]) for value in kind]

    for look in (lambda i: i.x, lambda i: i.y, lambda i: i.width, *is_each_of(Shape), *is_each_of(Color)):
        differ = [(look(first), look(second)) for first, second in read if look(first) != look(second)]
        share = sum(first > second for first, second in differ) / len(differ)
        assert abs(share - 0.5) < 5 * 0.5 / len(differ) ** 0.5


def test_no_item_is_always_first():
    """The corpus's towers stand at one place in steps of 21 pixels, so twelve items make up all of them: the rest of
    the box must decide, too, about who is first."""
    towers = [
        [make_item(40, 80 - 21 * k, Size.MEDIUM, Shape.SQUARE, color) for k, color in enumerate(colors)]
        for colors in product(Color, repeat=4)
    ]
    orders = [tuple(reading_order(tower, ItemOrder.RANDOM, WORLD)) for tower in towers]
    assert len(set(orders)) >= 18  # of 24; 81 random orders would have about 23
    upwards = [first < second for order in orders for place, first in enumerate(order) for second in order[place + 1 :]]
    assert abs(sum(upwards) / len(upwards) - 0.5) < 0.12
    for item in {item for tower in towers for item in tower}:
        first = [tower[order[0]] == item for tower, order in zip(towers, orders, strict=True) if item in tower]
        assert 0 < sum(first) < len(first)


def test_pixels_are_those_of_the_corpus_pictures():
    examples = yellow_circle_examples(6)
    pixels = Encoder(vocabulary_of(examples), WORLD, frozenset({Input.PIXELS}))(examples).pixels
    assert pixels.dtype == torch.uint8
    for example, picture in zip(examples, pixels.numpy(), strict=True):
        whole = raster.pixels(example.scene)
        for box in range(3):
            np.testing.assert_array_equal(picture[box], whole[:, 150 * box : 150 * box + 100, :3])


def test_an_examples_own_picture_takes_the_place_of_its_rendering(tmp_path):
    """Files and arrays, mixed with examples that have none."""
    examples = yellow_circle_examples(6)
    pictures = [raster.pixels(example.scene)[..., :3] for example in examples]
    encode = Encoder(vocabulary_of(examples), WORLD, frozenset({Input.PIXELS}))
    for darker in (pictures, [picture // 2 for picture in pictures]):
        for number, picture in enumerate(darker):
            (tmp_path / f"{number}.png").write_bytes(to_png(picture))
        own = [tmp_path / "0.png", None, darker[2], tmp_path / "3.png", darker[4], tmp_path / "5.png"]
        pixels = encode([replace(e, picture=p) for e, p in zip(examples, own, strict=True)]).pixels.numpy()
        for number, expected in enumerate([darker[0], pictures[1], *darker[2:]]):
            np.testing.assert_array_equal(pixels[number], cut(expected))
    (tmp_path / "3.png").write_bytes(b"")
    with pytest.raises(InputError, match="PNG") as caught:
        encode([replace(examples[0], picture=path) for path in (tmp_path / "0.png", tmp_path / "3.png")])
    assert caught.value.where == tmp_path / "3.png"


def test_a_statement_without_words_is_refused_by_identifier_and_place():
    example = Example("7-2", " \t ", random_scene(random.Random(0)), place="dev.json:3")
    with pytest.raises(InputError, match=r"^dev\.json:3: .*'7-2'"):
        ENCODE[ItemOrder.RANDOM]([example])


@pytest.mark.parametrize("count", [0, 9])
def test_a_box_without_items_or_with_too_many_is_refused(count):
    """A scene made in Python has not been validated; ImageFeat+RNN would silently ignore a ninth item."""
    item = make_item(40, 80, Size.MEDIUM, Shape.SQUARE, Color.BLACK)
    with pytest.raises(InputError, match=f"{count} items; .*1 to 8"):
        ENCODE[ItemOrder.RANDOM]([Example("1-1", "a", Scene((Box((item,)), Box((item,) * count), Box((item,)))))])
