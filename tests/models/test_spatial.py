"""Spatial: what each of its parts adds, that all of them keep its invariances, and its limits of size."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close
from toy import VOCABULARY, batch_of, mixed_toys, toy_config

from some_worlds import NLVR, SHELF, scenes_of
from veriscene import models, worlds
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Encoder, Input, ItemOrder
from veriscene.data.vocabulary import SPECIAL, UNKNOWN, Vocabulary, spell
from veriscene.english.grammar import draw
from veriscene.models import Model
from veriscene.models.layers import recurrence
from veriscene.models.layers.geometry import box_index_features, number_features
from veriscene.models.spatial import Spatial, SpatialConfig
from veriscene.world.examples import Example
from veriscene.world.scene import Scene
from veriscene.world.schema import World
from veriscene.worlds.nlvr.looks import WORLD

CLOSE = {"atol": 1e-9, "rtol": 1e-9}
SWITCHES = [
    {"letters": False},
    {"walls": False},
    {"neighbours": False},
    {"counts": False},
    {"relations": "none"},
    {"relations": "box"},
    {"layers": 0},
    {"box_index": True, "numbers": True},
    {"letters": False, "walls": False, "neighbours": False, "counts": False, "relations": "none", "layers": 1},
]


def spatial(**changes: object) -> Spatial:
    """A small one in float64 with random weights."""
    model = (
        models.build(toy_config("spatial", dropout=0.0, **changes), vocabulary=VOCABULARY, world=WORLD).double().eval()
    )
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_with_any_part_off_padding_and_the_orders_of_boxes_and_items_do_not_matter(switches):
    model, examples = spatial(**switches), mixed_toys(seed=4)
    whole = model(batch_of(examples, more_words=3, more_items=2)).logits
    assert whole.std() > 1e-3
    order = (0, 1, 2) if "box_index" in switches else (2, 0, 1)  # some of these statements have unknown words
    turned = [replace(e, boxes=[e.boxes[box][::-1] for box in order]) for e in examples]
    for row, (example, other) in enumerate(zip(examples, turned, strict=True)):
        for same in (example, other):
            assert_close(model(batch_of([same])).logits[0], whole[row], **CLOSE)


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_every_weight_is_used(switches):
    model = spatial(**switches)
    model(batch_of(mixed_toys())).logits.sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.parameters())


def unknown(letters: str) -> Batch:
    """Statements that differ from one another in nothing but the letters of an unknown word."""
    batch = batch_of(mixed_toys())
    words, characters = batch.statement.words.clone(), batch.statement.characters.clone()
    words[:, 0], characters[:, 0] = UNKNOWN, torch.from_numpy(spell([letters])[0])
    return replace(batch, statement=replace(batch.statement, words=words, characters=characters))


@pytest.mark.parametrize("letters", [True, False])
def test_letters_tell_unknown_words_apart_exactly_if_the_model_reads_them(letters):
    model = spatial(letters=letters)
    one, other = (model(unknown(word)).logits for word in ("cirlce", "sqaure"))
    assert torch.equal(one, other) is not letters


@pytest.mark.parametrize("relations", ["none", "box", "scene"])
def test_an_item_sees_others_as_far_as_its_relations_reach(relations):
    model, batch = spatial(relations=relations, neighbours=False), batch_of(mixed_toys(), more_items=1)

    def states(moved_box: int) -> torch.Tensor:
        """What the items of box 1 of the first example are after the layers, if an item of some box has moved."""
        features = batch.items.features.clone()
        features[0, moved_box, 0, 0] += 0.5
        seen: list[torch.Tensor] = []
        hook = model.matching.register_forward_pre_hook(lambda _module, given: seen.append(given[1].states))
        model(replace(batch, items=replace(batch.items, features=features)))
        hook.remove()
        return seen[0][0, 1, 1:3]  # the items that never move

    in_box_0, in_box_1, in_box_2 = map(states, range(3))
    assert torch.equal(in_box_0, in_box_2) is (relations != "scene")
    assert torch.equal(in_box_1, in_box_2) is (relations == "none")


def test_low_precision_changes_a_verdict_little(monkeypatch):
    """As on a GPU: torch's own LSTM has no bf16 on every CPU."""
    monkeypatch.setattr(recurrence, "torch_bilstm", recurrence.chained_bilstm)
    torch.manual_seed(0)
    model = models.build(replace(SpatialConfig(), hidden=32, joint=48), vocabulary=VOCABULARY, world=WORLD).train()
    batch = batch_of(mixed_toys(), more_words=3, more_items=2)
    batch = replace(batch, items=batch.items.map(lambda t: t.float() if t.is_floating_point() else t))
    expected = model.eval()(batch).logits
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(batch).logits
    logits.sum().backward()
    assert_close(logits.float(), expected, atol=0.05, rtol=0.05)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


