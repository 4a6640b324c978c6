"""Shipped checkpoints load by name, are small, and score as their model cards state."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from accelerate import Accelerator

import veriscene
from samples import random_scene
from some_worlds import scenes_of
from veriscene import worlds
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge import folders
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.evaluate import probabilities
from veriscene.judge.folders import ALIASES
from veriscene.metrics import accuracy as metrics
from veriscene.world.corpus import split_file

SHIPPED = Path(veriscene.__file__).parent / "checkpoints"
NAMES = sorted(config.parent.name for config in SHIPPED.glob("*/config.json"))


def test_shipped_checkpoints_are_small_and_have_their_names() -> None:
    aliases = json.loads((SHIPPED / ALIASES).read_text(encoding="utf-8"))
    assert "biatt-pointer" in NAMES and aliases["best"] in NAMES
    assert sum(file.stat().st_size for file in SHIPPED.rglob("*") if file.is_file()) <= 55_000_000


@pytest.mark.parametrize("name", [*NAMES, "best"])
def test_a_shipped_model_judges_by_name(name: str) -> None:
    scene = random_scene(random.Random(3))
    verdict = veriscene.load(name)("There is a box with a yellow item.", scene)
    assert 0 < verdict.probability < 1
    if verdict.order is not None:
        assert [sorted(order) for order in verdict.order] == [list(range(len(box.items))) for box in scene.boxes]


@pytest.mark.parametrize("name", sorted(folders.shipped_readers()))
def test_a_shipped_reader_judges_by_name_and_states_its_score(name: str) -> None:
    world = worlds.get(name)
    (scene,) = scenes_of(world, 1, 3)
    judge, has = veriscene.load(name), {item["shape"] for box in scene.boxes for item in box.items}
    for choice in world.by_name["shape"].choices:
        verdict = judge(f"Is there a {choice.name}?", scene)
        assert verdict.reading == f"at least one {choice.name}" and verdict.verdict is (choice.name in has)
    stated = json.loads((SHIPPED / "readers" / f"{name}.json").read_text(encoding="utf-8"))
    card = (SHIPPED / "readers" / f"{name}.md").read_text(encoding="utf-8")
    assert stated["supervision"] == "synthetic" and f"{100 * stated['dev_accuracy']:.1f}" in card


@pytest.mark.parametrize("name", NAMES)
def test_dev_scores_are_those_of_the_model_card(name: str, nlvr_folder: Path) -> None:
    card = (SHIPPED / name / "MODEL_CARD.md").read_text(encoding="utf-8")
    checkpoint = checkpoints.load(SHIPPED / name)
    examples = worlds.read(split_file(nlvr_folder, "dev"))
    judged = probabilities(TorchJudge(checkpoint), examples, Accelerator(cpu=True))
    scores = metrics.score(examples, {identifier: p > 0.5 for identifier, p in judged.items()})
    stated = checkpoint.metrics
    assert scores.accuracy == pytest.approx(stated["dev_accuracy"], abs=0.002)
    assert scores.consistency == pytest.approx(stated["dev_consistency"], abs=0.01)
    assert f"| {100 * stated['dev_accuracy']:.1f} | {100 * stated['dev_consistency']:.1f} |" in card
    assert f"| {100 * stated['test_accuracy']:.1f} | {100 * stated['test_consistency']:.1f} |" in card
