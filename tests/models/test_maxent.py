"""MaxEnt finds the best weights there are, which need not be random to be many."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.testing import assert_close

from samples import yellow_circle_examples
from veriscene.models.maxent import MaxEnt
from veriscene.tensors.batch import encode
from veriscene.tensors.vocabulary import Vocabulary

pytest.importorskip("sklearn")
EXAMPLES = yellow_circle_examples(200)
VOCABULARY = Vocabulary.of((example.statement for example in EXAMPLES), minimum_count=1)
CORPUS = encode(EXAMPLES, VOCABULARY)


def fitted(penalty: float) -> MaxEnt:
    model = MaxEnt(words=VOCABULARY, penalty=penalty).double()
    model.prepare(CORPUS)
    model.fit(CORPUS)
    return model.eval()


@pytest.mark.parametrize("penalty", [0.5, 20.0])
def test_at_the_optimum_loss_and_penalty_pull_equally(penalty):
    model = fitted(penalty)
    model.weights.requires_grad_()
    binary_cross_entropy_with_logits(model.judge(CORPUS), CORPUS.labels.double(), reduction="sum").backward()
    assert model.weights.abs().max() > 0.01
    assert_close(model.weights.grad[1:], -penalty * model.weights.detach()[1:], atol=0.02, rtol=0.02)


def test_it_learns_its_examples_by_heart():
    with torch.no_grad():
        assert ((fitted(penalty=0.1)(CORPUS).logits > 0) == CORPUS.labels.bool()).all()


def test_it_judges_other_scenes_by_what_it_learnt():
    others = encode(yellow_circle_examples(200, seed=1), VOCABULARY)
    with torch.no_grad():
        right = (fitted(penalty=1.0)(others).logits > 0) == others.labels.bool()
    assert right.float().mean() > 0.9


def test_a_higher_price_makes_smaller_weights():
    assert fitted(penalty=50.0).weights.norm() < 0.5 * fitted(penalty=1.0).weights.norm()


def test_without_features_it_says_the_same_of_everything():
    logits = MaxEnt(words=VOCABULARY)(CORPUS).logits
    assert torch.equal(logits, torch.zeros_like(logits))