# ---------------------------------------------------------------- the index of a box

NO_BOX = ("there is a blue square", "exactly two boxes contain a circle", "is every item far from a wall?")
A_BOX = ("the left box is empty", "both outer boxes have a circle", "box number 2 has one item", "in part three: it")


def indexed(world: World, texts: Sequence[str]) -> tuple[Model, Encoder]:
    vocabulary = Vocabulary.of(texts, minimum_count=1)
    torch.manual_seed(1)
    model = models.build(toy_config("spatial", dropout=0.0, box_index=True), vocabulary=vocabulary, world=world)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model.double().eval(), Encoder(vocabulary, world, Spatial.inputs, ItemOrder.FILE)


def judged(model: Model, encoder: Encoder, examples: Sequence[Example]) -> torch.Tensor:
    batch = encoder(examples)
    items = required(batch.items)
    with torch.no_grad():
        return model(replace(batch, items=replace(items, features=items.features.double()))).logits


@pytest.mark.parametrize("world", [NLVR, SHELF], ids=lambda world: world.name)
def test_the_order_of_boxes_matters_exactly_to_statements_that_name_a_box(world: World) -> None:
    model, encoder = indexed(world, [*NO_BOX, *A_BOX])
    scenes = [scene for scene in scenes_of(world, 40) if len(set(scene.boxes)) > 1]
    for text in (*NO_BOX, *A_BOX, "there is a zebra"):
        logits = [
            judged(model, encoder, [Example("0-0", text, Scene(boxes)) for boxes in order])
            for order in ([scene.boxes for scene in scenes], [scene.boxes[::-1] for scene in scenes])
        ]
        if text in NO_BOX:
            assert_close(*logits, **CLOSE)
        else:  # an unknown word may name a box
            assert (logits[0] - logits[1]).abs().mean() > 1e-3, text


@pytest.mark.parametrize("world", [NLVR, SHELF], ids=lambda world: world.name)
def test_the_grammar_names_boxes_by_words_that_the_model_knows(world: World) -> None:
    rng = random.Random(3)
    drawn = [draw(rng, worlds.language(world)) for _ in range(1500)]
    model, encoder = indexed(world, [each.text for each in drawn])
    texts = [Example("0-0", each.text, Scene(())) for each in drawn]
    names = model.names_box(replace(encoder, inputs=frozenset({Input.CHARACTERS}))(texts).statement)
    by_program = [any(sign in each.program.text for sign in ("all_boxes[", "last(all_boxes)")) for each in drawn]
    found = {
        named: [bool(each) for each, own in zip(names, by_program, strict=True) if own is named]
        for named in (True, False)
    }
    assert sum(found[True]) > 0.97 * len(found[True]), "what is missed is misspelt"
    assert sum(found[False]) < 0.2 * len(found[False])


def test_items_know_their_box_from_both_ends_and_which_thresholds_their_numbers_reach() -> None:
    scenes = scenes_of(SHELF, 60)
    items = required(
        Encoder(VOCABULARY, SHELF, order=ItemOrder.FILE)([Example("0-0", "x", each) for each in scenes]).items
    )
    index, steps = box_index_features(items), number_features(items.features, SHELF)
    for row, scene in enumerate(scenes):
        count, most = len(scene.boxes), SHELF.boxes[1]
        for number, box in enumerate(scene.boxes):
            expected = [at == number for at in range(most)] + [at == count - 1 - number for at in range(most)]
            assert index[row, number].tolist() == [*expected, 2 * number + 1 == count]
            for at, item in enumerate(box.items):
                reached = [float(item["price"]) > price for price in range(1, 20)]
                assert (steps[row, number, at] > 0.5).tolist() == reached


def test_it_fits_into_20_megabytes_in_half_precision():
    vocabulary = Vocabulary((*SPECIAL, *(f"word{number}" for number in range(2000))))
    with torch.device("meta"):
        weights = models.build(SpatialConfig(), vocabulary=vocabulary, world=WORLD).state_dict().values()
    assert 2 * sum(tensor.numel() for tensor in weights) <= 20_000_000
