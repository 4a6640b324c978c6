"""A new model is one file and one line in MODELS. It is trained, saved, evaluated and asked like every other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d

from samples import write_corpus, yellow_circle_examples
from veriscene import models
from veriscene.config import ModelConfig, choice, size
from veriscene.data.batch import Batch, Statement, required
from veriscene.data.encoder import Input
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.evaluate import probabilities
from veriscene.judge.judge import Question
from veriscene.models import Judgement, Model, Order
from veriscene.models.settings import check_changes
from veriscene.training.distributed import Machine
from veriscene.training.log import read_log
from veriscene.training.spec import Spec
from veriscene.training.train import train
from veriscene.world.schema import World
from veriscene.worlds.nlvr.looks import WORLD


class BagOfWords(nn.Embedding):
    def __init__(self, vocabulary: Vocabulary, units: int) -> None:
        super().__init__(len(vocabulary), units)

    def forward(self, statement: Statement) -> Tensor:
        return super().forward(statement.words).masked_fill(~statement.mask[..., None], 0).sum(dim=1)


# ---------------------------------------------------------------- a model that reads items


ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


@dataclass(frozen=True)
class BagOfItemsConfig(ModelConfig):
    name: str = "bag-of-items"
    units: int = size(16)
    activation: str = choice("relu", ACTIVATIONS)


class BagOfItems(Model):
    Config = BagOfItemsConfig
    summary = "words times items, added up"
    order = Order.NONE

    def __init__(self, config: BagOfItemsConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.embed_words = BagOfWords(vocabulary, config.units)
        self.embed_items = nn.Linear(world.feature_count, config.units)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, batch: Batch) -> Judgement:
        items = required(batch.items)
        e = self.activation(self.embed_items(items.features)).masked_fill(~items.mask[..., None], 0)
        scores = torch.einsum("bd,bjkd->bj", self.embed_words(batch.statement), e)
        return Judgement(logits=scores.amax(dim=1), scores=scores)


# ---------------------------------------------------------------- a model that reads pixels


@dataclass(frozen=True)
class GlanceConfig(ModelConfig):
    name: str = "glance"
    units: int = size(16)


class Glance(Model):
    """Keeps a buffer of statistics of the corpus, as a model with normalised pixels would."""

    Config = GlanceConfig
    summary = "words times blurred pixels"
    inputs = frozenset({Input.PIXELS})
    order = Order.NONE

    def __init__(self, config: GlanceConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.embed_words = BagOfWords(vocabulary, config.units)
        self.embed_cells = nn.Linear(3, config.units)
        self.register_buffer("mean", torch.zeros(3))

    def prepare(self, corpus: Batch) -> None:
        self.mean = required(corpus.pixels).float().mean(dim=(0, 1, 2, 3)) / 255

    def forward(self, batch: Batch) -> Judgement:
        assert batch.items is None
        pixels = required(batch.pixels).to(self.mean.dtype) / 255 - self.mean  # (batch, box, height, width, RGB)
        cells = avg_pool2d(pixels.flatten(0, 1).permute(0, 3, 1, 2), 10).flatten(2).transpose(1, 2)
        e = torch.relu(self.embed_cells(cells)).unflatten(0, pixels.shape[:2])  # (batch, box, cell, units)
        scores = torch.einsum("bd,bjkd->bj", self.embed_words(batch.statement), e) / e.size(2)
        brightness = e.sum(dim=-1).softmax(dim=-1)[:, :, None]  # the same for every word
        alpha = brightness.expand(-1, -1, batch.statement.words.size(1), -1)
        return Judgement(logits=scores.amax(dim=1), scores=scores, alpha=alpha)


@pytest.fixture(params=[BagOfItems, Glance])
def added(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[Model]:
    kind: type[Model] = request.param
    monkeypatch.setitem(models.MODELS, kind.Config().name, kind)  # the one line
    return kind


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def accelerator(request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    AcceleratorState._reset_state(reset_partial_state=True)  # it is shared, and other tests use another device
    yield Accelerator(cpu=request.param == "cpu")
    AcceleratorState._reset_state(reset_partial_state=True)


SETTINGS = {"batch": 16, "epochs": 8, "learning_rate": 0.02, "r_drop": 0.5, "ema": 0.5, "label_smoothing": 0.1}


def test_an_added_model_is_trained_saved_evaluated_and_asked(
    added: type[Model], accelerator: Accelerator, tmp_path: Path
) -> None:
    examples = yellow_circle_examples(96)
    corpus = write_corpus(tmp_path / "corpus", examples[:72], examples[72:])
    tree = {"model": {"name": added.Config().name, "units": 8}, "training": SETTINGS, "data": {"minimum_count": 1}}
    config, folder = models.read_config(tree, where="test"), tmp_path / "run"
    outcome = train(Spec(config, corpus=corpus), folder, machine=Machine(accelerator=accelerator))
    log = read_log(folder)
    assert outcome.position.finished and len(log) == 8
    assert log[-1].loss < log[0].loss

    checkpoint = checkpoints.load(folder, device=accelerator.device)
    assert isinstance(checkpoint.model, added) and checkpoint.config == config
    dev = examples[72:]
    probability = probabilities(TorchJudge(checkpoint), dev, accelerator)
    right = [(probability[example.identifier] > 0.5) == example.label for example in dev]
    rounding = 0 if accelerator.device.type == "cpu" else 1  # training scores in tf32
    assert abs(sum(right) - outcome.position.best_accuracy * len(right)) < rounding + 1e-6

    judge = TorchJudge(checkpoint)
    verdicts = judge([Question.of(example.statement, example.scene, WORLD) for example in dev])
    for example, verdict in zip(dev, verdicts, strict=True):
        assert verdict.probability == pytest.approx(probability[example.identifier], abs=1e-5)
        assert verdict.order is None and (verdict.attention is None) is (added is BagOfItems)
        if verdict.attention is not None:  # over the cells of each box
            found = np.array(verdict.attention.words_to_items)
            assert found.shape == (3, len(verdict.attention.words), 100) and verdict.attention.items_to_words is None
            assert found.sum(axis=-1) == pytest.approx(1, abs=1e-5)
        assert max(verdict.per_box) == pytest.approx(verdict.probability)
    assert list(judge("there is a mauve circle", dev[0].scene).unknown_words) == ["mauve"]


def test_its_settings_are_checked_like_all_others(added: type[Model]) -> None:
    name = added.Config().name
    with pytest.raises(InputError, match=r"model\.units=0 .*16,384"):
        models.read_config({"model": {"name": name, "units": 0}}, where="test")
    with pytest.raises(InputError, match=r"model\.hidden; .*model\.units"):
        models.read_config({"model": {"name": name, "hidden": 3}}, where="test")
    with pytest.raises(InputError, match=name) as caught:
        check_changes(["data.order=file"], added.Config(), corpus_given=True)
    assert caught.value.where == "--set data.order"
    check_changes(["model.units=32"], added.Config(), corpus_given=True)
