"""Spatial: what each of its parts adds, that all of them keep its invariances, and its limits of size."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close
from toy import VOCABULARY, batch_of, mixed_toys, toy_config

from veriscene import models
from veriscene.data.batch import Batch
from veriscene.data.vocabulary import SPECIAL, UNKNOWN, Vocabulary, spell
from veriscene.models.layers import recurrence
from veriscene.models.spatial import Spatial, SpatialConfig
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
    turned = [replace(e, boxes=[e.boxes[box][::-1] for box in (2, 0, 1)]) for e in examples]
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


def test_it_fits_into_20_megabytes_in_half_precision():
    vocabulary = Vocabulary((*SPECIAL, *(f"word{number}" for number in range(2000))))
    with torch.device("meta"):
        weights = models.build(SpatialConfig(), vocabulary=vocabulary, world=WORLD).state_dict().values()
    assert 2 * sum(tensor.numel() for tensor in weights) <= 20_000_000
