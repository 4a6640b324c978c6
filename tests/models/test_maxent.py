"""MaxEnt finds the optimum of its convex objective; MLP averages the vectors of an example's features."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.testing import assert_close

from samples import vocabulary_of, yellow_circle_examples
from veriscene.data.encoder import Encoder
from veriscene.models.maxent import MLP, NO_FEATURE, MaxEnt, MaxEntConfig, MLPConfig
from veriscene.worlds.nlvr.looks import WORLD

# ---------------------------------------------------------------- MaxEnt

EXAMPLES = yellow_circle_examples(200)
VOCABULARY = vocabulary_of(EXAMPLES)
ENCODE = Encoder(VOCABULARY, WORLD)
CORPUS = ENCODE(EXAMPLES)


def fitted(penalty: float) -> MaxEnt:
    pytest.importorskip("sklearn")
    model = MaxEnt(MaxEntConfig(penalty=penalty), VOCABULARY, WORLD).double()
    model.prepare(CORPUS)
    model.fit(CORPUS)
    return model.eval()


@pytest.mark.parametrize("penalty", [0.5, 20.0])
def test_gradients_of_loss_and_penalty_cancel_at_the_optimum(penalty):
    model = fitted(penalty)
    model.weights.requires_grad_()
    binary_cross_entropy_with_logits(model(CORPUS).logits, CORPUS.labels.double(), reduction="sum").backward()
    assert model.weights.abs().max() > 0.01
    assert_close(model.weights.grad[1:], -penalty * model.weights.detach()[1:], atol=0.02, rtol=0.02)


def test_maxent_fits_its_examples_perfectly():
    with torch.no_grad():
        assert ((fitted(penalty=0.1)(CORPUS).logits > 0) == CORPUS.labels.bool()).all()


def test_it_generalises_to_other_scenes():
    others = ENCODE(yellow_circle_examples(200, seed=1))
    with torch.no_grad():
        right = (fitted(penalty=1.0)(others).logits > 0) == others.labels.bool()
    assert right.float().mean() > 0.9


def test_a_higher_penalty_makes_smaller_weights():
    assert fitted(penalty=50.0).weights.norm() < 0.5 * fitted(penalty=1.0).weights.norm()


def test_without_features_all_logits_are_zero():
    logits = MaxEnt(MaxEntConfig(), VOCABULARY, WORLD)(CORPUS).logits
    assert torch.equal(logits, torch.zeros_like(logits))


# ---------------------------------------------------------------- MLP


def prepared() -> MLP:
    torch.manual_seed(0)
    model = MLP(MLPConfig(embedding=8, mlp=5), VOCABULARY, WORLD)
    model.prepare(CORPUS[:40])
    return model


def test_a_logit_is_that_of_the_mean_of_known_features():
    model = prepared()
    features = model.features(CORPUS)
    means = [model.vectors[row[row != NO_FEATURE].long()].mean(dim=0) for row in features]
    hidden = torch.tanh(model.scorer.first(torch.stack(means)))
    assert_close(model(CORPUS).logits, model.scorer.last(hidden).squeeze(-1))


def test_without_known_features_logits_are_finite():
    untrained = MLP(MLPConfig(embedding=8, mlp=5), VOCABULARY, WORLD)
    assert untrained(CORPUS).logits.isfinite().all()


def test_mlp_fits_its_examples_perfectly():
    model, corpus = prepared(), CORPUS[:40]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        optimizer.zero_grad()
        loss = binary_cross_entropy_with_logits(model(corpus).logits, corpus.labels)
        loss.backward()
        optimizer.step()
    assert ((model.eval()(corpus).logits > 0) == corpus.labels.bool()).all()
    assert not model.vectors.grad[NO_FEATURE].any()
