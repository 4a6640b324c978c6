"""Every model can learn: it takes in 32 examples whose labels follow no rule, with the objective of training."""

import numpy as np
import pytest
import torch
from toy import VOCABULARY, batch_of, toys

from veriscene.config import ModelConfig
from veriscene.models import MODELS, Prepared, build, is_fitted
from veriscene.tensors.vocabulary import Vocabulary
from veriscene.training.objective import objective

STEPS = 120


def by_heart(seed: int):
    """Half of them true; each statement is told of a true and of a false scene, so that words alone decide nothing."""
    rng = np.random.default_rng(seed)
    counts, lengths = rng.integers(1, 5, (32, 3)).tolist(), rng.integers(2, 7, 32).tolist()
    examples = toys(seed, counts=counts, lengths=lengths)
    paired = [type(e)(examples[n // 2].words, e.boxes, label=n % 2 == 0) for n, e in enumerate(examples)]
    return batch_of(paired)


@pytest.mark.parametrize("name", sorted(name for name in MODELS if not is_fitted(ModelConfig(name=name))))
def test_a_model_learns_32_examples_by_heart(name):
    batch = by_heart(seed=0)
    torch.manual_seed(0)
    config = ModelConfig(name=name, embedding=8, hidden=8, item=8, joint=16, mlp=16, dropout=0.1)
    model = build(config, vocabulary=Vocabulary(tuple(map(str, range(VOCABULARY))))).double()
    if isinstance(model, Prepared):
        model.prepare(batch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step in range(STEPS):
        model.train()
        loss = objective(model(batch), batch.labels)
        optimizer.zero_grad()
        loss.surrogate.mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.comprehension.mean().item())
        if step % 10 == 9:
            with torch.no_grad():
                right = (model.eval()(batch).logits > 0) == (batch.labels > 0.5)
            if right.all() and losses[-1] < 0.1:
                break
    assert losses[0] > 0.6
    assert right.all() and losses[-1] < 0.1
