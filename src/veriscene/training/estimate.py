"""How long a run takes, from a few small steps: a few seconds, whatever the model and the machine."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch
from accelerate import Accelerator

from veriscene import files, models
from veriscene.config import Config, TeacherConfig
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError
from veriscene.training.optimization import make_optimizer, tf32
from veriscene.training.step import CapturedStep, PlainStep
from veriscene.worlds.nlvr import corpus as nlvr
from veriscene.worlds.nlvr.corpus import Example

FITTED_SECONDS = 60.0  # MaxEnt on NLVR
CPU_BATCH = 8  # timed first on a CPU, where the time of a step grows in proportion to the batch
QUICK = 0.2  # seconds: below, overhead dominates, and a larger batch is timed
SCORING_COST = 0.35  # of judging an example, relative to training on it


def expected_seconds(config: Config, corpus: Path, accelerator: Accelerator, *, programs: Sequence[Path] = ()) -> float:
    """About how long training on a corpus folder takes to its end, or on what a teacher makes. Reads only a sample;
    changes no random state."""
    if models.MODELS[config.model.name].is_fitted:
        return FITTED_SECONDS
    settings, processes = config.training, int(accelerator.num_processes)
    on_gpu, mine = accelerator.device.type == "cuda", math.ceil(settings.batch / processes)
    train, dev = (_count_lines(nlvr.split_file(corpus, split)) for split in ("train", "dev"))
    if programs or config.teacher.statements:
        train = _count_taught(config.teacher, programs)
    size, per_step, extraction = _timed(config, corpus, accelerator, largest=min(mine, train))
    per_example = per_step / size
    steps_per_epoch = math.ceil(train / settings.batch)
    steps = settings.epochs * steps_per_epoch
    scores = steps / (settings.evaluate_every or steps_per_epoch)
    seconds = steps * (per_step if on_gpu else per_example * mine)
    seconds += scores * dev / processes * per_example * SCORING_COST
    before = extraction * (train + dev) / size
    return before + (min(seconds, settings.minutes * 60) if settings.minutes else seconds)


def expected_judging_seconds(config: Config, corpus: Path, split: str, accelerator: Accelerator) -> float:
    """About how long a model that is trained in steps takes to judge a split. Reads only a sample; changes no random
    state."""
    count = _count_lines(nlvr.split_file(corpus, split))
    size, per_step, extraction = _timed(config, corpus, accelerator, largest=min(config.training.batch, count))
    return count / size * (per_step * SCORING_COST + extraction) / int(accelerator.num_processes)


def _timed(config: Config, corpus: Path, accelerator: Accelerator, *, largest: int) -> tuple[int, float, float]:
    """A batch of at most `largest` examples, the seconds of a step with it, and of what frozen parts make of it."""
    on_gpu = accelerator.device.type == "cuda"
    size, per_step = largest if on_gpu else min(CPU_BATCH, largest), 0.0
    with torch.random.fork_rng(devices=[accelerator.device] if on_gpu else []), tf32():
        while not per_step or (per_step < QUICK and size < largest):
            size = min(8 * size, largest) if per_step else size
            sample = _sample(nlvr.split_file(corpus, "train"), size)
            per_step, extraction = _seconds_per_step(config, sample, accelerator)
    return size, per_step, extraction


def _count_taught(teacher: TeacherConfig, programs: Sequence[Path]) -> int:
    """A teacher's examples in an epoch."""
    from_files = sum(map(_count_lines, programs))
    taught = teacher.scenes * from_files + teacher.grammar_scenes * teacher.statements
    return round(taught / (1 - teacher.labels))


def _count_lines(path: Path) -> int:
    with files.opened(path) as stream:
        return max(1, sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(1 << 20), b"")))


def _sample(path: Path, size: int) -> list[Example]:
    """The first valid examples, repeated if there are fewer than `size`."""
    found = list(islice((line for line in nlvr.scan(path) if isinstance(line, Example)), size))
    if not found:
        raise InputError("holds no valid examples", where=path)
    return [found[number % len(found)] for number in range(size)]


def _seconds_per_step(config: Config, sample: Sequence[Example], accelerator: Accelerator) -> tuple[float, float]:
    """Of one step with the whole sample, and of what frozen parts make of it once."""
    if config.training.threads:
        torch.set_num_threads(config.training.threads)
    words = Vocabulary.of((example.statement for example in sample), minimum_count=1)
    encoder = models.encoder(config, words)
    corpus = encoder([replace(example, label=example.label or False) for example in sample])
    model = models.build(config.model, vocabulary=words)
    model.prepare(corpus)
    model.to(accelerator.device)
    corpus, started = corpus.to(accelerator.device), time.monotonic()
    corpus = model.extract(corpus)
    extraction = time.monotonic() - started
    settings, on_gpu = replace(config.training, batch=len(sample)), accelerator.device.type == "cuda"
    optimizer = make_optimizer(model, settings, captured=on_gpu)
    step = (CapturedStep if on_gpu else PlainStep)(model, optimizer, settings, encoder.order)
    numbers, share = torch.arange(len(sample)), torch.full((len(sample),), 1 / len(sample))
    for _ in range(2):  # the first one initialises libraries and captures graphs
        started = time.monotonic()
        float(step(corpus, numbers, share, learning_rate=0.0))  # waits for the device
    return time.monotonic() - started, extraction
