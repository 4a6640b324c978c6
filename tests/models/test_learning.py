"""Every model of items can memorise 32 examples with random labels, with the objective of training."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from toy import VOCABULARY, batch_of, toy_config, toys

from veriscene.data.encoder import Input
from veriscene.models import MODELS, build
from veriscene.training.optimization import objective
from veriscene.worlds.nlvr.looks import WORLD

STEPS = 120
SIZES = {"embedding": 8, "hidden": 8, "item": 8, "joint": 16, "mlp": 16}


def balanced(seed: int):
    """Each statement is true of one scene and false of another, so that words alone do not help."""
    rng = np.random.default_rng(seed)
    counts, lengths = rng.integers(1, 5, (32, 3)).tolist(), rng.integers(2, 7, 32).tolist()
    examples = toys(seed, counts=counts, lengths=lengths)
    paired = [replace(e, words=examples[n // 2].words, label=n % 2 == 0) for n, e in enumerate(examples)]
    return batch_of(paired)


READERS = sorted(name for name, kind in MODELS.items() if not kind.is_fitted and Input.ITEMS in kind.inputs)


@pytest.mark.parametrize("name", READERS)
def test_a_model_memorises_32_examples(name):
    batch = balanced(seed=0)
    torch.manual_seed(0)
    dropout = {"dropout": 0.1} if "dropout" in vars(MODELS[name].Config()) else {}
    model = build(toy_config(name, sizes=SIZES, **dropout), vocabulary=VOCABULARY, world=WORLD).double()
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
