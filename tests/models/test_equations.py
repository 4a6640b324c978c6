"""The models compute the paper's equations: they agree with a slow reference that knows no padding and no batches."""

import numpy as np
import pytest
import torch
from reference import REFERENCES, Answer, biatt_pointer
from torch.testing import assert_close
from toy import KINDS, Toy, batch_of, make_dropout_show, mixed_toys, toy_model

from veriscene.models import Judgement
from veriscene.models.biatt_pointer import given


def assert_same(judgement: Judgement, answers: list[Answer], examples: list[Toy]) -> None:
    tolerance = {"atol": 1e-9, "rtol": 1e-9}
    for row, (answer, example) in enumerate(zip(answers, examples, strict=True)):
        np.testing.assert_allclose(judgement.logits[row].item(), answer.logit, **tolerance)
        np.testing.assert_allclose(judgement.scores[row].tolist(), answer.scores, **tolerance)
        if judgement.log_probability is not None:
            np.testing.assert_allclose(judgement.log_probability[row].item(), answer.log_probability, **tolerance)
        for box, count in enumerate(example.counts):
            if answer.order is not None:
                assert judgement.order[row, box, :count].tolist() == answer.order[box]
            if answer.alpha is not None:
                words = len(example.words)
                alpha, beta = judgement.alpha[row, box, :words, :count], judgement.beta[row, box, :count, :words]
                np.testing.assert_allclose(alpha.detach().numpy(), answer.alpha[box], **tolerance)
                np.testing.assert_allclose(beta.detach().numpy(), answer.beta[box], **tolerance)


@pytest.mark.parametrize(("name", "pooling"), KINDS)
def test_a_batch_is_judged_as_the_equations_judge_each_example(name, pooling):
    examples = mixed_toys()
    for seed in range(2):
        model = toy_model(name, pooling, seed=seed).eval()
        answers = [REFERENCES[name](model, example, pooling) for example in examples]
        judgement = model(batch_of(examples, more_words=1, more_items=1))
        assert len({round(answer.logit, 6) for answer in answers}) == len(examples)  # else agreement says little
        assert_same(judgement, answers, examples)


def test_log_p_of_any_order_is_the_product_of_its_steps():
    examples = mixed_toys(seed=1)
    model = toy_model("biatt-pointer", seed=3)
    batch = batch_of(examples)
    rng = np.random.default_rng(0)
    for _ in range(4):
        wanted = [[rng.permutation(count).tolist() for count in example.counts] for example in examples]
        width = batch.items.size(2)
        order = torch.tensor([[box + list(range(len(box), width)) for box in boxes] for boxes in wanted])
        answers = [biatt_pointer(model, e, wanted=w) for e, w in zip(examples, wanted, strict=True)]
        judgement = model.judge(batch, given(order))
        assert judgement.log_probability is not None
        assert_same(judgement, answers, examples)


@pytest.mark.parametrize(("name", "pooling"), KINDS)
def test_dropout_acts_on_the_hidden_outputs_of_lstms_and_before_the_last_layer_and_nowhere_else(
    name, pooling, monkeypatch
):
    drop = make_dropout_show(monkeypatch)
    examples = mixed_toys()
    batch = batch_of(examples)
    model = toy_model(name, pooling, dropout=0.3)
    judge = model if name != "biatt-pointer" else lambda batch: model.judge(batch, lambda _, log_p: log_p.argmax(-1))
    for mode, applied in ((model.eval, lambda vector: vector), (model.train, drop)):
        mode()
        answers = [REFERENCES[name](model, example, pooling, applied) for example in examples]
        assert_same(judge(batch), answers, examples)


@pytest.mark.parametrize(("name", "pooling"), KINDS)
def test_dropout_is_on_in_training_and_off_in_evaluation(name, pooling):
    torch.manual_seed(0)
    model = toy_model(name, pooling, dropout=0.3)
    batch = batch_of(mixed_toys())
    assert {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)} == {0.3}
    assert not torch.allclose(model(batch).logits, model(batch).logits)
    model.eval()
    assert_close(model(batch).logits, model(batch).logits, atol=0, rtol=0)
