"""On a GPU the models run other code for LSTMs; values and gradients must be those of the CPU."""

import pytest
import torch
from torch.testing import assert_close
from toy import batch_of, mixed_toys, toy_model

from veriscene.models.biatt_pointer import BiATTPointer, greedy

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", ["bienc", "biatt", "biatt-pointer", "bidaf", "relation-net"])
def test_judgements_and_gradients_are_those_of_the_cpu(name):
    results = []
    for device in ("cpu", "cuda"):
        model = toy_model(name, seed=2).to(device).train()  # dropout is 0
        batch = batch_of(mixed_toys(), more_words=1, more_items=1).to(device)
        judgement = model.judge(batch, greedy) if isinstance(model, BiATTPointer) else model(batch)
        loss = judgement.logits.pow(2).sum()
        if judgement.log_probability is not None:
            loss = loss + judgement.log_probability.sum()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        results.append([tensor.cpu() for tensor in (judgement.logits, *gradients)])
    for on_cpu, on_gpu in zip(*results, strict=True):
        assert_close(on_gpu, on_cpu, atol=1e-8, rtol=1e-8)
