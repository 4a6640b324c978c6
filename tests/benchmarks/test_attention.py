"""benchmarks/attention.py: even attention is told as 1, attention on one thing as 0, and padding is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from samples import fresh_checkpoint, yellow_circle_examples
from scripts import script
from veriscene.errors import InputError
from veriscene.models.base import Judgement
from veriscene.scenes import nlvr
from veriscene.tensors.batch import Batch
from veriscene.training import checkpoint as checkpoints

attention = script("attention")

EXAMPLES = yellow_circle_examples(40)
# Statements of several lengths, so that there is padding.
EXAMPLES = [replace(e, statement=e.statement + " now" * (n % 3)) for n, e in enumerate(EXAMPLES)]


class Told(nn.Module):
    """Looks as it is told to: evenly, or at the first thing alone; and the other way from where padding stands."""

    def __init__(self, *, evenly: bool) -> None:
        super().__init__()
        self.evenly = evenly

    def forward(self, batch: Batch) -> Judgement:
        words, items = batch.word_mask[:, None].expand(*batch.counts.shape, -1), batch.item_mask
        alpha, beta = self.look(words, items), self.look(items, words)
        return Judgement(batch.lengths.float(), None, batch.as_they_come, alpha=alpha, beta=beta)

    def look(self, lookers: Tensor, looked_at: Tensor) -> Tensor:
        """(…, looker, looked at), by where each of the two is no padding."""
        evenly = (lookers[..., None] == self.evenly) & looked_at[..., None, :]
        at_first = torch.arange(looked_at.size(-1)) == 0
        weights = torch.where(evenly.any(dim=-1, keepdim=True), evenly, at_first).float()
        return weights / weights.sum(dim=-1, keepdim=True)


@pytest.mark.parametrize("evenly", [True, False])
def test_even_attention_is_one_and_attention_on_one_thing_nothing(evenly: bool) -> None:
    checkpoint = replace(fresh_checkpoint("biatt", EXAMPLES), model=Told(evenly=evenly))
    told = attention.mean_evenness(checkpoint, EXAMPLES)
    assert told == {"words": pytest.approx(float(evenly)), "items": pytest.approx(float(evenly))}


@pytest.mark.parametrize(("name", "who"), [("bidaf", {"words"}), ("biatt-pointer", {"words", "items"})])
def test_a_model_is_told_by_who_looks(name: str, who: set[str]) -> None:
    told = attention.mean_evenness(fresh_checkpoint(name, EXAMPLES), EXAMPLES)
    assert told.keys() == who
    assert all(0.5 < figure < 1 for figure in told.values())  # fresh weights: nearly evenly


def test_where_there_is_one_item_nobody_chooses() -> None:
    single = [
        replace(e, scene=replace(e.scene, boxes=tuple(replace(box, items=box.items[:1]) for box in e.scene.boxes)))
        for e in EXAMPLES
    ]
    assert attention.mean_evenness(fresh_checkpoint("bidaf", EXAMPLES), single) == {}
    assert attention.mean_evenness(fresh_checkpoint("biatt", EXAMPLES), single).keys() == {"items"}


def test_a_model_without_attention_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nlvr" / "dev").mkdir(parents=True)
    nlvr.write(tmp_path / "nlvr" / "dev" / "dev.json", EXAMPLES)
    for name in ("biatt", "bienc"):
        checkpoints.save(tmp_path / name, fresh_checkpoint(name, EXAMPLES))
    attention.main([str(tmp_path / "nlvr"), str(tmp_path / "biatt")])
    assert "biatt, evenness of words " in capsys.readouterr().out
    with pytest.raises(InputError, match="bienc has no attention, or nothing"):
        attention.main([str(tmp_path / "nlvr"), str(tmp_path / "bienc")])
