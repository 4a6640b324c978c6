"""MLP averages the vectors of an example's features."""

from __future__ import annotations

import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.testing import assert_close

from samples import vocabulary_of, yellow_circle_examples
from veriscene.data.encoder import Encoder
from veriscene.models.count_features import NO_FEATURE
from veriscene.models.maxent import MLP, MLPConfig
from veriscene.worlds.nlvr.looks import WORLD

EXAMPLES = yellow_circle_examples(60)
VOCABULARY = vocabulary_of(EXAMPLES)
CORPUS = Encoder(VOCABULARY, WORLD)(EXAMPLES)


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


def test_it_fits_its_examples_perfectly():
    model, corpus = prepared(), CORPUS[:40]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        optimizer.zero_grad()
        loss = binary_cross_entropy_with_logits(model(corpus).logits, corpus.labels)
        loss.backward()
        optimizer.step()
    assert ((model.eval()(corpus).logits > 0) == corpus.labels.bool()).all()
    assert not model.vectors.grad[NO_FEATURE].any()
