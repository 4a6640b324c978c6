"""NMN: what its modules compute, and that neither padding nor the rest of a batch matters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from samples import vocabulary_of, yellow_circle_examples
from veriscene import models
from veriscene.data.batch import Batch, Layouts, required
from veriscene.data.encoder import Encoder, Input
from veriscene.language.module_layout import MAX_LAYOUTS, Module
from veriscene.models.layers.geometry import at_least
from veriscene.models.nmn import NMN, NMNConfig, Relate, Surroundings
from veriscene.training.optimization import objective
from veriscene.world.examples import Example
from veriscene.worlds.nlvr.looks import WORLD

GRID = 10
BEFORE, JUST_BEFORE, EQUAL, NEAR, JUST_AFTER, AFTER, ANYWHERE = range(7)
STATEMENTS = [
    "There is a yellow circle",
    "There is a box with a blue square above a black circle and only yellow or black items.",
    "There are 3 yellow items",  # without structure it is the same
    "none of the items is not touching the wall",
    "There are exactly two towers",
]


def examples() -> list[Example]:
    """One of each statement, and so of each module."""
    return [replace(e, statement=s) for e, s in zip(yellow_circle_examples(5), STATEMENTS, strict=True)]


def batch_of(some: list[Example], vocabulary_from: list[Example] | None = None) -> Batch:
    encoder = Encoder(vocabulary_of(vocabulary_from or some), WORLD, frozenset({Input.PIXELS, Input.LAYOUT}))
    return encoder(some)


VARIANTS: list[dict[str, Any]] = [
    {},
    {"pooling": "max", "words": "states"},
    {"pooling": "chosen", "words": "states"},
    {"layouts": MAX_LAYOUTS},
]
in_every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=str)


def small_nmn(some: list[Example], **variant: Any) -> NMN:
    torch.manual_seed(0)
    sizes = {"embedding": 5, "cell": 6, "heads": 3, "hidden": 8, "verdict": 4}
    config = NMNConfig(**sizes, dropout=0.0, spread=1.0, **variant)
    model = models.build(config, vocabulary=vocabulary_of(some), world=WORLD)
    assert isinstance(model, NMN)
    return model


# ---------------------------------------------------------------- modules


def at(*cells: tuple[int, int]) -> Tensor:
    """A map that is 1 at these (row, column): (1, 1, cell)."""
    grid = torch.zeros(GRID, GRID)
    for row, column in cells:
        grid[row, column] = 1
    return grid.view(1, 1, -1)


def cells_of(found: Tensor) -> set[tuple[int, int]]:
    return {(int(row), int(column)) for row, column in found.view(GRID, GRID).nonzero()}


def mixture(relation: int) -> Tensor:
    return torch.nn.functional.one_hot(torch.tensor([relation]), 7).float()


@pytest.mark.parametrize(
    ("module", "expected"),
    [(Module.AND, {(2, 2)}), (Module.OR, {(1, 1), (2, 2), (3, 3)}), (Module.EXCEPT, {(1, 1)})],
    ids=["and", "or", "except"],
)
def test_maps_are_sets(module: Module, expected: set[tuple[int, int]]) -> None:
    model = small_nmn(examples())
    found = torch.stack([at((1, 1), (2, 2)), at((2, 2), (3, 3)), at()], dim=1)[:, :, None]
    layout = Layouts(
        modules=torch.tensor([[Module.FIND, Module.FIND, module]]),
        arguments=torch.tensor([[[0, 0], [0, 0], [0, 1]]]),
        spans=torch.zeros(1, 3, 1, dtype=torch.bool),
    )
    phrases = torch.zeros(1, 3, model.embed_words.embedding_dim)
    result = model.relate_all(layout, phrases, found)[0, 2].flatten()
    assert cells_of(result) == expected and result.max() == 1


def test_counts_are_thresholded() -> None:
    assert at_least(torch.tensor(2.0), 5).tolist() == [1, 1, 0, 0, 0]
    assert at_least(torch.tensor(2.25), 5).tolist() == [1, 1, 0.25, 0, 0]


@pytest.mark.parametrize(
    ("vertical", "horizontal", "expected"),
    [
        (BEFORE, EQUAL, {(row, 4) for row in range(6)}),  # above
        (JUST_BEFORE, EQUAL, {(3, 4), (4, 4), (5, 4)}),  # directly above
        (JUST_AFTER, EQUAL, {(7, 4), (8, 4), (9, 4)}),
        (EQUAL, AFTER, {(6, column) for column in range(5, 10)}),  # right of it
        (NEAR, NEAR, {(row, column) for row in (5, 6, 7) for column in (3, 4, 5)}),
        (AFTER, ANYWHERE, {(row, column) for row in (7, 8, 9) for column in range(10)}),
    ],
)
def test_relate_finds_the_places_in_that_relation(
    vertical: int, horizontal: int, expected: set[tuple[int, int]]
) -> None:
    related = Relate(size=2).moved(mixture(vertical), mixture(horizontal), at((6, 4)))
    assert cells_of(related) == expected and related.max() == 1


def test_a_place_related_to_two_cells_belongs_no_more_than_fully() -> None:
    related = Relate(size=2).moved(mixture(BEFORE), mixture(EQUAL), at((6, 4), (8, 4)))
    assert related.max() == 1 and cells_of(related) == {(row, 4) for row in range(8)}


def test_surroundings_count_the_objects_on_each_side() -> None:
    tower = at((2, 8), (4, 8), (6, 8), (8, 8))
    around = Surroundings()(tower).view(GRID, GRID, 4)
    assert around[2, 8].tolist() == [0, 3, 0, 0]  # above, below, left, right: the top block
    assert around[8, 8].tolist() == [3, 0, 0, 0]
    assert around[4, 6].tolist() == [0, 0, 0, 1]


def test_a_find_is_the_intersection_of_its_words() -> None:
    some = examples()
    model, batch = small_nmn(some).eval(), batch_of(some)
    words = batch.statement.words
    cells, presence = model.look(batch)
    one, two, both, nothing = (torch.zeros(len(words), 1, words.size(1), dtype=torch.bool) for _ in range(4))
    one[..., 2], two[..., 3], both[..., 2:4] = True, True, True

    def found(spans: Tensor) -> Tensor:
        return model.find_all(spans, model.queries(words), cells, presence)

    everything = presence[:, None, :, None].expand_as(found(one))
    assert_close(found(nothing), everything)
    assert_close(found(both) * everything, found(one) * found(two))


# ---------------------------------------------------------------- the model


@in_every_variant
def test_batched_equals_single(variant: dict[str, Any]) -> None:
    some = examples()
    model = small_nmn(some, **variant).eval()
    together = model(batch_of(some)).logits
    alone = [model(batch_of([example], vocabulary_from=some)).logits for example in some]
    assert_close(together, torch.cat(alone), atol=1e-5, rtol=1e-5)
    assert len({round(float(logit), 4) for logit in together.detach()}) == len(some)


@in_every_variant
def test_padding_does_not_matter(variant: dict[str, Any]) -> None:
    some = examples()
    model, batch = small_nmn(some, **variant).eval(), batch_of(some)
    expected = model(batch).logits
    statement, layout = batch.statement, required(batch.layout)
    more_words = torch.where(statement.mask, statement.words, 3)  # a word in the place of padding
    longer = replace(statement, words=torch.cat([more_words, torch.full((len(batch), 2), 4)], dim=1))
    spans = torch.cat([layout.spans, torch.zeros(*layout.spans.shape[:3], 2, dtype=torch.bool)], dim=3)
    padded = replace(batch, statement=longer, layout=replace(layout, spans=spans))
    assert_close(model(padded).logits, expected)
    assert_close(model(padded.select(slice(None), words=batch.statement.words.size(1), items=1)).logits, expected)
    used = int((layout.modules != Module.NOTHING).sum(dim=2).max())
    assert used < layout.modules.size(2)
    assert_close(model(replace(batch, layout=layout.map(lambda tensor: tensor[:, :, :used]))).logits, expected)


@in_every_variant
def test_boxes_have_no_order(variant: dict[str, Any]) -> None:
    some = examples()
    model, batch = small_nmn(some, **variant).eval(), batch_of(some)
    turned = replace(batch, pixels=required(batch.pixels)[:, [2, 0, 1]])
    assert_close(model(turned).logits, model(batch).logits)


def test_features_of_a_frozen_backbone_replace_pixels() -> None:
    some = examples()
    model, batch = small_nmn(some).eval(), batch_of(some)
    with torch.no_grad():
        features = model.backbone(required(batch.pixels).flatten(0, 1)).unflatten(0, (len(some), 3))
    assert_close(model(replace(batch, pixels=None, features=features)).logits, model(batch).logits)


@in_every_variant
def test_gradients_reach_every_parameter(variant: dict[str, Any]) -> None:
    some = examples()
    model, batch = small_nmn(some, **variant), batch_of(some)
    objective(model(batch), required(batch.labels)).surrogate.mean().backward()
    without = [
        name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ]
    assert without == []


def test_the_verdict_is_the_mean_of_those_of_the_layouts_weighted_by_the_model() -> None:
    some = examples()
    model, batch = small_nmn(some, layouts=MAX_LAYOUTS).eval(), batch_of(some)
    layout = required(batch.layout)
    present = (layout.modules != Module.NOTHING).any(dim=2)
    assert present[:, 0].all() and not present.all() and (present.sum(dim=1) == MAX_LAYOUTS).any()
    one = small_nmn(some).eval()
    one.load_state_dict(model.state_dict(), strict=False)
    read = model.embed_words(batch.statement.words)
    p = torch.zeros(len(batch), MAX_LAYOUTS)
    weights = torch.zeros(len(batch), MAX_LAYOUTS)
    for number in range(MAX_LAYOUTS):
        alone = layout.map(lambda tensor, number=number: tensor[:, number : number + 1])
        p[:, number] = one(replace(batch, layout=alone)).logits.sigmoid()
        for row, length in enumerate(batch.statement.lengths):
            numbers = torch.bincount(layout.modules[row, number], minlength=len(Module))[1:]
            score = model.weigh(torch.cat([read[row, :length].mean(dim=0), numbers.float()])) + model.preference[number]
            weights[row, number] = score.exp() if present[row, number] else 0
    expected = (weights * p).sum(dim=1) / weights.sum(dim=1)
    assert_close(model(batch).logits.sigmoid(), expected)
    assert (expected - p[:, 0]).abs().max() > 1e-3
    same = layout.map(lambda tensor: tensor[:, :1].expand(-1, MAX_LAYOUTS, *tensor.shape[2:]))
    assert_close(model(replace(batch, layout=same)).logits.sigmoid(), p[:, 0])


@in_every_variant
def test_a_training_step_does_not_synchronise_with_the_device(variant: dict[str, Any]) -> None:
    """Tensors on the meta device have no values, so that reading one fails. A CUDA graph needs the same."""
    some = examples()
    model, batch = small_nmn(some, **variant).to("meta").train(), batch_of(some).to("meta")
    model(batch).logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_the_statements_of_this_file_use_every_module() -> None:
    found = set(required(batch_of(examples()).layout).modules.flatten().tolist())
    assert found == {int(module) for module in Module}
