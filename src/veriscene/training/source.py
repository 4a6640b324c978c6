"""Where training examples come from. A corpus folder is one source; a teacher that makes examples is another."""

from __future__ import annotations

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from veriscene import models, worlds
from veriscene.config import Config, DataConfig
from veriscene.data.batch import Batch
from veriscene.data.encoder import Encoder, Input, ItemOrder
from veriscene.data.items import in_reading_order
from veriscene.data.spelling import drop_words, mistype_words
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.errors import InputError
from veriscene.output import Progress, silent
from veriscene.world import corpus
from veriscene.world.examples import Example
from veriscene.world.schema import World


@dataclass(frozen=True)
class Epoch:
    corpus: Batch
    steps: list[Tensor]  # for each step, the indices of its examples
    names: Callable[[Tensor], list[str]]  # says which examples have these indices, in an error


class Source(ABC):
    """`epoch` is deterministic given (seed, number), so that a resumed run sees what an uninterrupted one sees.

    Every epoch has the same number of examples and steps, and batches of the same padded shape.
    """

    encoder: Encoder  # for inference; it has the vocabulary
    supervision: str  # labels | synthetic | programs
    coverage: float  # the share of the train statements' words that the vocabulary contains
    train: Batch  # what models are prepared or fitted on: the whole corpus, or a sample of what a teacher makes
    dev: Batch
    dev_examples: Sequence[Example]  # of which `dev` was made
    remark: str = ""  # what the user should know about the examples, as soon as the first epoch was made

    @property
    def introduction(self) -> str:
        """Says what is taught, where that is not a corpus."""
        return ""

    @property
    @abstractmethod
    def fingerprint(self) -> int:
        """Changes with any word, item or label of the train or dev examples."""

    @property
    def examples_per_epoch(self) -> int:
        return len(self.train)

    @property
    @abstractmethod
    def steps_per_epoch(self) -> int: ...

    @abstractmethod
    def epoch(self, number: int) -> Epoch: ...

    def pending(self, number: int) -> str:
        """Says what `epoch` would wait for; empty if nothing."""
        return ""

    def transform(self, function: Callable[[Batch], Batch]) -> None:
        """Replaces train and dev examples by what `function` makes of them; the fingerprint stays the original's."""
        _ = self.fingerprint
        self.train, self.dev = function(self.train), function(self.dev)

    def to(self, device: torch.device) -> None:
        """Moves the examples, of which epochs are made, to a device."""
        self.transform(lambda examples: examples.to(device))

    def close(self) -> None:  # noqa: B027 (most sources have nothing to end)
        """Ends what makes examples in the background; no epoch is asked for afterwards."""


class CorpusSource(Source):
    """The examples of a corpus, in random batches; orders, typing errors and dropped words are redrawn each epoch."""

    def __init__(
        self,
        config: Config,
        world: World,
        *,
        train: Sequence[Example],
        dev: Sequence[Example],
        supervision: str,
        vocabulary: Vocabulary | None = None,
        progress: Progress = silent,
    ) -> None:
        """`vocabulary`: None for that of the train statements. `progress`: of reading pictures, which takes a while."""
        statements = [example.statement for example in labelled(train, "train")]
        vocabulary = vocabulary or vocabulary_of(statements, config.data)
        self.settings, self.data, self.supervision = config.training, config.data, supervision
        self.identifiers = [example.identifier for example in train]
        self.coverage = vocabulary.coverage(statements)
        self.encoder = models.encoder(config, vocabulary, world)
        # A random order is drawn from that of the file, whatever the order of inference.
        is_random = self.encoder.order is ItemOrder.RANDOM
        self.train = (replace(self.encoder, order=ItemOrder.FILE) if is_random else self.encoder)(train, progress)
        self.dev_examples, self.dev = dev, self.encoder(labelled(dev, "dev"))

    @classmethod
    def open(
        cls,
        config: Config,
        folder: Path,
        progress: Progress = silent,
        *,
        vocabulary: Vocabulary | None = None,
        world: World | None = None,
    ) -> CorpusSource:
        """Opens the train and dev splits of a corpus folder, in the corpus's world unless another is given.

        Models of pixels see its pictures, which must then be complete; the pictures of a split without a folder
        `images` are rendered.
        """
        reads_pixels = Input.PIXELS in models.MODELS[config.model.name].inputs
        world = world or worlds.of_corpus(folder)
        splits: list[list[Example]] = []
        for split in ("train", "dev"):
            file = corpus.split_file(folder, split)
            examples, images = worlds.read(file, world), file.parent / "images"
            if reads_pixels and images.is_dir():
                examples = worlds.require(world, "with_pictures", "picture files")(examples, images, split)
            splits.append(examples)
        train, dev = splits
        part = corpus.share_of(train, config.data.train_share, seed=config.training.seed)
        supervision = corpus.supervision(folder)
        source = cls(
            config, world, train=part, dev=dev, supervision=supervision, vocabulary=vocabulary, progress=progress
        )
        if len(part) < len(train):
            source.remark = f"trains on {len(part):,} of {len(train):,} train examples (data.train_share)"
        return source

    @cached_property
    def fingerprint(self) -> int:
        return zlib.crc32(f"{self.train.fingerprint()} {self.dev.fingerprint()}".encode())

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(len(self.train) / self.settings.batch)

    def epoch(self, number: int) -> Epoch:
        settings, generator = self.settings, torch.Generator().manual_seed(self.settings.seed * 1_000_003 + number)
        lengths = self.train.statement.lengths.cpu()
        steps = batches(lengths, size=settings.batch, window=settings.window, generator=generator)
        corpus = mistype_words(self.train, self.data.typing_noise, self.encoder.vocabulary, generator)
        corpus = drop_words(corpus, self.data.word_dropout, generator)
        if self.encoder.order is ItemOrder.RANDOM and corpus.items is not None:
            corpus = replace(corpus, items=in_reading_order(corpus.items, ItemOrder.RANDOM, generator))
        return Epoch(corpus, steps, lambda numbers: [self.identifiers[number] for number in numbers.tolist()])


def vocabulary_of(statements: Sequence[str], data: DataConfig) -> Vocabulary:
    """Collects the words to learn; raises InputError if there are none."""
    vocabulary = Vocabulary.of(statements, minimum_count=data.minimum_count, counting=data.counting)
    if len(vocabulary) == len(SPECIAL):
        what = f"no word occurs {data.minimum_count} times in the train {data.counting}, so none would be learned"
        raise InputError(what, allowed="lower data.minimum_count or add statements")
    return vocabulary


def batches(lengths: Tensor, *, size: int, window: int, generator: torch.Generator) -> list[Tensor]:
    """Draws random batches of `size`, as indices; every example occurs once.

    Within each `window` batches' worth of examples, statements are grouped by length, to save padding; the batches
    then come in random order.
    """
    shuffled = torch.randperm(len(lengths), generator=generator)
    windows = torch.split(shuffled, size * window)
    grouped = [batch for some in windows for batch in torch.split(some[lengths[some].argsort(stable=True)], size)]
    return [grouped[number] for number in torch.randperm(len(grouped), generator=generator).tolist()]


def labelled(examples: Sequence[Example], split: str) -> Sequence[Example]:
    """Returns the examples themselves; raises InputError if there are none, or if one has no label."""
    if not examples:
        raise InputError(f"the {split} split holds no examples")
    for example in examples:
        if example.label is None:
            what = f"{example.identifier!r}: label is missing"
            raise InputError(what, where=example.place, allowed=f"every {split} example needs true or false")
    return examples
