"""benchmarks/orders.py: other orders are really read, and a pointer without preferences is told as such."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import torch
from torch import nn

from samples import fresh_checkpoint, yellow_circle_examples
from scripts import script
from veriscene.errors import InputError
from veriscene.models.biatt import BiATT
from veriscene.models.biatt_pointer import BiATTPointer
from veriscene.scenes import nlvr
from veriscene.tensors.batch import ItemOrder, encode
from veriscene.training import checkpoint as checkpoints
from veriscene.training.checkpoint import Checkpoint

orders = script("orders")

EXAMPLES = yellow_circle_examples(40)


def checkpoint_of(name: str) -> Checkpoint:
    checkpoint = fresh_checkpoint(name, EXAMPLES)
    for parameter in checkpoint.model.parameters():
        nn.init.normal_(parameter)
    return checkpoint


def test_a_model_is_told_in_every_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nlvr" / "dev").mkdir(parents=True)
    nlvr.write(tmp_path / "nlvr" / "dev" / "dev.json", EXAMPLES)
    checkpoints.save(tmp_path / "pointer", checkpoint_of("biatt-pointer"))
    asked, verdicts = [], orders.verdicts
    monkeypatch.setattr(orders, "verdicts", lambda *given: (asked.append(given), verdicts(*given))[1])
    orders.main([str(tmp_path / "nlvr"), str(tmp_path / "pointer"), "--draws", "2"])
    told = dict(line.split()[:2] for line in capsys.readouterr().out.splitlines() if line.startswith("  "))
    assert {"file", "sorted", "random"} < told.keys()
    (own, *_), *others = asked
    assert isinstance(own, BiATTPointer) and all(isinstance(reader, BiATT) for reader, *_ in others)
    file = encode(EXAMPLES, checkpoint_of("biatt").vocabulary)
    read = [corpus.positions for _, _, corpus in others]
    assert torch.equal(read[0], file.positions)
    assert torch.equal(read[1], file.in_order(ItemOrder.SORTED).positions)
    assert not any(torch.equal(one, other) for one, other in combinations(read, 2))
    with pytest.raises(InputError, match="at least one random order"):
        orders.main([str(tmp_path / "nlvr"), str(tmp_path / "pointer"), "--draws", "0"])


def test_a_pointer_without_preferences_finds_all_orders_alike() -> None:
    checkpoint = checkpoint_of("biatt-pointer")
    model, corpus = checkpoint.model, checkpoint.encode(EXAMPLES)
    assert isinstance(model, BiATTPointer)
    sure, all_alike = orders.log_probabilities(model, corpus)
    assert sure > all_alike + 0.1
    nn.init.zeros_(model.pointer.point.weight)
    sure, all_alike = orders.log_probabilities(model, corpus)
    assert sure == pytest.approx(all_alike, abs=1e-4)


def test_a_model_that_reads_in_no_order_is_refused() -> None:
    with pytest.raises(InputError, match="relation-net reads items in no order"):
        orders.tell("it", checkpoint_of("relation-net"), EXAMPLES, draws=1, say=print)
