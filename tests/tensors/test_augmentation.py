"""What changes does so in statement and scene alike, and what was true stays true."""

from itertools import permutations

import pytest
import torch

from samples import yellow_circle_examples
from veriscene.errors import InputError
from veriscene.scenes.scene import BOX_EXTENT, Color, Shape, Side, Size
from veriscene.tensors.augmentation import Augmentation
from veriscene.tensors.batch import Batch, encode
from veriscene.tensors.items import Items
from veriscene.tensors.vocabulary import UNKNOWN, Vocabulary

EXAMPLES = yellow_circle_examples(300)
VOCABULARY = Vocabulary.of((e.statement for e in EXAMPLES), minimum_count=1)
CORPUS = encode(EXAMPLES, VOCABULARY)
NAMES = [VOCABULARY.words.index(color.name.lower()) for color in Color]


def changed(seed: int = 0, corpus: Batch = CORPUS, vocabulary: Vocabulary = VOCABULARY, **what) -> Batch:
    return Augmentation(vocabulary, **what)(corpus, torch.Generator().manual_seed(seed))


def same_but_for(one: Batch, other: Batch, *names: str) -> None:
    for name, value in vars(one).items():
        assert name in names or torch.equal(value, getattr(other, name)), name


@pytest.mark.parametrize("what", [{"recolor": True}, {"mirror": True}, {"jitter": 3.0}])
def test_the_truth_stays_what_it_was(what):
    batch = changed(**what)
    circles = Items.of(batch).shapes[..., list(Shape).index(Shape.CIRCLE), None]
    there = (Items.of(batch).colors & circles).flatten(1, 2).any(dim=1)  # (batch, color): a circle of it
    said = torch.stack([(batch.words == name).any(dim=1) for name in NAMES], dim=1)
    assert (said.sum(dim=1) == 1).all()
    assert torch.equal((there & said).any(dim=1), CORPUS.labels.bool())
    assert not torch.equal(batch.items, CORPUS.items)


def test_colors_change_places_in_scene_and_statement_together():
    batch = changed(recolor=True)
    same_but_for(CORPUS, batch, "words", "items")
    assert torch.equal(batch.items[..., :6], CORPUS.items[..., :6])
    seen = set()
    for row in range(len(EXAMPLES)):
        words, colors = batch.words[row], batch.items[row, ..., 6:]
        fitting = []
        for became in permutations(range(3)):
            renamed = CORPUS.words[row].clone()
            for old, new in enumerate(became):
                renamed[CORPUS.words[row] == NAMES[old]] = NAMES[new]
            recolored = torch.zeros_like(colors)
            recolored[..., list(became)] = CORPUS.items[row, ..., 6:]
            if torch.equal(words, renamed) and torch.equal(colors, recolored):
                fitting.append(became)
        assert fitting
        seen.update(fitting if len(fitting) == 1 else [])
    assert len(seen) == 6


def test_a_mirror_turns_half_of_the_scenes_unless_a_side_is_spoken_of():
    sided = [e.__class__(e.identifier, f"{e.statement} at the right", e.scene, e.label) for e in EXAMPLES[:50]]
    vocabulary = Vocabulary.of((e.statement for e in EXAMPLES + sided), minimum_count=1)
    corpus = encode(EXAMPLES + sided, vocabulary)
    before, batch = Items.of(corpus), changed(corpus=corpus, vocabulary=vocabulary, mirror=True)
    after = Items.of(batch)
    same_but_for(corpus, batch, "items")
    turned = (batch.items != corpus.items).flatten(1).any(dim=1)
    assert not turned[len(EXAMPLES) :].any()
    assert 0.4 < turned[: len(EXAMPLES)].float().mean() < 0.6
    sizes = (before.sizes.long() * torch.tensor([size.value for size in Size])).sum(-1)
    there = corpus.item_mask & turned[:, None, None]
    assert torch.equal(after.x[there], (BOX_EXTENT - sizes - before.x)[there])
    assert torch.equal(after.y, before.y)
    sides = list(Side)
    left, right = sides.index(Side.LEFT), sides.index(Side.RIGHT)
    assert torch.equal(after.walls[turned][..., left], before.walls[turned][..., right])
    assert torch.equal(batch.items[~there], corpus.items[~there])


def test_items_move_a_little_within_their_box_and_stay_at_their_walls():
    batch = changed(jitter=2.0)
    same_but_for(CORPUS, batch, "items")
    assert torch.equal(batch.items[..., 2:], CORPUS.items[..., 2:])
    moved = (batch.items - CORPUS.items)[..., :2] * BOX_EXTENT / 2
    assert 1.5 < moved[moved != 0].std() < 2.5
    walls = Items.of(CORPUS).walls
    assert torch.equal(Items.of(batch).walls, walls)
    assert not moved[~CORPUS.item_mask].any()


def test_words_become_unknown_as_often_as_told():
    batch = changed(word_dropout=0.2)
    same_but_for(CORPUS, batch, "words")
    lost = batch.words != CORPUS.words
    assert (batch.words[lost] == UNKNOWN).all()
    assert not lost[~CORPUS.word_mask].any()
    assert 0.15 < lost[CORPUS.word_mask].float().mean() < 0.25


def test_the_generator_alone_decides():
    what = {"recolor": True, "mirror": True, "jitter": 1.0, "word_dropout": 0.1}
    same_but_for(changed(3, **what), changed(3, **what))
    assert not torch.equal(changed(3, **what).items, changed(4, **what).items)
    same_but_for(changed(), CORPUS)


def test_colors_that_are_not_taught_cannot_change_places():
    with pytest.raises(InputError, match="yellow"):
        Augmentation(Vocabulary(("<pad>", "<unk>", "black", "blue")), recolor=True)
