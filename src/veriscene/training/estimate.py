"""How long a run takes, from a few small steps: a few seconds, whatever the model and the machine."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import torch
from accelerate import Accelerator

from veriscene import models
from veriscene.config import Config
from veriscene.scenes.nlvr import Example
from veriscene.tensors.encoder import Encoder
from veriscene.tensors.vocabulary import Vocabulary
from veriscene.training.optimization import make_optimizer
from veriscene.training.step import CapturedStep, PlainStep, Step
from veriscene.training.trainer import tf32

FITTED_SECONDS = 60.0  # MaxEnt on NLVR
CPU_BATCH = 8  # timed on a CPU, where time grows in proportion to the batch
SCORING_COST = 0.35  # of judging an example, relative to training on it


def expected_seconds(config: Config, train: Sequence[Example], dev: int, accelerator: Accelerator) -> float:
    """About how long training takes to its end on `train`, with `dev` examples to score; changes no random state."""
    if models.MODELS[config.model.name].is_fitted:
        return FITTED_SECONDS
    settings, processes = config.training, int(accelerator.num_processes)
    steps_per_epoch = math.ceil(len(train) / settings.batch)
    steps = settings.epochs * steps_per_epoch
    scores = steps / (settings.evaluate_every or steps_per_epoch)
    on_gpu, mine = accelerator.device.type == "cuda", math.ceil(settings.batch / processes)
    size = min(mine if on_gpu else CPU_BATCH, len(train))
    sample = [train[number * len(train) // size] for number in range(size)]
    with torch.random.fork_rng(), tf32():
        per_step = _seconds_per_step(config, sample, accelerator)
    per_example = per_step / size
    seconds = steps * (per_step if on_gpu else per_example * mine)
    seconds += scores * dev / processes * per_example * SCORING_COST
    return min(seconds, settings.minutes * 60) if settings.minutes else seconds


def _seconds_per_step(config: Config, sample: Sequence[Example], accelerator: Accelerator) -> float:
    words = Vocabulary.of((example.statement for example in sample), minimum_count=1)
    encoder: Encoder = models.encoder(config, words)
    corpus = encoder([replace(example, label=example.label or False) for example in sample])
    model = models.build(config.model, vocabulary=words)
    model.prepare(corpus)
    model.to(accelerator.device)
    corpus = corpus.to(accelerator.device)
    settings, on_gpu = replace(config.training, batch=len(sample)), accelerator.device.type == "cuda"
    optimizer = make_optimizer(model, settings, captured=on_gpu)
    step: Step = (
        CapturedStep(model, optimizer, corpus, settings, encoder.order)
        if on_gpu
        else PlainStep(model, optimizer, settings, encoder.order)
    )
    numbers, share = torch.arange(len(sample)), torch.full((len(sample),), 1 / len(sample))
    for repeats in (1, 2):  # the first one initialises libraries and captures graphs
        started = time.monotonic()
        for _ in range(repeats):
            float(step(corpus, numbers, share, learning_rate=0.0))  # waits for the device
    return (time.monotonic() - started) / repeats
