"""What ships is the best seed, halved, with a card; never something worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from benchmarks.ship import CARD, ship

from samples import write_corpus, yellow_circle_examples
from veriscene.config import load_preset
from veriscene.errors import InputError
from veriscene.experiments import seeds
from veriscene.training import checkpoint as checkpoints

SMALL = ["model.embedding=4", "model.hidden=4", "model.item=4", "model.joint=8", "model.mlp=8", "training.epochs=1"]


@pytest.fixture
def row(tmp_path: Path) -> Path:
    corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(40), yellow_circle_examples(40, seed=1))
    config = load_preset("biatt-pointer", SMALL)
    folder = tmp_path / "row"
    accelerator = Accelerator(cpu=True)
    seeds.start(config, preset="biatt-pointer", data=corpus, folder=folder, count=2, accelerator=accelerator)
    assert seeds.train(folder, accelerator=accelerator, say=lambda text: None, quiet=True)
    return folder


def test_the_best_seed_ships_in_half_precision_with_its_card_and_alias(row: Path, tmp_path: Path) -> None:
    shipped = tmp_path / "shipped"
    place = ship(row, "mine", commit="abc", machine="a machine", alias="best", shipped=shipped)
    summary = json.loads((row / "summary.json").read_text(encoding="utf-8"))
    best = checkpoints.load(row / summary["best"])
    loaded = checkpoints.load(place)
    for name, weight in best.model.state_dict().items():
        torch.testing.assert_close(loaded.model.state_dict()[name], weight.half().float())
    assert loaded.metrics["commit"] == "abc" and loaded.metrics["supervision"] == "labels"
    card = (place / CARD).read_text(encoding="utf-8")
    assert f"{100 * loaded.metrics['dev_accuracy']:.1f}" in card
    assert f"--seed {best.config.training.seed} " in card and "--set model.hidden=4" in card
    assert "not measured" in card  # of test nobody knows
    assert json.loads((shipped / "aliases.json").read_text(encoding="utf-8")) == {"best": "mine"}
    assert sorted(path.name for path in shipped.iterdir()) == ["aliases.json", "mine"]


def test_nothing_worse_takes_its_place(row: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = tmp_path / "shipped"
    place = ship(row, "mine", commit="abc", machine="a machine", alias=None, shipped=shipped)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    run = checkpoints.best_run(row)
    worse = checkpoints.load(run)
    with torch.no_grad():  # the opposite of what it said
        worse.model.comprehension.pool.scorer.last.weight.mul_(-1)
    checkpoints.save(run / "best", worse)
    with pytest.raises(InputError, match="judges dev better"):
        ship(row, "mine", commit="def", machine="a machine", alias="best", shipped=shipped)
    monkeypatch.setattr("benchmarks.ship.LARGEST", 1000)
    with pytest.raises(InputError, match="bytes of weights"):
        ship(row, "other", commit="def", machine="a machine", alias=None, shipped=shipped)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    assert [path.name for path in shipped.iterdir()] == ["mine"]
