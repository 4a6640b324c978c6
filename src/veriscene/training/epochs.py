"""Which examples make up each step of a run, and what is drawn anew for them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from accelerate import Accelerator
from torch import Tensor

from veriscene.config import Config
from veriscene.tensors.augmentation import Augmentation
from veriscene.tensors.batch import Batch, ItemOrder
from veriscene.tensors.vocabulary import Vocabulary


class Epochs:
    """Everything about an epoch follows from (seed, epoch), so a resumed run sees what an unbroken one sees."""

    def __init__(self, config: Config, vocabulary: Vocabulary, train: Batch, accelerator: Accelerator) -> None:
        self.settings, self.order = config.training, ItemOrder(config.data.order)
        self.lengths, self.corpus = train.lengths, train.to(accelerator.device)
        self.rank, self.world = accelerator.process_index, accelerator.num_processes
        self.augment = Augmentation(
            vocabulary,
            recolor=config.data.recolor,
            mirror=config.data.mirror,
            jitter=config.data.jitter,
            word_dropout=config.data.word_dropout,
        )

    @property
    def steps_each(self) -> int:
        return math.ceil(len(self.corpus) / self.settings.batch)

    def from_step(self, step: int) -> Iterator[tuple[Batch, Tensor, Tensor]]:
        """For each step: the corpus, the numbers of this process's examples, each one's share in the batch's mean."""
        settings = self.settings
        first_epoch, first_batch = divmod(step, self.steps_each)
        for epoch in range(first_epoch, settings.epochs):
            generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + epoch)
            batches = epoch_batches(self.lengths, size=settings.batch, window=settings.window, generator=generator)
            corpus = self.augment(self.corpus, generator).in_order(self.order, generator)
            for whole in batches[first_batch:]:
                mine = whole[self.rank :: self.world]
                share = torch.full((len(mine),), self.world / len(whole))
                if not len(mine):  # fewer examples than processes: one that does not count keeps all in step
                    mine, share = whole[:1], torch.zeros(1)
                yield corpus, mine, share
            first_batch = 0


def epoch_batches(lengths: Tensor, *, size: int, window: int, generator: torch.Generator) -> list[Tensor]:
    """Every example once, in random batches of `size`: their numbers.

    Among each `window` batches' worth of examples, statements of like length come together, so that little padding is
    computed; the batches then go in random order.
    """
    shuffled = torch.randperm(len(lengths), generator=generator)
    windows = torch.split(shuffled, size * window)
    batches = [batch for some in windows for batch in torch.split(some[lengths[some].argsort(stable=True)], size)]
    return [batches[number] for number in torch.randperm(len(batches), generator=generator).tolist()]
