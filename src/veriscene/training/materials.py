"""What a run learns from and is scored on, as tensors: the one path from examples to a trainer."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.scenes.nlvr import Example
from veriscene.tensors.batch import Batch, encode
from veriscene.tensors.vocabulary import Vocabulary


@dataclass(frozen=True)
class Materials:
    vocabulary: Vocabulary  # of the train split
    train: Batch  # items in the order of the file, here
    dev: Batch  # and here; trainers put them in the order in which they are read
    supervision: str  # labels | synthetic

    @classmethod
    def of(cls, config: Config, *, train: Sequence[Example], dev: Sequence[Example], supervision: str) -> Materials:
        vocabulary = Vocabulary.of((e.statement for e in train), minimum_count=config.data.minimum_count)
        corpus, scored = (
            encode(labelled(examples, split), vocabulary) for examples, split in ((train, "train"), (dev, "dev"))
        )
        return cls(vocabulary, corpus, scored, supervision)

    @cached_property
    def digest(self) -> int:
        """Changes with any word, item or label."""
        return _digest(self.train) ^ _digest(self.dev)


def labelled(examples: Sequence[Example], split: str) -> Sequence[Example]:
    """The examples themselves, if they can be learnt from or scored."""
    if not examples:
        raise InputError(f"the {split} split must hold examples")
    for example in examples:
        if example.label is None:
            where = f"{example.place}: " if example.place else ""
            raise InputError(f"{where}{example.identifier!r} has none, but in the {split} split each must have a label")
    return examples


def _digest(corpus: Batch) -> int:
    checksum = 0
    for tensor in (corpus.words, corpus.items, corpus.labels):
        if tensor is not None:
            checksum = zlib.crc32(tensor.numpy().tobytes(), checksum)
    return checksum
