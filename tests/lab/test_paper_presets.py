"""The presets NAME-paper have the value that each sentence of the paper names, and no regulariser that it does not."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from veriscene.config import changes_between, presets
from veriscene.lab.plans import DEVIATIONS, PLANS, RECIPE, Row
from veriscene.models import load_preset
from veriscene.models.settings import check_changes, key_of

# The sentence, its settings, and the presets that it is about. Settings that a model does not have are left out.
STRUCTURED = ("biatt-paper", "biatt-pointer-paper", "bienc-paper")
ATTENTION = ("biatt-paper", "biatt-pointer-paper", "cnn-biatt-paper")
ALL = (*STRUCTURED, "cnn-biatt-paper")
SENTENCES: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("words whose occurrence is less than 3", {"data.minimum_count": 3, "data.counting": "examples"}, ALL),
    ("coordinates are normalized to the range [-1, 1]", {"model.coordinates": "corner"}, STRUCTURED),
    ("the dimension of the word embedding is 128", {"model.embedding": 128}, ALL),
    ("the number of units in an LSTM cell is 256", {"model.hidden": 256}, ALL),
    ("the object feature is projected to a 64-dimensional vector", {"model.item": 64}, STRUCTURED),
    ("the dimensions of joint representation are both 512", {"model.joint": 512}, ATTENTION),
    ("the first fully-connected layer has 512 units", {"model.mlp": 512}, ATTENTION),
    ("we add a dropout rate 0.3", {"model.dropout": 0.3}, ALL),
    ("we also clip the gradients by their norm", {"training.clip": 5.0}, ALL),
    ("a single Adam optimizer", {"training.optimizer": "adamw", "training.weight_decay": 0.0}, ALL),
    ("the learning rate is fixed at 1e-4", {"training.learning_rate": 1e-4}, ALL),
    ("fixed", {"training.warmup": 0, "training.cooldown": 0.0}, ALL),
    ("the same rate for all layers", {"model.map_rate": 1.0, "model.cell_rate": 1.0}, ("cnn-biatt-paper",)),
    ("go through all the objects in random order", {"data.order": "random"}, STRUCTURED),
    ("the gradient adds policy and loss", {"training.policy_weight": 1.0}, ("biatt-pointer-paper",)),
    ("BiATT on the items in their order", {"model.comprehension": "biatt"}, ("biatt-pointer-paper",)),
    ("an LSTM encoder", {"model.encoder": "lstm"}, ("biatt-pointer-paper",)),
    ("one sampled order, against the greedy one", {"model.samples": 0}, ("biatt-pointer-paper",)),
    ("the sampled order is read", {"model.reading": "sampled", "model.pointer_rate": 0.0}, ("biatt-pointer-paper",)),
    ("max-pooling over sub-images", {"model.pooling": "max"}, ALL),
    ("initialize with pretrained weights", {"model.backbone": "resnet50-imagenet-299"}, ("cnn-biatt-paper",)),
    ("normalized to a mean of 0", {"model.normalization": "map", "model.statistics": "file"}, ("cnn-biatt-paper",)),
    ("freeze it during training", {"model.end_to_end": False}, ("cnn-biatt-paper",)),
    ("each layer of the 3-layers CNN has 512 filters", {"model.filters": 512}, ("cnn-biatt-paper",)),
    ("no other regulariser", {f"training.{name}": 0.0 for name in ("label_smoothing", "r_drop", "ema")}, ALL),
    ("no augmentation", {"data.word_dropout": 0.0, "data.typing_noise": 0.0}, ALL),
    ("silent", {"model.forget_bias": 1.0, "training.batch": 64, "training.precision": "tf32"}, ALL),
]


@pytest.mark.parametrize(("sentence", "settings", "names"), SENTENCES, ids=[sentence for sentence, _, _ in SENTENCES])
def test_each_sentence_of_the_paper_is_a_setting(
    sentence: str, settings: dict[str, Any], names: tuple[str, ...]
) -> None:
    for name in names:
        tree = load_preset(name).to_json()
        for key, value in settings.items():
            section, _, setting = key.partition(".")
            assert tree[section][setting] == value, (name, key)


def test_the_sentences_cover_every_model_setting_of_every_paper_preset() -> None:
    assert {name for name in presets() if name.endswith("-paper")} == set(ALL)
    for name in ALL:
        named = {key for _, settings, names in SENTENCES if name in names for key in settings}
        model = {f"model.{key}" for key in load_preset(name).to_json()["model"]}
        assert model - named <= {"model.name", "model.backbone_rate"}  # a frozen backbone has no learning rate


def test_each_step_from_the_papers_recipe_to_ours_changes_the_settings_that_it_names() -> None:
    rows = [row for row in RECIPE.rows if row.preset in ("biatt-paper", "biatt")]
    configs = [load_preset(row.preset, row.changes) for row in rows]
    assert (configs[0], configs[-1]) == (load_preset("biatt-paper"), load_preset("biatt"))
    changed = [{key_of(change) for change in changes_between(*pair)} for pair in pairwise(configs)]
    faster = {f"training.{name}" for name in ("learning_rate", "batch", "epochs", "evaluate_every", "precision")}
    assert changed == [faster, *({key_of(change) for change in undone} for undone in DEVIATIONS.values())]
    assert sum(map(len, changed)) == len(changes_between(configs[0], configs[-1]))  # no setting changes twice
    assert [(first, second) for second, first in pairwise(row.name for row in rows)] == list(RECIPE.compared[-6:])


@pytest.mark.parametrize("name", ALL)
def test_paper_presets_train_for_60_000_steps_without_stopping_early(name: str) -> None:
    training, steps_per_epoch = load_preset(name).training, 194  # 12,408 train examples
    steps = training.epochs * steps_per_epoch
    assert 60_000 <= steps < 60_000 + steps_per_epoch
    assert training.patience > steps / training.evaluate_every and training.minutes == 0


@pytest.mark.parametrize(
    "row", {row.folder: row for plan in PLANS.values() for row in plan.rows}.values(), ids=lambda row: row.folder
)
def test_every_change_of_a_row_has_an_effect(row: Row) -> None:
    config = load_preset(row.preset, row.changes)
    taught = row.programs or config.teacher.statements > 0
    check_changes(row.changes, config.model, corpus_given=True, taught=taught)
