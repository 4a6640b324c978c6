"""benchmarks/orders.py: each order is really read, and a pointer without preferences is shown to be uniform."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import torch
from torch import nn

from samples import yellow_circle_examples
from scripts import script
from veriscene import models
from veriscene.config import Config
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import Checkpoint
from veriscene.models.biatt import BiATT
from veriscene.models.biatt_pointer import BiATTPointer
from veriscene.world.examples import write
from veriscene.worlds.nlvr.looks import WORLD

orders = script("orders")

EXAMPLES = yellow_circle_examples(40)
VOCABULARY = Vocabulary.of((example.statement for example in EXAMPLES), minimum_count=1)


def checkpoint_of(name: str, **sizes: int) -> Checkpoint:
    config = Config(models.MODELS[name].Config(name, **sizes))  # type: ignore[call-arg]
    model = models.build(config.model, vocabulary=VOCABULARY, world=WORLD)
    torch.manual_seed(1)
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return Checkpoint(model, config, models.encoder(config, VOCABULARY, WORLD), {})


def pointer() -> Checkpoint:
    return checkpoint_of("biatt-pointer", embedding=4, hidden=6, item=4, joint=6, mlp=5)


def test_dev_is_judged_in_every_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "nlvr" / "dev" / "dev.json", EXAMPLES, WORLD)
    checkpoints.save(tmp_path / "pointer", pointer())
    calls, verdicts = [], orders.verdicts
    monkeypatch.setattr(orders, "verdicts", lambda *given: (calls.append(given), verdicts(*given))[1])
    orders.main([str(tmp_path / "nlvr"), str(tmp_path / "pointer"), "--draws", "2"])
    printed = dict(line.split()[:2] for line in capsys.readouterr().out.splitlines() if line.startswith("  "))
    assert {"file", "sorted", "random"} < printed.keys()
    (own, *_), *others = calls
    assert isinstance(own, BiATTPointer) and all(isinstance(reader, BiATT) for reader, *_ in others)
    read = [corpus.items.positions for _, _, corpus in others]
    for positions, order in zip(read, (ItemOrder.FILE, ItemOrder.SORTED), strict=False):
        assert torch.equal(positions, Encoder(VOCABULARY, WORLD, order=order)(EXAMPLES).items.positions)
    assert not any(torch.equal(one, other) for one, other in combinations(read, 2))
    with pytest.raises(InputError):
        orders.main([str(tmp_path / "nlvr"), str(tmp_path / "pointer"), "--draws", "0"])


def test_a_pointer_without_preferences_is_uniform() -> None:
    checkpoint = pointer()
    model, corpus = checkpoint.model, checkpoint.encode(EXAMPLES)
    assert isinstance(model, BiATTPointer)
    mean, uniform = orders.log_probabilities(model, corpus)
    assert mean > uniform + 0.1
    nn.init.zeros_(model.pointer.point.weight)
    mean, uniform = orders.log_probabilities(model, corpus)
    assert mean == pytest.approx(uniform, abs=1e-4)


def test_what_an_order_depends_on_is_measured() -> None:
    checkpoint = pointer()
    model = checkpoint.model
    assert isinstance(model, BiATTPointer)
    found = orders.dependence(checkpoint, EXAMPLES)
    assert found["changes with the encoder's order"] > 0.3 and found["changes with the items"] > 0.1
    nn.init.zeros_(model.pointer.attend.weight)  # all words get the same weight,
    nn.init.zeros_(model.pointer.attentional.weight)  # and what they say is not read
    nn.init.zeros_(model.pointer.point.weight)  # all items are alike: the first one that is free is read
    found = orders.dependence(checkpoint, EXAMPLES)
    assert found["changes with the statement"] == 0 == found["changes with the items"]
    assert found["changes with the encoder's order"] == 1 == found["agrees with the encoder"]


def test_items_are_named_in_the_order_of_their_values() -> None:
    items = [WORLD.make(0, 0, size="small", shape="square", color=color) for color in ("black", "blue", "yellow")]
    words = ["a", "blue", "square", "above", "a", "black", "square"]
    assert list(orders.named_first(items, words, WORLD)) == [(1, 0)]
    assert orders.agreement([[[0, 1, 2]]], [[[(1, 0), (0, 2)]]]) == 0.5


def test_a_model_that_ignores_order_is_refused() -> None:
    with pytest.raises(InputError):
        orders.report("it", checkpoint_of("relation-net"), EXAMPLES, draws=1, say=print)
