"""Muon against torch's own, and what it is for: directions whose singular values are all about one."""

from __future__ import annotations

from dataclasses import replace

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from samples import small_config, vocabulary_of, yellow_circle_examples
from veriscene import models
from veriscene.config import TrainingConfig
from veriscene.data.encoder import Encoder
from veriscene.models import Model
from veriscene.training.muon import Muon, orthogonalised
from veriscene.training.optimization import make_optimizer
from veriscene.worlds.nlvr.looks import WORLD


def spatial() -> Model:
    torch.manual_seed(0)
    return models.build(small_config("spatial"), vocabulary=vocabulary_of(yellow_circle_examples(8)), world=WORLD)


def test_matrices_move_as_with_torchs_muon_and_all_else_as_with_adamw() -> None:
    ours, theirs = spatial(), spatial()
    settings = TrainingConfig(optimizer="muon", learning_rate=1e-2, weight_decay=0.1)
    optimizer = make_optimizer(ours, settings, captured=False)
    names = {id(parameter): name for name, parameter in ours.named_parameters()}
    matrices = {names[id(p)] for group in optimizer.param_groups if group["orthogonal"] for p in group["params"]}
    parts: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for name, parameter in theirs.named_parameters():
        parts[name in matrices].append(parameter)
    for name in ("embed_words.weight", "spelling.embed_letters.weight", "pool.scorer.last.weight"):
        assert name not in matrices
    assert {"lang_lstm.forwards.weight_hh_l0", "layers.0.first.weight", "matching.b1.weight"} <= matrices
    references = [
        torch.optim.Muon(parts[True], lr=1e-2, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(parts[False], lr=1e-2, weight_decay=0.1),
    ]
    generator = torch.Generator().manual_seed(1)
    for _ in range(6):
        for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            mine.grad = torch.randn(mine.shape, generator=generator)
            other.grad = mine.grad.clone()
        for each in (optimizer, *references):
            each.step()
    start = dict(spatial().named_parameters())
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        moved, expected = (end.detach() - start[name].detach() for end in (mine, other))
        assert float((moved - expected).norm() / expected.norm()) < 0.02, name  # half precision


def test_a_table_of_vectors_is_no_matrix() -> None:
    examples = yellow_circle_examples(8)
    model = models.build(small_config("mlp"), vocabulary=vocabulary_of(examples), world=WORLD)
    model.prepare(Encoder(vocabulary_of(examples), WORLD, model.inputs)(examples))
    groups = make_optimizer(model, TrainingConfig(optimizer="muon"), captured=False).param_groups
    matrices = [id(parameter) for group in groups if group["orthogonal"] for parameter in group["params"]]
    assert matrices == [id(model.get_parameter("scorer.first.weight"))]


@given(st.integers(2, 40), st.integers(2, 40), st.floats(1e-6, 1e6), st.integers(0, 1000))
def test_a_direction_has_singular_values_of_about_one_whatever_the_gradients_scale(
    rows: int, columns: int, scale: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    left, right = (torch.linalg.qr(torch.randn(n, n, generator=generator))[0] for n in (rows, columns))
    least = min(rows, columns)
    values = 0.1 + torch.rand(least, generator=generator)
    matrix = scale * left[:, :least] @ torch.diag(values) @ right[:least]
    other = torch.randn(rows, columns, generator=generator)
    found, _, alone = orthogonalised([matrix, other[:1], matrix])
    assert torch.equal(found, alone) and found.dtype == torch.float32
    singular = torch.linalg.svdvals(found)
    assert float(singular.min()) > 0.6 and float(singular.max()) < 1.3
    assert float((found * (left[:, :least] @ right[:least])).sum()) > 0.65 * least, "about U V, not another direction"


def test_a_step_follows_its_learning_rate_and_what_has_no_gradient_stays() -> None:
    moves = []
    for rate in (1e-3, 3e-3):
        model = spatial()
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        optimizer = make_optimizer(model, replace(TrainingConfig(optimizer="muon"), learning_rate=rate), captured=False)
        assert isinstance(optimizer, Muon)
        for parameter in list(model.parameters())[::2]:
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        moves.append([parameter.detach() - before[name] for name, parameter in model.named_parameters()])
    for number, (short, long) in enumerate(zip(*moves, strict=True)):
        assert_close(long, 3 * short, atol=1e-6, rtol=1e-3)
        assert bool(short.any()) is (number % 2 == 0)
