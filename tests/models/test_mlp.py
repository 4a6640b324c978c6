"""MLP averages the vectors of an example's features."""

from __future__ import annotations

import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.testing import assert_close

from samples import yellow_circle_examples
from veriscene.models.counts.features import NO_FEATURE
from veriscene.models.mlp import MLP
from veriscene.tensors.batch import encode
from veriscene.tensors.vocabulary import Vocabulary

EXAMPLES = yellow_circle_examples(60)
VOCABULARY = Vocabulary.of((example.statement for example in EXAMPLES), minimum_count=1)
CORPUS = encode(EXAMPLES, VOCABULARY)


def prepared() -> MLP:
    torch.manual_seed(0)
    model = MLP(words=VOCABULARY, embedding=8, mlp=5)
    model.prepare(CORPUS[:40])
    return model


def test_a_logit_is_that_of_the_mean_over_the_features_that_training_has():
    model = prepared()
    features = model.features(CORPUS)
    means = [model.vectors[row[row != NO_FEATURE].long()].mean(dim=0) for row in features]
    hidden = torch.tanh(model.scorer.first(torch.stack(means)))
    assert_close(model(CORPUS).logits, model.scorer.last(hidden).squeeze(-1))


def test_a_statement_without_known_words_has_a_finite_logit():
    unread = MLP(words=VOCABULARY)
    assert unread(CORPUS).logits.isfinite().all()


def test_it_learns_its_examples_by_heart():
    model, corpus = prepared(), CORPUS[:40]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        optimizer.zero_grad()
        loss = binary_cross_entropy_with_logits(model(corpus).logits, corpus.labels)
        loss.backward()
        optimizer.step()
    assert ((model.eval()(corpus).logits > 0) == corpus.labels.bool()).all()
    assert not model.vectors.grad[NO_FEATURE].any()
