"""The models compute their papers' equations: they agree with slow references that know neither padding nor batches."""

import numpy as np
import pytest
import torch
from reference import Answer, biatt_pointer
from reference_baselines import REFERENCES
from torch.testing import assert_close
from toy import KINDS, Toy, batch_of, mixed_toys, toy_model, with_visible_dropout

from samples import given
from veriscene.models import Judgement
from veriscene.models.biatt_pointer import greedy

CLOSE = {"atol": 1e-9, "rtol": 1e-9}
OF_PAPERS = [(name, pooling) for name, pooling in KINDS if name in REFERENCES]


def assert_same(judgement: Judgement, answers: list[Answer], examples: list[Toy]) -> None:
    assert len({round(answer.logit, 6) for answer in answers}) == len(examples)  # else agreement says little
    for row, (answer, example) in enumerate(zip(answers, examples, strict=True)):
        np.testing.assert_allclose(judgement.logits[row].item(), answer.logit, **CLOSE)
        assert (judgement.scores is None) == (answer.scores is None)
        if answer.scores is not None:
            np.testing.assert_allclose(judgement.scores[row].tolist(), answer.scores, **CLOSE)
        if judgement.log_probability is not None:
            np.testing.assert_allclose(judgement.log_probability[row].item(), answer.log_probability, **CLOSE)
        words = len(example.words)
        for box, count in enumerate(example.counts):
            if answer.order is not None:
                assert judgement.order[row, box, :count].tolist() == answer.order[box]
            if answer.alpha is not None:
                alpha = judgement.alpha[row, box, :words, :count]
                np.testing.assert_allclose(alpha.detach().numpy(), answer.alpha[box], **CLOSE)
            if answer.beta is not None:
                beta = judgement.beta[row, box, :count, :words]
                np.testing.assert_allclose(beta.detach().numpy(), answer.beta[box], **CLOSE)


@pytest.mark.parametrize(("name", "pooling"), OF_PAPERS)
def test_a_padded_batch_agrees_with_the_equations_of_each_example(name, pooling):
    examples = mixed_toys()
    for seed in range(2):
        model = toy_model(name, pooling, seed=seed).eval()
        answers = [REFERENCES[name](model, example, pooling) for example in examples]
        assert_same(model(batch_of(examples, more_words=1, more_items=1)), answers, examples)


def test_log_probability_of_any_order_is_that_of_its_steps():
    examples = mixed_toys(seed=1)
    model = toy_model("biatt-pointer", seed=3)
    batch = batch_of(examples)
    rng = np.random.default_rng(0)
    for _ in range(4):
        wanted = [[rng.permutation(count).tolist() for count in example.counts] for example in examples]
        width = batch.items.features.size(2)
        order = torch.tensor([[box + list(range(len(box), width)) for box in boxes] for boxes in wanted])
        answers = [biatt_pointer(model, e, wanted=w) for e, w in zip(examples, wanted, strict=True)]
        judgement = model.judge(batch, given(order))
        assert judgement.log_probability is not None
        assert_same(judgement, answers, examples)


@pytest.mark.parametrize(("name", "pooling"), OF_PAPERS)
def test_dropout_is_applied_where_the_paper_says_and_only_in_training(name, pooling, monkeypatch):
    drop = with_visible_dropout(monkeypatch)
    examples = mixed_toys()
    batch = batch_of(examples)
    model = toy_model(name, pooling, dropout=0.3)
    judge = model if name != "biatt-pointer" else lambda batch: model.judge(batch, greedy)
    for mode, applied in ((model.eval, lambda vector: vector), (model.train, drop)):
        mode()
        answers = [REFERENCES[name](model, example, pooling, applied) for example in examples]
        assert_same(judge(batch), answers, examples)


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_dropout_is_random_in_training_and_off_in_inference(name):
    torch.manual_seed(0)
    model = toy_model(name, dropout=0.3)
    batch = batch_of(mixed_toys())
    assert {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)} == {0.3}
    assert not torch.allclose(model(batch).logits, model(batch).logits)
    model.eval()
    assert_close(model(batch).logits, model(batch).logits, atol=0, rtol=0)
