"""Small checkpoints with random weights, and the files exported from them, each written once per test run."""

from __future__ import annotations

import os
import random
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from torch import nn

from samples import random_scene, yellow_circle_examples
from veriscene import models
from veriscene.config import Config, DataConfig
from veriscene.data.vocabulary import Vocabulary
from veriscene.judge.checkpoint import Checkpoint, TorchJudge
from veriscene.judge.export import export
from veriscene.judge.judge import Judge
from veriscene.judge.onnx_judge import OnnxJudge
from veriscene.world.examples import Example
from veriscene.world.schema import World
from veriscene.worlds.nlvr.looks import WORLD

# All different, so no two can be mixed up; layers are exported one by one, and two show what more would.
SIZES = {"embedding": 4, "hidden": 3, "item": 5, "joint": 6, "mlp": 7, "filters": 8, "layers": 2}
_FOLDER = Path(os.environ["VERISCENE_TEST_FOLDER"])  # of all processes of a test run: exports take tens of seconds
STATEMENT = "There is a yellow circle."


def some_examples(count: int, seed: int = 0) -> list[Example]:
    """Statements of two lengths, boxes with one to eight items."""
    rng = random.Random(seed)
    return [Example(e.identifier, e.statement, random_scene(rng), e.label) for e in yellow_circle_examples(count, seed)]


EXAMPLES = some_examples(40)


@cache
def small_checkpoint(name: str, order: str = "random", world: World = WORLD, **changes: Any) -> Checkpoint:
    """Biases are random too: those of an untrained model are zero and would hide one in the wrong place."""
    examples = [each for each in EXAMPLES if all(len(box.items) <= world.items[1] for box in each.scene.boxes)]
    kind = models.MODELS[name].Config
    sizes = {field.name: SIZES[field.name] for field in fields(kind) if field.name in SIZES}
    config = Config(model=kind(**sizes | changes), data=DataConfig(order=order))
    vocabulary = Vocabulary.of((example.statement for example in EXAMPLES), minimum_count=1)
    encoder = models.encoder(config, vocabulary, world)
    torch.manual_seed(7)
    model = models.build(config.model, vocabulary=vocabulary, world=world)
    model.prepare(encoder(examples))
    if model.is_fitted:
        model.fit(encoder(examples))
    for parameter in model.parameters():
        fan_in = parameter.size(-1) if parameter.dim() > 1 else 1
        nn.init.normal_(parameter, std=min(0.5, fan_in**-0.5))  # saturated layers would amplify rounding errors
    return Checkpoint(model.eval(), config, encoder, {})


def exported(name: str) -> Path:
    pytest.importorskip("onnx")
    path = _FOLDER / f"{name}.onnx"
    with FileLock(f"{path}.lock"):
        if not path.exists():
            export(small_checkpoint(name), path)
    return path


def judge_of(backend: str, name: str) -> Judge:
    if backend == "torch":
        return TorchJudge(small_checkpoint(name))
    return OnnxJudge.load(exported(name), threads=2)
