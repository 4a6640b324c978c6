"""The best seed ships, in half precision and with a card, and never replaces a better model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from samples import write_corpus, yellow_circle_examples
from scripts import script
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge import folders
from veriscene.lab import seeds
from veriscene.metrics.accuracy import Scores
from veriscene.training.distributed import Machine
from veriscene.training.spec import Spec
from veriscene.world.examples import write, write_predictions
from veriscene.worlds.nlvr.looks import WORLD

SMALL = ["model.embedding=4", "model.hidden=4", "model.item=4", "model.joint=8", "model.mlp=8", "training.epochs=1"]
shipping = script("ship")


@pytest.fixture(scope="module")
def row(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ship")
    examples = yellow_circle_examples(40, seed=1)
    corpus = write_corpus(folder / "corpus", yellow_circle_examples(40), examples)
    (corpus / "test").mkdir()
    write(corpus / "test" / "test.json", examples[:4], WORLD)
    spec = Spec.of("biatt-pointer", data=corpus, changes=SMALL)
    assert seeds.start(spec, folder / "row", 2, machine=Machine())
    best = folders.best_run(folder / "row")
    write_predictions(best / "test.csv", {e.identifier: bool(e.label) ^ (e is examples[0]) for e in examples[:4]})
    return folder / "row"


def ship(row: Path, shipped: Path, name: str = "mine", **given: str) -> Path:
    place: Path = shipping.ship(row, name, commit="abc", machine="a machine", shipped=shipped, **given)
    return place


def refused(row: Path, shipped: Path, name: str = "mine", **given: str) -> object:
    """Returns what the refusal is about."""
    with pytest.raises(InputError) as caught:
        ship(row, shipped, name, **given)
    return caught.value.where


def judges(monkeypatch: pytest.MonkeyPatch, *accuracies: float) -> None:
    """Fakes the dev accuracies of the half-precision weights, of the full ones, and of what ships already."""
    left = iter(accuracies)
    monkeypatch.setattr(shipping, "scores_of", lambda checkpoint, examples: Scores(next(left), (0, 1), 0.2, 989, 246))


def test_the_best_seed_ships_in_half_precision_with_its_card_and_alias(row: Path, tmp_path: Path) -> None:
    place = ship(row, tmp_path, alias="best", note="It was stopped early.")
    best = checkpoints.load(row)
    loaded = checkpoints.load(place)
    for name, weight in best.model.state_dict().items():
        torch.testing.assert_close(loaded.model.state_dict()[name], weight.half().float())
    assert loaded.metrics["commit"] == "abc" and loaded.metrics["supervision"] == "labels"
    assert loaded.config == best.config
    card = (place / shipping.CARD).read_text(encoding="utf-8")
    assert "It was stopped early." in card
    assert f"| {100 * loaded.metrics['dev_accuracy']:.1f} |" in card
    assert "| 75.0 |" in card  # of the recorded test verdicts
    assert f"--seed {best.config.training.seed} " in card and "takes the box that fits best" in card
    assert json.loads((tmp_path / "aliases.json").read_text(encoding="utf-8")) == {"best": "mine"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aliases.json", "mine"]


def test_a_worse_model_gets_neither_the_name_nor_the_alias_of_a_better_one(
    row: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ship(row, tmp_path, alias="best")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    judges(monkeypatch, 0.70, 0.70, 0.71)
    assert refused(row, tmp_path) == place
    judges(monkeypatch, 0.70, 0.70, 0.71)
    assert refused(row, tmp_path, name="other", alias="best") == place
    best = folders.best_run(row)
    judges(monkeypatch, 0.70, 0.703)  # half precision costs too much
    assert refused(row, tmp_path, name="other") == best
    assert refused(row, tmp_path, name="other", alias="mine") == "--alias mine"
    judges(monkeypatch, 0.70, 0.70)
    monkeypatch.setattr(shipping, "MAX_BYTES", 1000)
    assert refused(row, tmp_path, name="other") == best
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    monkeypatch.undo()
    judges(monkeypatch, 0.72, 0.72, 0.71)
    assert ship(row, tmp_path) == place and checkpoints.load(place).metrics["dev_accuracy"] == 0.72
